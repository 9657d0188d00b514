"""The fork server: a process that has imported the compiler, and forks on request.

The process imports all modules before the first fork, so children start at once. The process ends
when the server ends.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from app.jobs.worker import Work, work_once


def _nothing() -> None:
    pass


def serve(kinds: Mapping[str, Work], before_fork: Callable[[], None] = _nothing) -> NoReturn:
    """Fork a child for each request on the standard input, which is a socket.

    `before_fork` loads what all children need and what may have changed since the last fork.
    """
    gc.freeze()  # otherwise the first garbage collection of a child would copy all pages
    # Python warns about the threads of BLAS, but BLAS itself ends them before a fork.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    door = socket.socket(fileno=os.dup(0))
    children: set[int] = set()
    while True:
        line, files, _, _ = socket.recv_fds(door, 4096, 3)
        if not line:
            _kill(children)
            os._exit(0)
        request = json.loads(line)
        if request["do"] == "fork":
            before_fork()
        try:
            answer = {"answer": _answer(kinds, door, request["do"], request["pid"], files)}
            _count(children, request["do"], request["pid"], answer["answer"])
        except OSError as e:
            answer = {"failed": str(e)}
        for file in files:
            os.close(file)
        try:
            door.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            os._exit(0)  # the server has ended


def _count(children: set[int], what: str, pid: int, answer: int | None) -> None:
    """Remember the children whose process ids are not released."""
    if what == "fork" and answer:
        children.add(answer)
    elif what == "release":
        children.discard(pid)


def _kill(children: Iterable[int]) -> None:
    """Kill the children and their descendants, because the server has ended.

    Stopped children would not notice the end of their pipes.
    """
    for pid in children:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _end_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent ends."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


_PR_SET_PDEATHSIG = 1


def _answer(
    kinds: Mapping[str, Work], door: socket.socket, what: str, pid: int, files: Sequence[int]
) -> int | None:
    """Return the process id of a new child, or the exit status of a child, negative for a
    signal."""
    if what == "fork":
        return _fork(kinds, door, files)
    if what == "release":
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _fork(kinds: Mapping[str, Work], door: socket.socket, files: Sequence[int]) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        with suppress(OSError):
            os.setpgid(pid, pid)  # parent and child both set the group, so either may run first
        return pid
    try:
        os.setpgid(0, 0)
        _end_with_parent(parent)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        door.close()
        work_once(kinds)
    finally:
        os._exit(1)


if __name__ == "__main__":
    from app.jobs.kinds import WORKS, warm_up
    from app.jobs.machine_facts import load_facts

    warm_up()
    serve(WORKS, load_facts)
