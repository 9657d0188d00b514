"""The search itself: a loop over arrays that is compiled, and stops after a number of nodes.

At each node the block that may lie lowest is decided: it lies on its base, or something comes
between (it is lifted). Once no block yet to place crosses a moment of time, what lies before it and
what lies behind are parts that are searched one after the other; when one of them has no packing,
the decision that cut it off is taken back, whatever was decided in parts beside it.
"""

from __future__ import annotations

from pathlib import Path

from compiler.memory.planners.exact.rules import (
    NOWHERE,
    are_twins,
    leaves_gap,
    lifted_bound,
    section_overflows,
)
from compiler.memory.planners.exact.state import (
    BASE,
    BEFORE,
    BEGIN,
    BEHIND,
    BLOCK,
    CHOICE,
    CUTS,
    DEPTH,
    END,
    ENTER,
    FIRST,
    FLOOR,
    HIGHEST,
    LEFT,
    LOAD,
    LOWEST,
    MARK,
    MASK,
    NEAR,
    NEXT,
    OFFSET,
    PARENT,
    PART,
    PARTS,
    PLACED,
    POOL,
    RETREAT,
    RIGHT,
    SIZE,
    STEP,
    STOP,
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
from compiler.memory.planners.native import Kept, compiled, kept, sources_digest

UNKNOWN, FOUND, NONE, FULL = range(4)
"""What `run` says: all nodes are used up, a packing is in `State.offset`, there is none, or the
arrays have to grow before it can go on."""

DONE, DEAD = -1, -2


@compiled
def has_room(board: Board) -> bool:
    """Whether the arrays hold what one decision can add."""
    n, m = board.block.shape[1], board.span.shape[1]
    return (
        board.now[TRAIL] + 3 * (n + m) + 8 < board.trail.shape[1]
        and board.now[DEPTH] + 2 < board.frames.shape[1]
        and board.now[PARTS] + m + 1 < board.parts.shape[1]
        and board.now[POOL] + n + 1 < len(board.pool)
    )


@compiled
def choose(board: Board) -> int:
    """The block of the part that may lie lowest, the first of the order among equals."""
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
def next_part(board: Board) -> bool:
    """Go on with what is left when a part is packed; False when nothing is."""
    part = board.now[PART]
    while board.parts[NEXT, part] < 0:
        parent = board.parts[PARENT, part]
        if parent < 0:
            return False
        part = board.frames[WHERE, parent]
    board.now[PART] = board.parts[NEXT, part]
    return True


@compiled
def decide(board: Board, block: int, choice: int) -> None:
    """Enter a new decision about a block."""
    depth = board.now[DEPTH] + 1
    board.now[DEPTH] = depth
    board.frames[BLOCK, depth] = block
    board.frames[CHOICE, depth] = choice
    board.frames[MARK, depth] = board.now[TRAIL]
    board.frames[WHERE, depth] = board.now[PART]


@compiled
def retreat_from_part(board: Board) -> bool:
    """Go back to the decision that led to a part in which nothing can be chosen."""
    part, depth = board.now[PART], board.now[DEPTH]
    if depth < 0 or board.frames[WHERE, depth] != part:
        depth = board.parts[PARENT, part]
    board.now[DEPTH] = depth
    board.now[STEP] = RETREAT
    return depth >= 0


@compiled
def take_back(board: Board) -> bool:
    """Undo decisions up to one that has another choice, and take that; False when none has."""
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
    """Put down how to undo a change."""
    length = board.now[TRAIL]
    board.trail[0, length] = kind
    board.trail[1, length] = which
    board.trail[2, length] = value
    board.now[TRAIL] = length + 1


@compiled
def undo(board: Board, length: int) -> None:
    """Take all changes back that came after the trail had this length."""
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


@compiled
def apply(board: Board) -> bool:
    """Do what the newest decision says; False when a rule shows that it leads nowhere."""
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
    """Put a block on its base. What is alive at its time must lie above."""
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
    """Say that a block does not lie on its base, nor what could trade places with it."""
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
def split(board: Board, block: int) -> None:
    """Cut the part where the placed block was the last one to hold it together."""
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
    """A new part: what is yet to place between two sections, ordered anew. -1 when nothing is."""
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
    """Whether the order tries one block before another, by the loads of now."""
    if board.block[BEFORE, a] != board.block[BEFORE, b]:
        return board.block[BEFORE, a] < board.block[BEFORE, b]
    if board.block[LOAD, a] != board.block[LOAD, b]:
        return board.block[LOAD, a] > board.block[LOAD, b]
    return board.block[BEHIND, a] < board.block[BEHIND, b]


@compiled
def search(board: Board, n_nodes: int) -> tuple[int, int]:
    """Look at up to `n_nodes` more nodes."""
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
    """The search, kept under the digest of its sources."""

    def run(board: Board, n_nodes: int) -> tuple[int, int]:
        _ = sources
        return search(board, n_nodes)

    return kept(run)


run = _search_as_of(sources_digest(Path(__file__).parent))
"""Search on, for at most so many nodes: what it found, and how many nodes it looked at."""
