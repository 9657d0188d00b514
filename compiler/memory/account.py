"""A plan's use of its arena: bytes by step, the fullest step, and the reuse of bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from compiler.dataclass import dataclass
from compiler.memory.buffer import Buffer


@dataclass(frozen=True, slots=True)
class Handover:
    """The reuse of bytes: buffer `after` occupies `n_bytes` bytes last occupied by `before`.

    `before` and `after` are positions in the list of buffers.
    """

    before: int
    after: int
    n_bytes: int


def live_by_step(buffers: Sequence[Buffer]) -> list[int]:
    """Return the live bytes of each step, from step 0 until the end of the last buffer."""
    change = [0] * (_n_steps(buffers) + 1)
    for b in buffers:
        change[b.start] += b.size
        change[b.end] -= b.size
    live, now = [], 0
    for step in change[:-1]:
        now += step
        live.append(now)
    return live


def used_by_step(buffers: Sequence[Buffer]) -> list[int]:
    """Return, for each step, the end of the highest live buffer, so gaps below it count as used."""
    used = [0] * _n_steps(buffers)
    for b in buffers:
        if b.size:
            used[b.start : b.end] = (max(u, b.limit) for u in used[b.start : b.end])
    return used


def fullest_step(buffers: Sequence[Buffer]) -> int:
    """Return the first step with the most live bytes; 0 if there are no buffers."""
    live = live_by_step(buffers)
    return live.index(max(live)) if live else 0


def handovers(buffers: Sequence[Buffer]) -> list[Handover]:
    """Return, for each buffer, the previous owners of its bytes, with the number of bytes of each.

    Buffers that are alive together must not overlap (see `check_plan`).
    """
    arena = _Arena()
    found: list[Handover] = []
    for n in sorted(range(len(buffers)), key=lambda n: (buffers[n].start, buffers[n].offset)):
        b = buffers[n]
        bytes_of: dict[int, int] = {}
        for owner, n_bytes in arena.take(b.offset, b.limit, n):
            bytes_of[owner] = bytes_of.get(owner, 0) + n_bytes
        found += [Handover(owner, n, n_bytes) for owner, n_bytes in bytes_of.items()]
    return found


class _Arena:
    """The most recent owner of each byte range: sorted starts of the ranges, and their owners."""

    def __init__(self) -> None:
        self._starts = [0]
        self._owners = [-1]

    def take(self, start: int, end: int, owner: int) -> Iterable[tuple[int, int]]:
        """Assign a byte range to a new owner; return previous owners and their bytes in it."""
        if start >= end:
            return ()
        first, last = self._cut(start), self._cut(end)
        ends = [*self._starts[first + 1 : last], end]
        left = [
            (who, limit - at)
            for who, at, limit in zip(
                self._owners[first:last], self._starts[first:last], ends, strict=True
            )
            if who >= 0
        ]
        self._starts[first:last] = [start]
        self._owners[first:last] = [owner]
        return left

    def _cut(self, at: int) -> int:
        """Return the index of the range that starts at a byte, splitting a range if necessary."""
        i = bisect_left(self._starts, at)
        if i == len(self._starts) or self._starts[i] != at:
            self._starts.insert(i, at)
            self._owners.insert(i, self._owners[i - 1])
        return i


def _n_steps(buffers: Sequence[Buffer]) -> int:
    return max((b.end for b in buffers), default=0)
