"""What blocks are ordered by before they are placed, one after the other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from compiler.memory.buffer import Block

Key = Callable[[Block], tuple[float, ...]]


def by(key: Key, blocks: Sequence[Block]) -> list[int]:
    """The positions of blocks in the order of a key; equal ones as they stand."""
    return sorted(range(len(blocks)), key=lambda i: key(blocks[i]))


def by_size(b: Block) -> tuple[float, ...]:
    """The largest first."""
    return (-b.size, b.start, b.end)


def by_lifetime(b: Block) -> tuple[float, ...]:
    """The longest-lived first."""
    return (b.start - b.end, -b.size, b.start)


def by_start(b: Block) -> tuple[float, ...]:
    """As a program comes to need them, the largest first at one step."""
    return (b.start, -b.size)


def by_area(b: Block) -> tuple[float, ...]:
    """The largest product of bytes and steps first."""
    return (-b.size * (b.end - b.start), b.start)


SHORTEST = 200
"""Lifetimes up to this part of all steps are one class, the shortest."""


def classes_of(blocks: Sequence[Block]) -> list[int]:
    """How long-lived each block is: 0 for the shortest, 1 for up to eight times as long, ..."""
    steps = max((b.end for b in blocks), default=0) - min((b.start for b in blocks), default=0)
    unit = max(1, steps // SHORTEST)
    return [(((b.end - b.start - 1) // unit).bit_length() + 2) // 3 for b in blocks]


def by_span(blocks: Sequence[Block]) -> list[int]:
    """The positions of blocks by class of lifetime, the longest first, and by size in each."""
    spans = classes_of(blocks)
    return sorted(range(len(blocks)), key=lambda i: (-spans[i], *by_size(blocks[i])))


def by_breadth(blocks: Sequence[Block]) -> list[int]:
    """A block's turn comes with the broadest step that it lives in."""
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
    """The largest of any run of numbers, from tables of runs of 1, 2, 4, ... numbers."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.tables = [list(numbers)]
        width = 1
        while 2 * width <= len(numbers):
            row = self.tables[-1]
            self.tables.append([max(a, b) for a, b in zip(row, row[width:], strict=False)])
            width *= 2

    def over(self, start: int, end: int) -> int:
        """The largest of the numbers from `start` until before `end`; there is at least one."""
        level = (end - start).bit_length() - 1
        row = self.tables[level]
        return max(row[start], row[end - (1 << level)])


def conflicts(blocks: Sequence[Block]) -> list[int]:
    """With how many others each block is alive at some step."""
    starts = sorted(b.start for b in blocks)
    ends = sorted(b.end for b in blocks)
    begun = [bisect_left(starts, b.end) for b in blocks]
    return [n - bisect_right(ends, b.start) - 1 for n, b in zip(begun, blocks, strict=True)]
