"""Placement of blocks one after another in a given order: the core of most planners."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Literal

from compiler.memory.buffer import Block

MANY = 3_000
"""With this number of blocks or more, comparing each block with all placed blocks is too slow."""

VERY_MANY = 150_000
"""With this number of blocks or more, comparing only blocks with overlapping lifetimes is too slow
as well."""

Fit = Literal["first", "best"]
"""`first`: in the lowest gap that is large enough. `best`: in the smallest sufficient gap."""


def place(blocks: Sequence[Block], order: Sequence[int], fit: Fit) -> list[int]:
    """Place pinned blocks first, then other blocks in the given order; return all offsets.

    A block is placed at an aligned offset, in a gap between placed blocks with overlapping
    lifetimes. `VERY_MANY` blocks or more are placed by recursive halving of time, in the given
    order within each half.
    """
    if len(blocks) < MANY:
        return place_in_a_list(blocks, order, fit)
    if len(blocks) >= VERY_MANY:
        from compiler.memory.planners.halves import place_by_halves

        return place_by_halves(blocks, order, fit)
    from compiler.memory.planners.windows import Windows

    return Windows(blocks).place(order, fit)


def place_in_a_list(blocks: Sequence[Block], order: Iterable[int], fit: Fit) -> list[int]:
    """Place blocks using one sorted list of placed blocks: fast for up to a few thousand blocks."""
    lying: Lying = []
    offsets = [0] * len(blocks)
    pinned = [i for i, b in enumerate(blocks) if b.pinned >= 0]
    for i in pinned:
        offsets[i] = blocks[i].pinned
        insort(lying, (offsets[i], offsets[i] + blocks[i].size, blocks[i].start, blocks[i].end))
    for i in order:
        b = blocks[i]
        if b.size and b.pinned < 0:
            offset = offsets[i] = _gap(b, lying, fit)
            insort(lying, (offset, offset + b.size, b.start, b.end))
    return offsets


Lying = list[tuple[int, int, int, int]]
"""(offset, limit, start, end) of the placed blocks, by offset."""


def _gap(b: Block, lying: Lying, fit: Fit) -> int:
    best, best_slack, free = -1, 0, 0
    size, start, end, mask = b.size, b.start, b.end, b.alignment_bytes - 1
    for offset, limit, other_start, other_end in lying:
        if other_start >= end or start >= other_end:
            continue
        slack = offset - free - size
        if slack >= 0 and (best < 0 or slack < best_slack):
            if fit == "first":
                return free
            best, best_slack = free, slack
        free = max(free, (limit + mask) & ~mask)
    return best if best >= 0 else free
