"""Processes of bubblewrap that outlive their owner.

bubblewrap dies with its parent, and the first process inside dies with bubblewrap. If bubblewrap is
killed before the first process has requested this from the kernel, the first process waits forever.
The name of each process contains its owner, so the next owner of sandboxes can kill leftovers.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(rb"bwrap-of-(\d+)-(\d+)-(\d+)")
_START_FIELD = 19
"""The index of a process's start time among the fields of `stat` after its name."""


def own_name() -> str:
    """Return the name of processes of bubblewrap that belong to this process.

    It has the namespace of process ids, the process id, and the start of the process.
    """
    pid = os.getpid()
    return f"bwrap-of-{_namespace()}-{pid}-{_start_ticks(pid)}"


def leftovers() -> Iterator[int]:
    """Yield the processes of bubblewrap with a dead owner. Only owners in this namespace count."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        if _is_leftover(int(name)):
            yield int(name)


def kill_leftovers() -> None:
    """Kill the processes of bubblewrap with a dead owner, and thereby all processes inside."""
    for pid in leftovers():
        with suppress(OSError):
            end = os.pidfd_open(pid)
            try:
                if _is_leftover(pid):  # the number may belong to another process by now
                    signal.pidfd_send_signal(end, signal.SIGKILL)
            finally:
                os.close(end)


def _is_leftover(pid: int) -> bool:
    try:
        found = _NAME.match(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False
    if found is None or int(found[1]) != _namespace():
        return False
    owner, start_ticks = int(found[2]), int(found[3])
    try:
        return _start_ticks(owner) != start_ticks
    except OSError:
        return True


def _namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _start_ticks(pid: int) -> int:
    """Return the start time of a process in clock ticks after boot. Errors: OSError."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return int(fields[_START_FIELD])
