"""Where a search stands, as arrays: it can stop after any node, and go on from there.

Few arrays with rows of named numbers: a compiled function takes the longer to make the more arrays
it is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler.memory.planners.exact.preorders import Preorder
from compiler.memory.planners.exact.sections import Sections

DEPTH, TRAIL, PARTS, POOL, PART, STEP, ROOM = range(7)
"""Places in `now`: the newest decision, the lengths of trail, parts and pool, the part that is
searched, what comes next, and the capacity rounded up to what offsets are multiples of."""

ENTER, RETREAT = range(2)
"""`now[STEP]`: choose the next block of the part, or take the newest decision back."""

SIZE, FIRST, END, MASK, PINNED, NEAR = range(6)
"""Rows of `block` that never change, as in `Sections`."""

PLACED, OFFSET, BASE, LOWEST, HIGHEST, BEFORE, BEHIND, LOAD = range(6, 14)
"""Rows of `block`: whether it is placed and where, the top of what is placed below it, bounds on
its offset (the lower one is above the base once it was lifted), its ranks, and the load of its
fullest section, for the time of ordering."""

INSIDE, FLOOR, TOTAL, CUTS = range(4)
"""Rows of `span`, by section: where its list of blocks begins, what nothing more can lie below,
bytes yet to place, and how many blocks yet to place live in the next section too."""

BLOCK, CHOICE, MARK, WHERE = range(4)
"""Rows of `frames`, one column per decision: the block, whether it was placed (0) or lifted (1),
the length of the trail before, and the part."""

PARENT, NEXT, LEFT, RIGHT, BEGIN, STOP = range(6)
"""Rows of `parts`: the decision that cut the part off, the part to search after it, its sections
and its blocks in the pool, half-open."""

WAS_FREE, WAS_LOWEST, WAS_BASE, WAS_FLOOR, WAS_CUT = range(5)
"""First row of `trail`: what kind of change is to be undone; then what changed, and what it was."""


class Board(NamedTuple):
    """The problem, the partial packing, what is known of the rest, and how to take it back.

    All arrays of int64; units: bytes, sections. `near` and `inside` are those of `Sections`, `pool`
    holds the blocks of parts in their order.
    """

    now: Any
    block: Any
    span: Any
    near: Any
    inside: Any
    trail: Any
    frames: Any
    parts: Any
    pool: Any


def begin(sections: Sections, real_size: Any, capacity_bytes: int, order: Preorder) -> Board:
    """Nothing placed, everything one part. `real_size` is before rounding, in bytes."""
    n, m = sections.n_blocks, sections.n_sections
    parts = np.zeros((6, 2 * m + 16), np.int64)
    parts[:, 0] = -1, -1, 0, m, 0, n
    span = _spans(sections)
    pool = np.zeros(4 * n + 16, np.int64)
    pool[:n] = _ordered(sections, span[TOTAL], order)
    unit = int(sections.mask.min()) + 1
    now = np.zeros(7, np.int64)
    now[[DEPTH, PARTS, POOL, ROOM]] = -1, 1, n, -(-capacity_bytes // unit) * unit
    return Board(
        now,
        _blocks(sections, real_size, capacity_bytes, order),
        span,
        sections.near,
        sections.inside,
        np.zeros((3, 16 * (n + m) + 64), np.int64),
        np.zeros((4, 2 * n + 16), np.int64),
        parts,
        pool,
    )


def grown(board: Board) -> Board:
    """The same with twice the room for decisions and what they changed."""
    return board._replace(
        trail=_doubled(board.trail),
        frames=_doubled(board.frames),
        parts=_doubled(board.parts),
        pool=_doubled(board.pool),
    )


def _doubled(array: Any) -> Any:
    return np.concatenate([array, np.zeros_like(array)], axis=-1)


def _blocks(sections: Sections, real_size: Any, capacity_bytes: int, order: Preorder) -> Any:
    """The rows by block. There is one column more: where the last one's neighbours end."""
    n = sections.n_blocks
    rows = np.zeros((14, n + 1), np.int64)
    fixed = (sections.size, sections.first, sections.end, sections.mask, sections.pinned)
    rows[: len(fixed), :n] = fixed
    rows[NEAR] = sections.near_first
    rows[OFFSET] = -1
    rows[BASE, :n] = rows[LOWEST, :n] = np.maximum(sections.pinned, 0)
    highest = (capacity_bytes - real_size) & ~sections.mask
    rows[HIGHEST, :n] = np.where(sections.pinned < 0, highest, sections.pinned)
    rows[BEFORE, :n], rows[BEHIND, :n] = order
    return rows


def _spans(sections: Sections) -> Any:
    """The rows by section, and one column more."""
    rows = np.zeros((4, sections.n_sections + 1), np.int64)
    rows[INSIDE] = sections.inside_first
    for size, first, end in zip(sections.size, sections.first, sections.end, strict=True):
        rows[TOTAL, first:end] += size
        rows[CUTS, first : end - 1] += 1
    return rows


def _ordered(sections: Sections, total: Any, order: Preorder) -> Any:
    """All blocks by the order, with the totals of the beginning."""
    spans = zip(sections.first, sections.end, strict=True)
    load = np.array([total[first:end].max() for first, end in spans], np.int64)
    return np.lexsort((order.behind, -load, order.before))
