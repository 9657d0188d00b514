"""Sort keys of blocks for sequential placement."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from compiler.memory.buffer import Block

Key = Callable[[Block], tuple[float, ...]]


def by(key: Key, blocks: Sequence[Block]) -> list[int]:
    """Return the positions of blocks, sorted by a key (stable)."""
    return sorted(range(len(blocks)), key=lambda i: key(blocks[i]))


def by_size(b: Block) -> tuple[float, ...]:
    """Order by decreasing size."""
    return (-b.size, b.start, b.end)


def by_lifetime(b: Block) -> tuple[float, ...]:
    """Order by decreasing lifetime."""
    return (b.start - b.end, -b.size, b.start)


def by_start(b: Block) -> tuple[float, ...]:
    """Order by first use; at each step, the largest block first."""
    return (b.start, -b.size)


def by_area(b: Block) -> tuple[float, ...]:
    """Order by decreasing product of bytes and steps."""
    return (-b.size * (b.end - b.start), b.start)


SHORTEST = 200
"""Divisor of the number of steps: the shortest class has lifetimes up to 1/200 of all steps."""


def classes_of(blocks: Sequence[Block]) -> list[int]:
    """Return each block's lifetime class: 0 for the shortest, 1 for up to 8 times as long, ..."""
    steps = max((b.end for b in blocks), default=0) - min((b.start for b in blocks), default=0)
    unit = max(1, steps // SHORTEST)
    return [(((b.end - b.start - 1) // unit).bit_length() + 2) // 3 for b in blocks]


def by_span(blocks: Sequence[Block]) -> list[int]:
    """Return positions of blocks by class of lifetime, longest first; within a class, by size."""
    spans = classes_of(blocks)
    return sorted(range(len(blocks)), key=lambda i: (-spans[i], *by_size(blocks[i])))


def by_breadth(blocks: Sequence[Block]) -> list[int]:
    """Return positions of blocks, by decreasing live bytes at the fullest step of each lifetime."""
    steps = sorted({b.start for b in blocks})
    change = dict.fromkeys(steps, 0)
    for b in blocks:
        change[b.start] += b.size
        behind = bisect_left(steps, b.end)
        if behind < len(steps):
            change[steps[behind]] -= b.size
    breadth, now = [], 0
    for step in steps:
        now += change[step]
        breadth.append(now)
    widest = RangeMaximum(breadth)
    broadest = [widest.over(bisect_left(steps, b.start), bisect_left(steps, b.end)) for b in blocks]
    return sorted(range(len(blocks)), key=lambda i: (-broadest[i], *by_size(blocks[i])))


class RangeMaximum:
    """Range maximum queries by a sparse table of runs of 1, 2, 4, ... numbers."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.tables = [list(numbers)]
        width = 1
        while 2 * width <= len(numbers):
            row = self.tables[-1]
            self.tables.append([max(a, b) for a, b in zip(row, row[width:], strict=False)])
            width *= 2

    def over(self, start: int, end: int) -> int:
        """Return the maximum over the range [start, end), which must not be empty."""
        level = (end - start).bit_length() - 1
        row = self.tables[level]
        return max(row[start], row[end - (1 << level)])


def conflicts(blocks: Sequence[Block]) -> list[int]:
    """Return, for each block, the number of other blocks alive at a common step."""
    starts = sorted(b.start for b in blocks)
    ends = sorted(b.end for b in blocks)
    begun = [bisect_left(starts, b.end) for b in blocks]
    return [n - bisect_right(ends, b.start) - 1 for n, b in zip(begun, blocks, strict=True)]
