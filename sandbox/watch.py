"""Samples of a sandbox: the memory of all its processes, and the number of files in /box.

Samples replace a missing cgroup: limits of a process do not bound the sum, and bubblewrap does not
bound the number of files. Memory that several processes share counts once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from sandbox.limits import Limits
from sandbox.result import State
from sandbox.seal import WRITABLE

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_KIB = 1024


class Watch:
    """Compares a sandbox with its limits, and keeps the largest memory seen."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.peak_bytes = 0

    def exceeded(self, roots: Iterable[int], init: int | None) -> State | None:
        """Return the limit that the processes below `roots` exceed, if any.

        `init` is the first process of the sandbox.
        """
        processes = list(descendants(roots))
        n_bytes = sum(map(resident_bytes, processes))
        if n_bytes > self.limits.memory_bytes:
            # The sum counts shared pages repeatedly; the exact number takes longer.
            n_bytes = sum(map(proportional_bytes, processes))
        self.peak_bytes = max(self.peak_bytes, n_bytes)
        if n_bytes > self.limits.memory_bytes:
            return "memory"
        if init is not None and n_entries(init) > self.limits.n_entries:
            return "files"
        return None


def descendants(roots: Iterable[int]) -> Iterator[int]:
    """Yield the processes `roots` and all processes below them."""
    pending = list(roots)
    seen: set[int] = set()
    while pending:
        pid = pending.pop()
        if pid in seen:
            continue
        seen.add(pid)
        yield pid
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as children:
                    pending += map(int, children.read().split())


def resident_bytes(pid: int) -> int:
    """Return the memory of a process, including pages that it shares; 0 if it has ended."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/statm") as pages:
        return int(pages.read().split()[1]) * _PAGE_BYTES
    return 0


def proportional_bytes(pid: int) -> int:
    """Return the memory of a process, with its part of shared pages."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as totals:
        for line in totals:
            if line.startswith("Pss:"):
                return int(line.split()[1]) * _KIB
    return resident_bytes(pid)


def n_entries(init: int) -> int:
    """Return the number of files in the writable folders of a sandbox."""
    total = 0
    for folder in WRITABLE:
        with contextlib.suppress(OSError):
            found = os.statvfs(f"/proc/{init}/root{folder}")
            total += found.f_files - found.f_ffree
    return total
