"""Lists of placed blocks by windows of time, sorted by first bytes and by last bytes.

A *neighbor* of a block is a placed block alive together with it. A *window* is a range of steps
with lists of the blocks that are live in this range, as in windows.py. On a level of width d, a
window starts every d steps and has 2 d steps. So a block of at most d steps has all its neighbors
in one window. With both orders, one pass over the neighbors gives the cost of every offset.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler.memory.planners.native import compiled, kept
from compiler.memory.planners.research.repair.reduction import Arrays

FEW_LONGER = 0.002
"""If a smaller fraction of blocks is longer than the width of the last level, another level costs
more than it saves. The neighbors of the longer blocks are then collected from several windows."""

GROWTH = 8
"""Ratio of the widths of successive levels."""


class Lists(NamedTuple):
    """The lists of the placed blocks of all windows.

    Window w of a level covers the steps from (w - 1) * width to (w + 1) * width - 1. `bases` has
    the number of each level's first window. `first` has the position at which the list of each
    window begins, and `n_listed` the length of the list. `by_low` has the lists sorted by the first
    bytes of the blocks, `by_high` the lists sorted by their last bytes.
    """

    widths: Any
    bases: Any
    first: Any
    n_listed: Any
    by_low: Any
    by_high: Any


def empty_lists(blocks: Arrays) -> Lists:
    """Return lists with space for all blocks."""
    widths = _widths(blocks)
    counts: list[Any] = []
    bases = [0]
    for width in widths:
        n = (int(blocks.end.max()) - 1) // width + 2
        change = np.zeros(n + 1, np.int64)
        np.add.at(change, blocks.start // width, 1)
        np.add.at(change, (blocks.end - 1) // width + 2, -1)
        counts.append(np.cumsum(change)[:n])
        bases.append(bases[-1] + n)
    first = np.zeros(bases[-1] + 1, np.int64)
    np.cumsum(np.concatenate(counts), out=first[1:])
    orders = np.zeros((2, first[-1]), np.int32)
    n_listed = np.zeros(bases[-1], np.int64)
    return Lists(np.array(widths), np.array(bases), first, n_listed, orders[0], orders[1])


def _widths(blocks: Arrays) -> list[int]:
    """Return the widths of the levels, shortest first.

    In a window of the first level, the number of starting blocks is about the number of blocks
    alive at a step.
    """
    lives, n_steps = blocks.end - blocks.start, int(blocks.end.max())
    widths = [max(1, min(n_steps, int(lives.mean() / 2)))]
    while widths[-1] < n_steps and (lives > widths[-1]).mean() > FEW_LONGER:
        widths.append(widths[-1] * GROWTH)
    return widths


@compiled
def _insert(order: Any, at: int, end: int, block: int) -> None:
    """Insert a block at a position of a list that ends at `end`.

    With unsigned indices, LLVM compiles the loop to memmove.
    """
    one, low, high = np.uint64(1), np.uint64(at), np.uint64(end)
    while high > low:
        order[high] = order[high - one]
        high -= one
    order[at] = block


@compiled
def _remove(order: Any, at: int, end: int, block: int) -> None:
    """Remove a block from a list; `at` is the first position of the blocks with an equal key."""
    while order[at] != block:
        at += 1
    part = order[at:end]
    for i in range(len(part) - 1):
        part[i] = part[i + 1]


@compiled
def _low_at(order: Any, low: int, high: int, offsets: Any, offset: int) -> int:
    """Return the first position in a list whose block begins at or above an offset."""
    while low < high:
        middle = (low + high) >> 1
        if offsets[order[middle]] < offset:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _high_at(order: Any, low: int, high: int, offsets: Any, size: Any, limit: int) -> int:
    """Return the first position in a list whose block ends at or above a limit."""
    while low < high:
        middle = (low + high) >> 1
        if offsets[order[middle]] + size[order[middle]] < limit:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def enter(blocks: Arrays, lists: Lists, offsets: Any, block: int) -> None:
    """Add a placed block to the lists of all windows that it overlaps."""
    offset = offsets[block]
    limit = offset + blocks.size[block]
    for level in range(len(lists.widths)):
        base, width = lists.bases[level], lists.widths[level]
        until = base + (blocks.end[block] - 1) // width + 2
        for window in range(base + blocks.start[block] // width, until):
            low = lists.first[window]
            end = low + lists.n_listed[window]
            _insert(lists.by_low, _low_at(lists.by_low, low, end, offsets, offset), end, block)
            at = _high_at(lists.by_high, low, end, offsets, blocks.size, limit)
            _insert(lists.by_high, at, end, block)
            lists.n_listed[window] += 1


@compiled
def leave(blocks: Arrays, lists: Lists, offsets: Any, block: int) -> None:
    """Remove a block, which still has its offset, from all its windows."""
    offset = offsets[block]
    limit = offset + blocks.size[block]
    for level in range(len(lists.widths)):
        base, width = lists.bases[level], lists.widths[level]
        until = base + (blocks.end[block] - 1) // width + 2
        for window in range(base + blocks.start[block] // width, until):
            low = lists.first[window]
            end = low + lists.n_listed[window]
            _remove(lists.by_low, _low_at(lists.by_low, low, end, offsets, offset), end, block)
            at = _high_at(lists.by_high, low, end, offsets, blocks.size, limit)
            _remove(lists.by_high, at, end, block)
            lists.n_listed[window] -= 1


@compiled
def neighbors(blocks: Arrays, lists: Lists, offsets: Any, block: int, ends: bool, to: Any) -> int:
    """Fill `to` with the placed blocks alive together with a block; return their number.

    They are sorted by their first bytes or, if `ends` is true, by their last bytes.
    """
    start, end = blocks.start[block], blocks.end[block]
    listed = lists.by_high if ends else lists.by_low
    level = 0
    while level < len(lists.widths) and end - start > lists.widths[level]:
        level += 1
    if level == len(lists.widths):
        return _far_neighbors(blocks, lists, offsets, block, ends, to)
    window = lists.bases[level] + (end - 1) // lists.widths[level]
    low = lists.first[window]
    n = 0
    for at in range(low, low + lists.n_listed[window]):
        other = listed[at]
        to[n] = other
        n += (blocks.start[other] < end) & (start < blocks.end[other])
    return n


@compiled
def _far_neighbors(
    blocks: Arrays, lists: Lists, offsets: Any, block: int, ends: bool, to: Any
) -> int:
    """Fill `to` with the neighbors of a block that is longer than the width of the last level."""
    start, end = blocks.start[block], blocks.end[block]
    base, width = lists.bases[len(lists.widths) - 1], lists.widths[len(lists.widths) - 1]
    found = np.empty(len(to), np.int32)
    n = 0
    for at in range(start // width, (end - 1) // width + 2):
        low = lists.first[base + at]
        for place in range(low, low + lists.n_listed[base + at]):
            other = lists.by_low[place]
            # Each block counts only in the first of these windows that lists it.
            if at == start // width or blocks.start[other] // width == at:
                if blocks.start[other] < end and start < blocks.end[other]:
                    found[n] = other
                    n += 1
    key = np.empty(n, np.int64)
    for i in range(n):
        key[i] = offsets[found[i]] + (blocks.size[found[i]] if ends else 0)
    order = np.argsort(key)
    for i in range(n):
        to[i] = found[order[i]]
    return n


@kept
def fill(blocks: Arrays, lists: Lists, low_order: Any, high_order: Any) -> None:
    """Rebuild the lists from all placed blocks, ordered by first and by last bytes."""
    for order, listed in ((high_order, lists.by_high), (low_order, lists.by_low)):
        lists.n_listed[:] = 0
        for block in order:
            for level in range(len(lists.widths)):
                base, width = lists.bases[level], lists.widths[level]
                until = base + (blocks.end[block] - 1) // width + 2
                for window in range(base + blocks.start[block] // width, until):
                    listed[lists.first[window] + lists.n_listed[window]] = block
                    lists.n_listed[window] += 1
