"""One level of a beam search over skylines: compiled loops over arrays.

A state is a partial packing, represented by its *skyline*: the occupied height at each step. A
*segment* is a maximal range of steps of equal height. The next move places a block that fits on the
lowest segment. If no block fits, the segment is raised to the height of its lower neighbour, and
the memory below is wasted. The height of the skyline at a step, plus the bytes of unplaced blocks
live at this step, is a lower bound of the peak (`need`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from compiler.memory.planners.native import compiled, kept

SKY_END = 1 << 60
"""The height of the skyline before the first and after the last step: above any offset."""

MOST_EACH = 48
"""Maximum number of blocks tried on the lowest segment of a state."""


NEAR_ROWS = 8
"""Number of preceding states that are compared with a new state to find duplicates. States are
sorted by cost, and duplicates have about the same cost."""


class Field(NamedTuple):
    """Blocks in the order of their starts and of their ends. Units: bytes, steps.

    `first[t]` is the first block that starts at t or later. `first_end[t]` is a position in
    `by_end`: the first block that ends at t or later.
    """

    size: Any
    start: Any
    end: Any
    first: Any
    by_end: Any
    first_end: Any


class Ways(NamedTuple):
    """The states of the beam, one per row.

    `lost` (wasted memory) and `filled` are in bytes times steps. `least` is a lower bound of the
    peak. `key` is a hash of the set of placed blocks.
    """

    sky: Any
    need: Any
    placed: Any
    lost: Any
    filled: Any
    least: Any
    key: Any


class Moves(NamedTuple):
    """Candidate moves and their effects.

    The columns of `facts`:

    - the state, the block and its offset
    - the first step of the lowest segment
    - the new height of this segment before the block's start
    - the lower bound of the peak
    """

    facts: Any
    cost: Any
    lost: Any
    key: Any


WAY, BLOCK, OFFSET, LEFT, RAISED, LEAST = range(6)


class Weights(NamedTuple):
    """Weights of the terms of a move's cost, relative to the weight of wasted memory.

    `edge` is the weight of each change of the skyline's height at an end of the block. `filled` is
    the weight of the filled memory, which lowers the cost. `above` is the weight of the peak's
    distance from the lower bound.
    """

    edge: float
    filled: float
    above: float


@compiled
def is_free(placed: Any, block: int) -> bool:
    """Return whether a block is unplaced."""
    return placed[block] == 0


@compiled
def lowest(sky: Any) -> tuple[int, int]:
    """Return the first of the lowest segments of a skyline as a half-open range of steps."""
    left = 0
    for t in range(1, len(sky)):
        if sky[t] < sky[left]:
            left = t
    right = left + 1
    while right < len(sky) and sky[right] == sky[left]:
        right += 1
    return left, right


@compiled
def lost_at(field: Field, placed: Any, block: int, t: int, low: int, high: int) -> int:
    """Return the bytes that stay unused where the skyline changes height from `low` to `high` at t.

    If the height increases, only blocks that end at t can fill the lower side up to the edge. If
    the height decreases, only blocks that begin at t can fill it.
    """
    if low == high:
        return 0
    room = abs(high - low)
    if low < high:
        for at in range(field.first_end[t], field.first_end[t + 1]):
            other = field.by_end[at]
            if other != block and is_free(placed, other):
                room -= field.size[other]
    else:
        for other in range(field.first[t], field.first[t + 1]):
            if other != block and is_free(placed, other):
                room -= field.size[other]
    return max(room, 0)


@compiled
def has_twin(field: Field, moves: Moves, begin: int, stop: int, block: int) -> bool:
    """Return whether a move from position `begin` on already places an equal block."""
    for at in range(begin, stop):
        other = moves.facts[at, BLOCK]
        if (
            field.size[other] == field.size[block]
            and field.start[other] == field.start[block]
            and field.end[other] == field.end[block]
        ):
            return True
    return False


@compiled
def enter(
    field: Field, ways: Ways, moves: Moves, n: int, way: int, block: int, left: int, raised: int
) -> tuple[int, int]:
    """Write a move at position n, without its cost; return its skyline edges and unused bytes."""
    sky, need, placed = ways.sky[way], ways.need[way], ways.placed[way]
    bottom, start, end = sky[left], field.start[block], field.end[block]
    top = bottom + field.size[block]
    least = ways.least[way]
    for t in range(left, start):
        least = max(least, need[t] + raised - bottom)
    moves.lost[n] = ways.lost[way] + float(raised - bottom) * (start - left)
    edges, lost = 0, 0
    if start > 0:
        before = raised if start > left else sky[start - 1]
        edges += before != top
        more = lost_at(field, placed, block, start, before, top)
        least = max(least, need[start if before > top else start - 1] + more)
        lost += more
    if end < len(sky):
        edges += sky[end] != top
        more = lost_at(field, placed, block, end, top, sky[end])
        least = max(least, need[end if top > sky[end] else end - 1] + more)
        lost += more
    facts = moves.facts[n]
    facts[WAY], facts[BLOCK], facts[OFFSET] = way, block, bottom
    facts[LEFT], facts[RAISED], facts[LEAST] = left, raised, least
    return edges, lost


@compiled
def raise_lowest(ways: Ways, way: int, left: int, right: int) -> None:
    """Raise the lowest segment to the height of its lower neighbour."""
    sky, need = ways.sky[way], ways.need[way]
    height = SKY_END
    if left > 0:
        height = sky[left - 1]
    if right < len(sky):
        height = min(height, sky[right])
    more = height - sky[left]
    for t in range(left, right):
        sky[t] = height
        need[t] += more
        ways.least[way] = max(ways.least[way], need[t])
    ways.lost[way] += float(more) * (right - left)


@compiled
def try_blocks(
    field: Field,
    ways: Ways,
    moves: Moves,
    n: int,
    way: int,
    most: int,
    keys: Any,
    weights: Weights,
    bound: int,
) -> int:
    """Write the moves of a state from position n on; return the position after the last move."""
    sky, placed = ways.sky[way], ways.placed[way]
    begin, found = n, False
    while not found and ways.least[way] < most:
        left, right = lowest(sky)
        raised = SKY_END
        if left > 0:
            raised = sky[left - 1]
        if right < len(sky):
            raised = min(raised, sky[right])
        first_end = len(sky) + 1
        for block in range(field.first[left], field.first[right]):
            # A block that starts after the end of another candidate is not tried: the other block
            # could be placed before it.
            if field.start[block] >= first_end or n - begin >= MOST_EACH:
                break
            if field.end[block] > right or not is_free(placed, block):
                continue
            found = True
            first_end = min(first_end, field.end[block])
            if has_twin(field, moves, begin, n, block):
                continue
            to = raised if raised < SKY_END else sky[left] + field.size[block]
            edges, lost = enter(field, ways, moves, n, way, block, left, to)
            least = moves.facts[n, LEAST]
            if least >= most:
                continue
            area = float(field.size[block]) * (field.end[block] - field.start[block])
            moves.cost[n] = (
                (moves.lost[n] + lost) / bound
                + weights.edge * edges
                - weights.filled * (ways.filled[way] + area) / bound
                + weights.above * (least - bound) / bound
            )
            moves.key[n] = ways.key[way] ^ keys[block]
            n += 1
        if not found:
            raise_lowest(ways, way, left, right)
    return n


@compiled
def follow(field: Field, ways: Ways, into: Ways, row: int, moves: Moves, at: int) -> None:
    """Apply a move, and write the new state to a row."""
    way, block, offset, left, raised, least = moves.facts[at]
    start, end = field.start[block], field.end[block]
    # Explicit loops, since numba takes seconds to compile checks of equal slice lengths.
    for t in range(ways.sky.shape[1]):
        into.sky[row, t] = ways.sky[way, t]
        into.need[row, t] = ways.need[way, t]
    for other in range(ways.placed.shape[1]):
        into.placed[row, other] = ways.placed[way, other]
    for t in range(left, start):
        into.sky[row, t] = raised
        into.need[row, t] += raised - offset
    for t in range(start, end):
        into.sky[row, t] = offset + field.size[block]
    into.placed[row, block] = 1
    into.lost[row] = moves.lost[at]
    into.filled[row] = ways.filled[way] + float(field.size[block]) * (end - start)
    into.least[row] = least
    into.key[row] = moves.key[at]


@kept
def try_all(
    field: Field,
    ways: Ways,
    n_ways: int,
    moves: Moves,
    keys: Any,
    weights: Weights,
    bound: int,
    most: int,
) -> int:
    """Write the moves of all states; return their number.

    States that need `most` bytes or more are discarded.
    """
    n = 0
    for way in range(n_ways):
        n = try_blocks(field, ways, moves, n, way, most, keys, weights, bound)
    return n


@kept
def follow_best(field: Field, ways: Ways, into: Ways, moves: Moves, order: Any, log: Any) -> int:
    """Apply the first moves of an order, each to a separate row; return the number of rows.

    Moves to a duplicate state are skipped. `log` receives the previous state, block and offset of
    each row.
    """
    rows = 0
    for at in order:
        if rows == len(into.lost):
            break
        same = False
        for row in range(max(0, rows - NEAR_ROWS), rows):
            if into.key[row] == moves.key[at] and into.least[row] == moves.facts[at, LEAST]:
                same = True
        if same:
            continue
        follow(field, ways, into, rows, moves, at)
        for column in range(3):
            log[rows, column] = moves.facts[at, column]
        rows += 1
    return rows
