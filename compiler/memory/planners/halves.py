"""Placement of many blocks by halves of the steps, in almost linear time.

Blocks live at the middle step are placed first. All other blocks are live only before or only after
this step. So each half of the steps is placed independently, by the same method (an interval tree,
Edelsbrunner 1980).

A *wall* of a half is a placed block that is live at all steps of the half. Walls are merged if no
remaining block fits between them. So each block is compared with a short list of placed blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.memory.buffer import Block
from compiler.memory.planners.native import kept
from compiler.memory.planners.place import Fit

FEWEST_HALVED = 500
"""Largest number of blocks for which a half is placed without further halving."""

MOST_LYING = 4000
"""Maximum number of earlier placed blocks with which a block is compared. If more are alive, small
gaps between them are ignored."""


class Lying(NamedTuple):
    """Placed blocks, sorted by offset. `limit` is the offset after the last byte of a block."""

    offset: Any
    limit: Any
    start: Any
    end: Any

    def where(self, chosen: Any) -> Lying:
        """Return the rows that a mask or a list of positions selects."""
        return Lying(*(row[chosen] for row in self))

    def joined(self, others: Lying) -> Lying:
        """Merge with other placed blocks; both are sorted by offset."""
        at = np.searchsorted(self.offset, others.offset)
        return Lying(*(np.insert(mine, at, row) for mine, row in zip(self, others, strict=True)))


class Half(NamedTuple):
    """The steps [start, end), with their unplaced blocks in order, and their placed blocks.

    `blocks` are unplaced, `lying` are placed.
    """

    start: int
    end: int
    blocks: Any
    lying: Lying

    @property
    def is_whole(self) -> bool:
        """Return whether the blocks are placed without further halving."""
        return len(self.blocks) <= FEWEST_HALVED or self.end - self.start == 1


def place_by_halves(blocks: Sequence[Block], order: Sequence[int], fit: Fit) -> list[int]:
    """Place pinned blocks first, then the others by halves of the steps; return all offsets.

    Within each half, blocks are placed in the given order.
    """
    return Placing(blocks, fit).offsets_in(order).tolist()


class Placing:
    """A problem as arrays, with the offsets so far. Units: bytes, steps.

    Only the steps at which a block starts matter, so these are numbered from 0.
    """

    def __init__(self, blocks: Sequence[Block], fit: Fit) -> None:
        rows = [(b.size, b.start, b.end, b.alignment_bytes - 1, b.pinned) for b in blocks]
        table = np.array(rows, np.int64).reshape(-1, 5)
        self.size, start, end, self.mask, self.pinned = table.T.copy()
        steps = np.unique(start)
        self.n_steps = len(steps)
        self.start = np.searchsorted(steps, start).astype(np.int64)
        self.end = np.searchsorted(steps, end).astype(np.int64)
        self.offsets = np.maximum(self.pinned, 0)
        self.best = fit == "best"

    def offsets_in(self, order: Sequence[int]) -> Any:
        """Place all blocks, in the given order within each half; return their offsets."""
        turns = np.asarray(order, np.int64)
        turns = turns[(self.pinned[turns] < 0) & (self.size[turns] > 0)]
        pinned = self._lying(np.flatnonzero((self.pinned >= 0) & (self.size > 0)))
        halves = [Half(0, self.n_steps, turns, pinned)]
        while halves:
            half = halves.pop()
            if len(half.blocks):
                halves.extend(self._placed(half))
        return self.offsets

    def _placed(self, half: Half) -> Iterator[Half]:
        """Place the blocks alive at the middle step, and yield the remaining halves."""
        if half.is_whole:
            self._place_in_order(half.blocks, half.lying, half.start, half.end)
            return
        middle = (half.start + half.end) // 2
        before = self.end[half.blocks] <= middle
        behind = self.start[half.blocks] >= middle
        now = half.blocks[~(before | behind)]
        self._place_in_order(now, half.lying, middle - 1, middle + 1)
        lying = half.lying.joined(self._lying(now))
        for start, end, inside in ((half.start, middle, before), (middle, half.end, behind)):
            left = half.blocks[inside]
            if len(left):
                alive = lying.where((lying.start < end) & (start < lying.end))
                yield Half(start, end, left, walled(alive, start, end, self.size[left].min()))

    def _lying(self, blocks: Any) -> Lying:
        by_offset = blocks[np.argsort(self.offsets[blocks], kind="stable")]
        offset = self.offsets[by_offset]
        limit = offset + self.size[by_offset]
        return Lying(offset, limit, self.start[by_offset], self.end[by_offset])

    def _place_in_order(self, blocks: Any, lying: Lying, start: int, end: int) -> None:
        """Place blocks in order; a `lying` block that is live from `start` to `end` is a wall."""
        if not len(blocks):
            return
        first, last = self.start[blocks].min(), self.end[blocks].max()
        least = int(self.size[blocks].min())
        lying = walled(lying.where((lying.start < last) & (first < lying.end)), start, end, least)
        room = least
        while len(lying.offset) > MOST_LYING:
            room *= 2
            lying = walled(lying, start, end, room)
        rows = np.zeros((4, len(lying.offset) + len(blocks)), np.int64)
        rows[:, : len(lying.offset)] = lying
        _place(
            *(blocks, self.size, self.start, self.end, self.mask, self.offsets),
            *(rows, len(lying.offset), start, end, least, self.best),
        )


def walled(lying: Lying, start: int, end: int, least: int) -> Lying:
    """Merge walls with gaps below `least` bytes; return the merged walls and the other blocks.

    Walls are live from `start` to `end`. Blocks of less than `least` bytes are treated as walls.
    """
    is_wall = (lying.start <= start) & (lying.end >= end) | (lying.limit - lying.offset < least)
    walls = lying.where(is_wall)
    if not len(walls.offset):
        return lying
    top = np.maximum.accumulate(walls.limit)
    begins = np.flatnonzero(np.concatenate([[True], walls.offset[1:] - top[:-1] >= least]))
    offset, limit = walls.offset[begins], np.maximum.reduceat(walls.limit, begins)
    through = np.full(len(begins), start), np.full(len(begins), end)
    others = lying.where(~is_wall)
    below = np.searchsorted(offset, others.offset, "right") - 1
    hidden = (below >= 0) & (others.limit <= limit[below])
    return others.where(~hidden).joined(Lying(offset, limit, *through))


@kept
def _place(
    turns: Any,
    size: Any,
    start: Any,
    end: Any,
    mask: Any,
    offsets: Any,
    rows: Any,
    n: int,
    from_step: int,
    until_step: int,
    least: int,
    best: bool,
) -> None:
    """Fill in the offsets of the blocks in `turns`, in this order.

    `rows` has the offset, limit, start and end of each placed block, with space for all blocks; the
    first `n` columns are filled.
    """
    offset_at, limit_at, start_at, end_at = rows[0], rows[1], rows[2], rows[3]
    for b in turns:
        b_size, b_start, b_end, b_mask = size[b], start[b], end[b], mask[b]
        free = 0
        gap = -1
        slack_of_gap = 0
        for at in range(n):
            if start_at[at] < b_end and b_start < end_at[at]:
                slack = offset_at[at] - free - b_size
                if slack >= 0 and (gap < 0 or slack < slack_of_gap):
                    gap = free
                    slack_of_gap = slack
                    if not best:
                        break
                free = max(free, (limit_at[at] + b_mask) & ~b_mask)
        offset = gap if gap >= 0 else free
        offsets[b] = offset
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if offset_at[middle] < offset:
                low = middle + 1
            else:
                high = middle
        if (
            b_start <= from_step
            and until_step <= b_end
            and low > 0
            and start_at[low - 1] <= from_step
            and until_step <= end_at[low - 1]
            and offset - limit_at[low - 1] < least
        ):
            limit_at[low - 1] = offset + b_size
            continue
        for at in range(n, low, -1):
            offset_at[at] = offset_at[at - 1]
            limit_at[at] = limit_at[at - 1]
            start_at[at] = start_at[at - 1]
            end_at[at] = end_at[at - 1]
        offset_at[low], limit_at[low] = offset, offset + b_size
        start_at[low], end_at[low] = b_start, b_end
        n += 1
