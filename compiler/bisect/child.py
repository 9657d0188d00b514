"""Calls of functions in child processes, so that crashes and hangs do not affect the parent."""

from __future__ import annotations

import faulthandler
import os
import pickle
import resource
import select
import signal
import sys
import warnings
from collections.abc import Callable
from time import monotonic
from typing import Any

from compiler.dataclass import dataclass

CAN_FORK = hasattr(os, "fork")
"""Whether processes can fork; if not, functions run in this process."""


@dataclass(frozen=True, slots=True)
class Died:
    """The outcome of a child process that ended without a result; `why` is the reason."""

    why: str


def in_child(fn: Callable[[], Any], seconds: float, megabytes: int = 0) -> Any:
    """Run a function in a child process; return its result (through pickle), or `Died`.

    Units: wall-clock seconds; megabytes of address space in addition to the current size.
    """
    if not CAN_FORK:
        return fn()
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # The child does not have the threads of this process, and does not need them.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(read)
        _answer(fn, write, megabytes)
    os.close(write)
    data, late = _received(read, seconds)
    os.close(read)
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if late:
        return Died(f"the child did not end within {seconds:g} seconds")
    if os.WIFSIGNALED(status):
        return Died(f"the child died of {signal.Signals(os.WTERMSIG(status)).name}")
    if not data:
        return Died(f"the child ended with exit code {os.waitstatus_to_exitcode(status)}")
    return pickle.loads(data)


def _answer(fn: Callable[[], Any], write: int, megabytes: int) -> None:
    """Run the function in the child, and write its result to the pipe."""
    code = 1
    faulthandler.disable()  # The parent reports the crash.
    try:
        if megabytes:
            used = _address_space()
            limit = used + megabytes * 2**20
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        data = pickle.dumps(fn())
        with os.fdopen(write, "wb") as out:
            out.write(data)
        code = 0
    except MemoryError:
        code = 3
    finally:
        os._exit(code)


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[0]) * resource.getpagesize()


def _received(read: int, seconds: float) -> tuple[bytes, bool]:
    """Return the bytes received within the time limit, and whether the limit was exceeded."""
    end, parts = monotonic() + seconds, list[bytes]()
    while True:
        ready, _, _ = select.select([read], [], [], max(end - monotonic(), 0))
        if not ready:
            return b"", True
        part = os.read(read, 1 << 16)
        if not part:
            return b"".join(parts), False
        parts.append(part)
