"""Pruning rules for partial packings, each with its reason.

Every packing can be *settled*: blocks are lowered as long as any block can be lowered. In a settled
packing each block is at offset 0, at its pin, or on top of a block alive at the same time. The
search visits settled packings only, and the rules never exclude all settled packings. Source:
Moffitt, MiniMalloc, ASPLOS 2023, for sections, floors and gaps.
"""

from __future__ import annotations

from compiler.memory.planners.exact.state import (
    BASE,
    END,
    FIRST,
    FLOOR,
    HIGHEST,
    INSIDE,
    LOWEST,
    MASK,
    NEAR,
    PINNED,
    PLACED,
    ROOM,
    SIZE,
    TOTAL,
    WAS_FLOOR,
    Board,
)
from compiler.memory.planners.exact.trail import remember
from compiler.memory.planners.native import compiled

NOWHERE = 1 << 61
"""A number greater than any offset."""


@compiled
def section_overflows(board: Board, section: int) -> bool:
    """Return whether the unplaced blocks of a section do not fit above its floor.

    The blocks of a section are all alive at one step, so their bytes do not overlap. The floor is
    the top of the placed blocks or the lowest possible offset of an unplaced block, whichever is
    higher.
    """
    if board.span[TOTAL, section] == 0:
        return False
    floor = NOWHERE
    for at in range(board.span[INSIDE, section], board.span[INSIDE, section + 1]):
        block = board.inside[at]
        if not board.block[PLACED, block] and board.block[LOWEST, block] < floor:
            floor = board.block[LOWEST, block]
    if floor > board.span[FLOOR, section]:
        remember(board, WAS_FLOOR, section, board.span[FLOOR, section])
        board.span[FLOOR, section] = floor
    return board.span[FLOOR, section] + board.span[TOTAL, section] > board.now[ROOM]


@compiled
def leaves_gap(level: int, fits_below: int) -> bool:
    """Return whether an unplaced block would fit below all other unplaced blocks.

    `level` is the lowest possible offset of all unplaced blocks. `fits_below` is the lowest top
    that an unplaced block would have on its base. If this top is not above `level`, no completion
    of the partial packing is settled: the block could be lowered to its base.
    """
    return fits_below <= level


@compiled
def lifted_bound(board: Board, block: int) -> int:
    """Return the lowest possible offset of a block above its base; NOWHERE if none is possible.

    Below a lifted block, an unplaced block must overlap the bytes that the lifted block would have
    on its base. Otherwise, the lifted block could be lowered to its base. So the offset of the
    lifted block is at least the lowest top of all unplaced blocks that can overlap these bytes.
    """
    bound = NOWHERE
    top = board.block[BASE, block] + board.block[SIZE, block]
    for at in range(board.block[NEAR, block], board.block[NEAR, block + 1]):
        other = board.near[at]
        if not board.block[PLACED, other] and board.block[LOWEST, other] < top:
            bound = min(bound, board.block[LOWEST, other] + board.block[SIZE, other])
    return (bound + board.block[MASK, block]) & ~board.block[MASK, block]


@compiled
def are_twins(board: Board, a: int, b: int) -> bool:
    """Return whether two unplaced blocks are interchangeable in all packings.

    If one of two such blocks (twins) is lifted off its base, the search does not place the other
    twin on its base. Exchanging the twins would give a packing that was already searched.
    """
    return (
        board.block[SIZE, a] == board.block[SIZE, b]
        and board.block[FIRST, a] == board.block[FIRST, b]
        and board.block[END, a] == board.block[END, b]
        and board.block[MASK, a] == board.block[MASK, b]
        and board.block[PINNED, a] < 0
        and board.block[PINNED, b] < 0
        and board.block[LOWEST, a] == board.block[LOWEST, b]
        and board.block[BASE, a] == board.block[BASE, b]
        and board.block[HIGHEST, a] == board.block[HIGHEST, b]
    )
