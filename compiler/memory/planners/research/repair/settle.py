"""The loops of repair over arrays: compiled if numba is installed, else interpreted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from compiler.memory.planners.native import Kept, compiled, kept, sources_digest
from compiler.memory.planners.research.ejection.search import draw
from compiler.memory.planners.research.repair.lists import Lists, enter, leave, neighbors
from compiler.memory.planners.research.repair.reduction import Arrays

WEIGHT_STEP = 0.1
"""Weight added to a block by each ejection; weights start at 1."""

TABU = 20.0
"""Cost factor of a block that was placed a few moves ago."""

MOST_TABU_MOVES = 10

TOP = 8
"""Number of most recently ejected blocks from which the next block is chosen, so that a chain of
ejections stays local."""

MOVE = 20
"""Fixed cost of a move, in units of one examined neighbor."""

FAR = 1 << 62
"""A number above all offsets."""

FIXED = 1e30
"""Cost of a pinned block, which is never ejected."""


class Costs(NamedTuple):
    """The cost of ejecting a block: `base` times `weight`, higher before move `tabu_until`."""

    base: Any
    weight: Any
    tabu_until: Any


class State(NamedTuple):
    """The offsets of all blocks, and the state of the repair.

    `unplaced` is a stack of `counts[0]` blocks, and `counts[1]` is the number of moves so far.
    `chance` is the state of the random number generator.
    """

    offsets: Any
    unplaced: Any
    counts: Any
    chance: Any


@compiled
def _cost(costs: Costs, move: int, block: int) -> float:
    cost = costs.base[block] * costs.weight[block]
    return cost * TABU if costs.tabu_until[block] > move else cost


@compiled
def _lowest_gap(blocks: Arrays, offsets: Any, by_low: Any, n: int, block: int) -> int:
    """Return the lowest offset at which a block overlaps none of its n neighbors (`by_low`)."""
    size, mask = blocks.size[block], blocks.mask[block]
    free = 0
    for i in range(n):
        other = by_low[i]
        if offsets[other] - free >= size:
            break
        free = max(free, (offsets[other] + blocks.size[other] + mask) & ~mask)
    return free


@compiled
def _cheapest(
    blocks: Arrays,
    state: State,
    costs: Costs,
    by_low: Any,
    by_high: Any,
    n: int,
    block: int,
    capacity: int,
) -> int:
    """Return the offset for a block with the least cost: the cost of the neighbors overlapped
    there.

    Return -1 if pinned neighbors leave no offset. As the offset increases, an overlap with a
    neighbor begins just above the neighbor's offset minus the block's size, and stops at the
    neighbor's end. The cost changes only at these two offsets, which are rounded to the alignment.
    """
    size, mask, move = blocks.size[block], blocks.mask[block], state.counts[1]
    top = (capacity - size) & ~mask
    now = 0.0
    low = high = ties = 0
    best, least, at = -1, FIXED, 0
    begins = _begins(blocks, state.offsets, by_low, low, n, block)
    ends = _ends(blocks, state.offsets, by_high, high, n, block)
    while begins < 0:
        now += _cost(costs, move, by_low[low])
        low += 1
        begins = _begins(blocks, state.offsets, by_low, low, n, block)
    while at <= top:
        while ends <= at:
            now -= _cost(costs, move, by_high[high])
            high += 1
            ends = _ends(blocks, state.offsets, by_high, high, n, block)
        if now < least - 1e-9:
            best, least, ties = at, now, 1
        elif now <= least + 1e-9:
            ties += 1
            if draw(state.chance, ties) == 0:
                best = at
        while begins <= at:
            now += _cost(costs, move, by_low[low])
            low += 1
            begins = _begins(blocks, state.offsets, by_low, low, n, block)
        at = min(begins, ends)
    return best


@compiled
def _begins(blocks: Arrays, offsets: Any, by_low: Any, low: int, n: int, block: int) -> int:
    """Return the highest offset at which a block is below its neighbor `by_low[low]`."""
    if low == n:
        return FAR
    return (offsets[by_low[low]] - blocks.size[block]) & ~blocks.mask[block]


@compiled
def _ends(blocks: Arrays, offsets: Any, by_high: Any, high: int, n: int, block: int) -> int:
    """Return the lowest offset at which a block is above its neighbor `by_high[high]`."""
    if high == n:
        return FAR
    other, mask = by_high[high], blocks.mask[block]
    return (offsets[other] + blocks.size[other] + mask) & ~mask


@compiled
def _unplace(blocks: Arrays, lists: Lists, state: State, costs: Costs, block: int) -> None:
    leave(blocks, lists, state.offsets, block)
    state.offsets[block] = -1
    costs.weight[block] += WEIGHT_STEP
    state.unplaced[state.counts[0]] = block
    state.counts[0] += 1


@compiled
def _next_block(state: State, costs: Costs) -> int:
    """Remove and return the costlier of two random blocks among the most recently ejected ones."""
    n = state.counts[0]
    at = n - 1 - draw(state.chance, min(n, TOP))
    other = n - 1 - draw(state.chance, min(n, TOP))
    if costs.base[state.unplaced[other]] > costs.base[state.unplaced[at]]:
        at = other
    block = state.unplaced[at]
    state.unplaced[at] = state.unplaced[n - 1]
    state.counts[0] = n - 1
    return block


@compiled
def _settle(
    blocks: Arrays, lists: Lists, state: State, costs: Costs, capacity: int, budget: int
) -> int:
    offsets, n_blocks = state.offsets, len(blocks.start)
    by_low, by_high = np.empty(n_blocks + 1, np.int32), np.empty(n_blocks + 1, np.int32)
    seen = 0
    while state.counts[0] > 0 and seen < budget:
        block = _next_block(state, costs)
        state.counts[1] += 1
        n = neighbors(blocks, lists, offsets, block, False, by_low)
        seen += n + MOVE
        offset = _lowest_gap(blocks, offsets, by_low, n, block)
        if offset + blocks.size[block] > capacity:
            neighbors(blocks, lists, offsets, block, True, by_high)
            offset = _cheapest(blocks, state, costs, by_low, by_high, n, block, capacity)
            if offset < 0:
                return -1
            limit = offset + blocks.size[block]
            for i in range(n):
                other = by_low[i]
                if offsets[other] < limit and offset < offsets[other] + blocks.size[other]:
                    _unplace(blocks, lists, state, costs, other)
        offsets[block] = offset
        enter(blocks, lists, offsets, block)
        costs.tabu_until[block] = state.counts[1] + 1 + draw(state.chance, MOST_TABU_MOVES)
    return state.counts[0]


@compiled
def _first_fit(blocks: Arrays, lists: Lists, offsets: Any, order: Any) -> None:
    by_low = np.empty(len(blocks.start) + 1, np.int32)
    for block in order:
        n = neighbors(blocks, lists, offsets, block, False, by_low)
        offsets[block] = _lowest_gap(blocks, offsets, by_low, n, block)
        enter(blocks, lists, offsets, block)


def _settle_as_of(sources: str) -> Kept[[Arrays, Lists, State, Costs, int, int], int]:
    """Return the compiled repair loop, cached under the digest of its sources."""

    def settle(
        blocks: Arrays, lists: Lists, state: State, costs: Costs, capacity: int, budget: int
    ) -> int:
        _ = sources
        return _settle(blocks, lists, state, costs, capacity, budget)

    return kept(settle)


def _first_fit_as_of(sources: str) -> Kept[[Arrays, Lists, Any, Any], None]:
    """Return the compiled first-fit loop, cached under the digest of its sources."""

    def first_fit(blocks: Arrays, lists: Lists, offsets: Any, order: Any) -> None:
        _ = sources
        _first_fit(blocks, lists, offsets, order)

    return kept(first_fit)


_SOURCES = sources_digest(Path(__file__).parent)

settle = _settle_as_of(_SOURCES)
"""Place unplaced blocks, and eject others, until no block is unplaced or `budget` neighbors are
examined. Return the number of unplaced blocks, or -1 if pinned blocks leave no offset for an
unplaced block."""

first_fit = _first_fit_as_of(_SOURCES)
"""Place blocks in an order, each in the lowest gap between listed blocks."""
