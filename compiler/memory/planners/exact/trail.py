"""The stack of decisions, and the *trail*: a log of changes to the state, for backtracking."""

from __future__ import annotations

from compiler.memory.planners.exact.state import (
    BASE,
    BLOCK,
    CHOICE,
    CUTS,
    DEPTH,
    END,
    FIRST,
    FLOOR,
    LOWEST,
    MARK,
    PARENT,
    PART,
    PARTS,
    PLACED,
    POOL,
    SIZE,
    TOTAL,
    TRAIL,
    WAS_BASE,
    WAS_CUT,
    WAS_FLOOR,
    WAS_FREE,
    WAS_LOWEST,
    WHERE,
    Board,
)
from compiler.memory.planners.native import compiled


@compiled
def decide(board: Board, block: int, choice: int) -> None:
    """Record a new decision about a block."""
    depth = board.now[DEPTH] + 1
    board.now[DEPTH] = depth
    board.frames[BLOCK, depth] = block
    board.frames[CHOICE, depth] = choice
    board.frames[MARK, depth] = board.now[TRAIL]
    board.frames[WHERE, depth] = board.now[PART]


@compiled
def take_back(board: Board) -> bool:
    """Backtrack to a decision and make its untried choice; return False if no choice remains."""
    depth = board.now[DEPTH]
    while depth >= 0:
        undo(board, board.frames[MARK, depth])
        if board.frames[CHOICE, depth] == 0:
            board.frames[CHOICE, depth] = 1
            board.now[DEPTH] = depth
            return True
        part = board.frames[WHERE, depth]
        if depth > 0 and board.frames[WHERE, depth - 1] == part:
            depth -= 1
        else:
            depth = board.parts[PARENT, part]
    return False


@compiled
def remember(board: Board, kind: int, which: int, value: int) -> None:
    """Add a change to the trail: its kind, the changed item, and the old value."""
    length = board.now[TRAIL]
    board.trail[0, length] = kind
    board.trail[1, length] = which
    board.trail[2, length] = value
    board.now[TRAIL] = length + 1


@compiled
def undo(board: Board, length: int) -> None:
    """Undo the newest changes until the trail has a given length."""
    for at in range(board.now[TRAIL] - 1, length - 1, -1):
        kind, which, value = board.trail[0, at], board.trail[1, at], board.trail[2, at]
        if kind == WAS_LOWEST:
            board.block[LOWEST, which] = value
        elif kind == WAS_BASE:
            board.block[BASE, which] = value
        elif kind == WAS_FLOOR:
            board.span[FLOOR, which] = value
        elif kind == WAS_FREE:
            board.block[PLACED, which] = 0
            for s in range(board.block[FIRST, which], board.block[END, which]):
                board.span[TOTAL, s] += board.block[SIZE, which]
            for s in range(board.block[FIRST, which], board.block[END, which] - 1):
                board.span[CUTS, s] += 1
        elif kind == WAS_CUT:
            board.now[PARTS] = which
            board.now[POOL] = value
    board.now[TRAIL] = length
