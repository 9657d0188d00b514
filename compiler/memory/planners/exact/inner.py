"""The compiled search loop over arrays, which can be resumed after a number of nodes.

The *base* of an unplaced block is the top of the placed blocks that must be below it. Each node of
the search decides about the block with the lowest possible offset. There are two choices: the block
is placed on its base, or the block is *lifted*. Another unplaced block must then be placed below
the lifted block.
"""

from __future__ import annotations

from pathlib import Path

from compiler.memory.planners.exact.parts import next_part, retreat_from_part, split
from compiler.memory.planners.exact.rules import (
    NOWHERE,
    are_twins,
    leaves_gap,
    lifted_bound,
    section_overflows,
)
from compiler.memory.planners.exact.state import (
    BASE,
    BEGIN,
    BLOCK,
    CHOICE,
    CUTS,
    DEPTH,
    END,
    ENTER,
    FIRST,
    FLOOR,
    HIGHEST,
    LOWEST,
    MASK,
    NEAR,
    OFFSET,
    PART,
    PARTS,
    PLACED,
    POOL,
    RETREAT,
    SIZE,
    STEP,
    STOP,
    TOTAL,
    TRAIL,
    WAS_BASE,
    WAS_FLOOR,
    WAS_FREE,
    WAS_LOWEST,
    WHERE,
    Board,
)
from compiler.memory.planners.exact.trail import decide, remember, take_back
from compiler.memory.planners.native import Kept, compiled, kept, sources_digest

UNKNOWN, FOUND, NONE, FULL = range(4)
"""Results of `run`: the node limit is reached, a packing is found, no packing exists, or the arrays
must grow first."""

DONE, DEAD = -1, -2
"""Results of `choose` instead of a block: all blocks of the part are placed, or the partial packing
is infeasible."""


@compiled
def has_room(board: Board) -> bool:
    """Return whether the arrays have space for one decision."""
    n, m = board.block.shape[1], board.span.shape[1]
    return (
        board.now[TRAIL] + 3 * (n + m) + 8 < board.trail.shape[1]
        and board.now[DEPTH] + 2 < board.frames.shape[1]
        and board.now[PARTS] + m + 1 < board.parts.shape[1]
        and board.now[POOL] + n + 1 < len(board.pool)
    )


@compiled
def choose(board: Board) -> int:
    """Return the current part's unplaced block with the lowest possible offset, or DONE or DEAD.

    The search order breaks ties.
    """
    part = board.now[PART]
    best, level, fits_below = DONE, NOWHERE, NOWHERE
    for at in range(board.parts[BEGIN, part], board.parts[STOP, part]):
        block = board.pool[at]
        if board.block[PLACED, block]:
            continue
        if board.block[LOWEST, block] < level:
            best, level = block, board.block[LOWEST, block]
        fits_below = min(fits_below, board.block[BASE, block] + board.block[SIZE, block])
    if best != DONE and leaves_gap(level, fits_below):
        return DEAD
    return best


@compiled
def apply(board: Board) -> bool:
    """Apply the newest decision; return False if a rule proves it infeasible."""
    depth = board.now[DEPTH]
    block = board.frames[BLOCK, depth]
    board.now[PART] = board.frames[WHERE, depth]
    if board.frames[CHOICE, depth] == 1:
        return lift(board, block)
    if board.block[LOWEST, block] > board.block[HIGHEST, block]:
        return False
    if not place(board, block):
        return False
    split(board, block)
    return True


@compiled
def place(board: Board, block: int) -> bool:
    """Place a block on its base; return False if other blocks then no longer fit.

    Unplaced blocks that are alive at the same time must be above the placed block.
    """
    board.block[PLACED, block] = 1
    board.block[OFFSET, block] = board.block[LOWEST, block]
    remember(board, WAS_FREE, block, 0)
    top = board.block[LOWEST, block] + board.block[SIZE, block]
    left, right = board.block[FIRST, block], board.block[END, block]
    for s in range(left, right):
        remember(board, WAS_FLOOR, s, board.span[FLOOR, s])
        board.span[FLOOR, s] = top
        board.span[TOTAL, s] -= board.block[SIZE, block]
    for s in range(left, right - 1):
        board.span[CUTS, s] -= 1
    for at in range(board.block[NEAR, block], board.block[NEAR, block + 1]):
        other = board.near[at]
        if board.block[PLACED, other]:
            continue
        above = (top + board.block[MASK, other]) & ~board.block[MASK, other]
        if board.block[BASE, other] < above:
            remember(board, WAS_BASE, other, board.block[BASE, other])
            board.block[BASE, other] = above
        if board.block[LOWEST, other] < above:
            if above > board.block[HIGHEST, other]:
                return False
            remember(board, WAS_LOWEST, other, board.block[LOWEST, other])
            board.block[LOWEST, other] = above
            left, right = min(left, board.block[FIRST, other]), max(right, board.block[END, other])
    for s in range(left, right):
        if section_overflows(board, s):
            return False
    return True


@compiled
def lift(board: Board, block: int) -> bool:
    """Lift a block and its twins (interchangeable blocks); return False if this is infeasible.

    Lifted blocks are not on their bases, so the lower bound of their offsets increases.
    """
    bound = lifted_bound(board, block)
    if bound > board.block[HIGHEST, block]:
        return False
    for at in range(board.block[NEAR, block], board.block[NEAR, block + 1]):
        other = board.near[at]
        if board.block[PLACED, other] == 0 and are_twins(board, block, other):
            remember(board, WAS_LOWEST, other, board.block[LOWEST, other])
            board.block[LOWEST, other] = bound
    remember(board, WAS_LOWEST, block, board.block[LOWEST, block])
    board.block[LOWEST, block] = bound
    for s in range(board.block[FIRST, block], board.block[END, block]):
        if section_overflows(board, s):
            return False
    return True


@compiled
def search(board: Board, n_nodes: int) -> tuple[int, int]:
    """Examine up to `n_nodes` more nodes; return the result and the number of nodes examined."""
    now = board.now
    for node in range(n_nodes):
        if not has_room(board):
            return FULL, node
        if now[STEP] == ENTER:
            block = choose(board)
            if block == DONE:
                if not next_part(board):
                    return FOUND, node
                continue
            if block == DEAD:
                if not retreat_from_part(board):
                    return NONE, node
            else:
                decide(
                    board, block, 0 if board.block[BASE, block] == board.block[LOWEST, block] else 1
                )
        if now[STEP] == RETREAT and not take_back(board):
            return NONE, node
        if apply(board):
            now[STEP] = ENTER
        else:
            now[STEP] = RETREAT
    return UNKNOWN, n_nodes


def _search_as_of(sources: str) -> Kept[[Board, int], tuple[int, int]]:
    """Return the compiled search function, cached under the digest of its sources."""

    def run(board: Board, n_nodes: int) -> tuple[int, int]:
        _ = sources
        return search(board, n_nodes)

    return kept(run)


run = _search_as_of(sources_digest(Path(__file__).parent))
"""Resume the search for a number of nodes; return the result and the number of nodes examined."""
