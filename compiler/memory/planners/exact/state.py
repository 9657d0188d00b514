"""The state of a search as arrays, so that the search can stop after any node, and resume.

A few arrays hold many named rows, because the compilation time of a function grows with the number
of its arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler.memory.planners.exact.preorders import Preorder
from compiler.memory.planners.exact.sections import Sections

DEPTH, TRAIL, PARTS, POOL, PART, STEP, ROOM = range(7)
"""Positions in `now`. DEPTH is the newest decision. TRAIL, PARTS and POOL are the used lengths of
these arrays. PART is the current part, STEP the next action, and ROOM the capacity, rounded up to
the smallest alignment."""

ENTER, RETREAT = range(2)
"""Values of `now[STEP]`: choose the next block of the part, or undo the newest decision."""

SIZE, FIRST, END, MASK, PINNED, NEAR = range(6)
"""Constant rows of `block`, as in `Sections`."""

PLACED, OFFSET, BASE, LOWEST, HIGHEST, BEFORE, BEHIND, LOAD = range(6, 14)
"""More rows of `block`, one column per block. PLACED is 1 for a placed block, with its offset in
OFFSET. BASE is the top of the placed blocks below an unplaced block. LOWEST and HIGHEST bound the
offset of an unplaced block; LOWEST exceeds BASE once the block is lifted. BEFORE, LOAD and BEHIND
determine the search order; LOAD has the unplaced bytes of the block's fullest section."""

INSIDE, FLOOR, TOTAL, CUTS = range(4)
"""Rows of `span`, one column per section. INSIDE is the start of the section's list of blocks.
FLOOR is a lower bound of the offsets of the section's unplaced blocks, and TOTAL is the sum of
their sizes. CUTS counts the unplaced blocks that are also alive in the next section."""

BLOCK, CHOICE, MARK, WHERE = range(4)
"""Rows of `frames`, one column per decision. BLOCK is the block of the decision; CHOICE is 0 if the
block is placed, 1 if it is lifted. MARK is the length of the trail before the decision. WHERE is
the part of the problem that contains the block."""

PARENT, NEXT, LEFT, RIGHT, BEGIN, STOP = range(6)
"""Rows of `parts`, one column per part. PARENT is the decision that separated the part, and NEXT
the part to search next. The part has the sections from LEFT to before RIGHT, and the blocks from
BEGIN to before STOP in the pool."""

WAS_FREE, WAS_LOWEST, WAS_BASE, WAS_FLOOR, WAS_CUT = range(5)
"""Kinds of change, in the first row of `trail`. The other rows have the changed block or section
and its old value; for WAS_CUT, the old lengths of `parts` and `pool`."""


class Board(NamedTuple):
    """The problem, the partial packing, bounds for unplaced blocks, and the undo trail.

    All arrays have type int64; units: bytes, sections. `near` and `inside` are the arrays of
    `Sections`; `pool` has the blocks of all parts in search order.
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
    """Return the initial state: one part, and no block placed.

    `real_size` has the sizes of the blocks before rounding up to the alignment.
    """
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
    """Return the state with twice the space for decisions and changes."""
    return board._replace(
        trail=_doubled(board.trail),
        frames=_doubled(board.frames),
        parts=_doubled(board.parts),
        pool=_doubled(board.pool),
    )


def _doubled(array: Any) -> Any:
    return np.concatenate([array, np.zeros_like(array)], axis=-1)


def _blocks(sections: Sections, real_size: Any, capacity_bytes: int, order: Preorder) -> Any:
    """Return the array `block`; an extra last column has the end of the last neighbour list."""
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
    """Return the array `span`; an extra last column has the end of the last list of blocks."""
    rows = np.zeros((4, sections.n_sections + 1), np.int64)
    rows[INSIDE] = sections.inside_first
    for size, first, end in zip(sections.size, sections.first, sections.end, strict=True):
        rows[TOTAL, first:end] += size
        rows[CUTS, first : end - 1] += 1
    return rows


def _ordered(sections: Sections, total: Any, order: Preorder) -> Any:
    """Return all blocks in search order; `total` has the unplaced bytes of each section."""
    spans = zip(sections.first, sections.end, strict=True)
    load = np.array([total[first:end].max() for first, end in spans], np.int64)
    return np.lexsort((order.behind, -load, order.before))
