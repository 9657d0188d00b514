"""Placement of many blocks in a given order, with lists of placed blocks by windows of time.

A *window* is a range of steps, with a list of the placed blocks that are live in this range, sorted
by offset. Each block is compared only with the list of one window that contains its lifetime.
Windows of equal length form a *level*. On a level of width d, a window starts every d steps and has
2 d steps. So every block of at most d steps lies inside one window of the level.

The loops are plain Python over arrays: compiled if numba is installed, else interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.memory.buffer import Block
from compiler.memory.planners.native import kept
from compiler.memory.planners.place import Fit

MOST_LISTED = 12
"""Maximum average number of windows that list a block on a level. A level with a higher average is
omitted, because its windows are too short for the long-lived blocks."""


class Windows:
    """A problem as arrays, for placement in any number of orders. Units: bytes, steps."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        rows = [(b.size, b.start, b.end, b.alignment_bytes - 1, b.pinned) for b in blocks]
        table = np.array(rows, np.int64).reshape(-1, 5)
        self.size, start, end, self.mask, self.pinned = table.T.copy()
        steps = np.unique(start)
        # Two blocks alive together are both alive at the later of their first steps. So only steps
        # at which blocks start matter.
        self.start = np.searchsorted(steps, start).astype(np.int64)
        self.end = np.searchsorted(steps, end).astype(np.int64)
        self.widths = np.array(_widths(self.start, self.end, len(steps)), np.int64)
        self.bases, self.first = _room(self.start, self.end, self.widths, len(steps))

    def place(self, order: Sequence[int], fit: Fit) -> list[int]:
        """Place pinned blocks first, then other blocks in the given order; return all offsets."""
        free = np.asarray(order, np.int64)
        free = free[(self.pinned[free] < 0) & (self.size[free] > 0)]
        turns = np.concatenate([np.flatnonzero((self.pinned >= 0) & (self.size > 0)), free])
        offsets = np.maximum(self.pinned, 0)
        lists = np.zeros((4, self.first[-1]), np.int64)
        asked = np.zeros(len(self.first) - 1, np.int64)
        n_listed = np.zeros(len(self.first) - 1, np.int64)
        _place(
            *(turns, self.size, self.start, self.end, self.mask, self.pinned),
            *(self.widths, self.bases, self.first, lists[0], lists[1], lists[2], lists[3]),
            *(asked, n_listed, offsets, fit == "best"),
        )
        return offsets.tolist()


def _widths(start: Any, end: Any, n_steps: int) -> list[int]:
    """Return the widths of the levels, shortest first; the last width is the number of steps."""
    widths: list[int] = []
    width = 32
    while width < n_steps:
        n_listed = ((end - 1) // width - start // width + 2).sum()
        if n_listed <= MOST_LISTED * len(start):
            widths.append(width)
            width *= 4
        width *= 2
    return [*widths, n_steps]


def _room(start: Any, end: Any, widths: Any, n_steps: int) -> tuple[Any, Any]:
    """Return the number of each level's first window, and the position of each window's list.

    Window w of a level spans the steps from (w - 1) * width to (w + 1) * width - 1.
    """
    counts = []
    bases = [0]
    for width in widths:
        n = (n_steps - 1) // width + 2
        change = np.zeros(n + 1, np.int64)
        np.add.at(change, start // width, 1)
        np.add.at(change, (end - 1) // width + 2, -1)
        counts.append(np.cumsum(change)[:n])
        bases.append(bases[-1] + n)
    first = np.zeros(bases[-1] + 1, np.int64)
    np.cumsum(np.concatenate(counts), out=first[1:])
    return np.array(bases, np.int64), first


@kept
def _place(
    turns: Any,
    size: Any,
    start: Any,
    end: Any,
    mask: Any,
    pinned: Any,
    widths: Any,
    bases: Any,
    first: Any,
    offset_at: Any,
    limit_at: Any,
    start_at: Any,
    end_at: Any,
    asked: Any,
    n_listed: Any,
    offsets: Any,
    best: bool,
) -> None:
    """Fill in `offsets` for the blocks in `turns`, in this order, pinned blocks first.

    The arrays `..._at` contain the lists of all windows. For each window, `asked` has the last
    position in `turns` of a block that is compared with the window's list.
    """
    for turn in range(len(turns)):
        b = turns[turn]
        if pinned[b] < 0:
            level = 0
            while end[b] - start[b] > widths[level]:
                level += 1
            asked[bases[level] + (end[b] - 1) // widths[level]] = turn
    for turn in range(len(turns)):
        b = turns[turn]
        b_size, b_start, b_end, b_mask = size[b], start[b], end[b], mask[b]
        if pinned[b] < 0:
            level = 0
            while b_end - b_start > widths[level]:
                level += 1
            window = bases[level] + (b_end - 1) // widths[level]
            # Find a gap between the blocks of the window, which is ordered by offset.
            free = 0
            gap = -1
            least = 0
            for at in range(first[window], first[window] + n_listed[window]):
                if start_at[at] < b_end and b_start < end_at[at]:
                    slack = offset_at[at] - free - b_size
                    if slack >= 0 and (gap < 0 or slack < least):
                        gap = free
                        least = slack
                        if not best:
                            break
                    free = max(free, (limit_at[at] + b_mask) & ~b_mask)
            offsets[b] = gap if gap >= 0 else free
        # Add the block to the list of each window that it overlaps and that a later block needs.
        b_offset = offsets[b]
        for level in range(len(widths)):
            width = widths[level]
            low_window = bases[level] + b_start // width
            for window in range(low_window, bases[level] + (b_end - 1) // width + 2):
                if asked[window] <= turn:
                    continue
                low = first[window]
                top = high = low + n_listed[window]
                while low < high:
                    middle = (low + high) // 2
                    if offset_at[middle] < b_offset:
                        low = middle + 1
                    else:
                        high = middle
                for at in range(top, low, -1):
                    offset_at[at] = offset_at[at - 1]
                    limit_at[at] = limit_at[at - 1]
                    start_at[at] = start_at[at - 1]
                    end_at[at] = end_at[at - 1]
                offset_at[low] = b_offset
                limit_at[low] = b_offset + b_size
                start_at[low] = b_start
                end_at[low] = b_end
                n_listed[window] += 1
