"""Division of the unplaced blocks into *parts* without common sections, searched one by one.

If a part has no packing, the search undoes the decision that separated the part. Decisions in other
parts are skipped, because they cannot help.
"""

from __future__ import annotations

from compiler.memory.planners.exact.state import (
    BEFORE,
    BEGIN,
    BEHIND,
    CUTS,
    DEPTH,
    END,
    FIRST,
    LEFT,
    LOAD,
    NEXT,
    PARENT,
    PART,
    PARTS,
    PLACED,
    POOL,
    RETREAT,
    RIGHT,
    STEP,
    STOP,
    TOTAL,
    WAS_CUT,
    WHERE,
    Board,
)
from compiler.memory.planners.exact.trail import remember
from compiler.memory.planners.native import compiled


@compiled
def next_part(board: Board) -> bool:
    """Continue with the next part after a part is packed; return False after the last part."""
    part = board.now[PART]
    while board.parts[NEXT, part] < 0:
        parent = board.parts[PARENT, part]
        if parent < 0:
            return False
        part = board.frames[WHERE, parent]
    board.now[PART] = board.parts[NEXT, part]
    return True


@compiled
def retreat_from_part(board: Board) -> bool:
    """Select for undoing the part's newest decision, else the decision that separated the part.

    Return False if no such decision exists.
    """
    part, depth = board.now[PART], board.now[DEPTH]
    if depth < 0 or board.frames[WHERE, depth] != part:
        depth = board.parts[PARENT, part]
    board.now[DEPTH] = depth
    board.now[STEP] = RETREAT
    return depth >= 0


@compiled
def split(board: Board, block: int) -> None:
    """Divide the current part between adjacent sections that no unplaced block connects."""
    holds = True
    for s in range(board.block[FIRST, block], board.block[END, block] - 1):
        if board.span[CUTS, s] == 0:
            holds = False
    if holds:
        return
    whole = board.now[PART]
    remember(board, WAS_CUT, board.now[PARTS], board.now[POOL])
    left, last = board.parts[LEFT, whole], -1
    for s in range(board.parts[LEFT, whole], board.parts[RIGHT, whole]):
        if s + 1 < board.parts[RIGHT, whole] and board.span[CUTS, s] > 0:
            continue
        part = cut_off(board, whole, left, s + 1)
        left = s + 1
        if part < 0:
            continue
        if last < 0:
            board.now[PART] = part
        else:
            board.parts[NEXT, last] = part
        last = part


@compiled
def cut_off(board: Board, whole: int, left: int, right: int) -> int:
    """Create a part of the unplaced blocks within a range of sections; return -1 if there are none.

    The blocks of the part are sorted in search order.
    """
    begin = stop = board.now[POOL]
    for at in range(board.parts[BEGIN, whole], board.parts[STOP, whole]):
        block = board.pool[at]
        if (
            board.block[PLACED, block]
            or board.block[FIRST, block] < left
            or board.block[END, block] > right
        ):
            continue
        load = 0
        for s in range(board.block[FIRST, block], board.block[END, block]):
            load = max(load, board.span[TOTAL, s])
        board.block[LOAD, block] = load
        to = stop
        while to > begin and comes_before(board, block, board.pool[to - 1]):
            board.pool[to] = board.pool[to - 1]
            to -= 1
        board.pool[to] = block
        stop += 1
    if stop == begin:
        return -1
    part = board.now[PARTS]
    board.parts[PARENT, part] = board.now[DEPTH]
    board.parts[NEXT, part] = -1
    board.parts[LEFT, part] = left
    board.parts[RIGHT, part] = right
    board.parts[BEGIN, part] = begin
    board.parts[STOP, part] = stop
    board.now[PARTS] = part + 1
    board.now[POOL] = stop
    return part


@compiled
def comes_before(board: Board, a: int, b: int) -> bool:
    """Return whether block a precedes block b in the search order.

    LOAD is the number of unplaced bytes in the fullest section that the block covers. The block
    with the larger number comes first.
    """
    if board.block[BEFORE, a] != board.block[BEFORE, b]:
        return board.block[BEFORE, a] < board.block[BEFORE, b]
    if board.block[LOAD, a] != board.block[LOAD, b]:
        return board.block[LOAD, a] > board.block[LOAD, b]
    return board.block[BEHIND, a] < board.block[BEHIND, b]
