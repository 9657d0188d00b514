"""Why a partial packing cannot be finished: each rule with its reason.

All rules keep at least one packing if there is any. For a packing can be *settled*: as long as a
block could lie lower where it is free, it is put there. In a settled packing every block lies on
the ground, on a pin, or on a block below it that is alive at its time. Only settled packings are
searched. Source: Moffitt, MiniMalloc, ASPLOS 2023, for sections, floors and gaps.
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
"""Above every offset."""


@compiled
def section_overflows(board: Board, section: int) -> bool:
    """Whether the blocks yet to place in a section do not fit above its floor.

    All of them are alive together, so that they lie one above the other. The floor is the top of
    what is placed, or the least offset that any of them may have, whichever is higher.
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
    """Whether a block that is yet to place would fit below everything that is.

    `level` is the least offset that any block yet to place may have, `fits_below` the least top of
    one that lies on its base. What would fit there later is not settled: it could be let down.
    """
    return fits_below <= level


@compiled
def lifted_bound(board: Board, block: int) -> int:
    """The least offset of a block that does not lie on its base; NOWHERE when it must lie there.

    Something must take the place in which it would have lain, or it could be let down: a block that
    is alive at its time, is yet to place, and may begin below its top. It lies above that one.
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
    """Whether two blocks yet to place could trade places in every packing.

    When one of them does not lie on its base, the other need not lie there either: the packing with
    the two exchanged was searched before.
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
