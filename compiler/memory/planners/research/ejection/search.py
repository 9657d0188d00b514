"""The loop of ejections over arrays: compiled if numba is installed, else interpreted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.memory.buffer import Block
from compiler.memory.planners.greedy import QUICK
from compiler.memory.planners.keys import by
from compiler.memory.planners.native import compiled, kept, now
from compiler.memory.planners.windows import Windows

ROUND = 4_000_000
"""Number of blocks examined between checks of the clock: a few hundredths of a second."""

WEIGHT_STEP = 0.05
"""Weight added to a block by each ejection; weights start at 1."""

FRESH = 20.0
"""Cost factor for ejecting a recently placed block."""

FRESH_MOVES = 3
"""Number of moves for which a block counts as recently placed."""


FIRST_STEP = 0.25
"""Fraction of the gap that the first attempt must close. The fraction is halved after a failure,
and doubled after a success, but never above this value."""

LEAST_STEP = 0.005

PATIENCE = 1000
"""Moves per block after which an attempt is abandoned."""

MOST_TIME = 0.3
"""Maximum fraction of the remaining time for one attempt; the next attempt has an easier target."""


class Arrays(NamedTuple):
    """Blocks as arrays. Units: steps, bytes; `area` is bytes times steps, relative to the mean."""

    start: Any
    end: Any
    size: Any
    area: Any


class Lying(NamedTuple):
    """The `n[0]` placed blocks, sorted by their first bytes and by their last bytes."""

    by_low: Any
    by_high: Any
    n: Any


class Search:
    """A search for packings of unpinned blocks of at least one byte. Units: bytes, steps.

    Sizes are rounded up to the largest alignment, so all offsets are multiples of it.
    """

    def __init__(self, blocks: Sequence[Block], seed: int) -> None:
        self.unit = max(b.alignment_bytes for b in blocks)
        self.blocks, self.windows = blocks, Windows(blocks)
        start, end, size = np.array([(b.start, b.end, b.size) for b in blocks], np.int64).T.copy()
        size = -(-size // self.unit) * self.unit
        area = size.astype(np.float64) * (end - start)
        self.arrays = Arrays(start, end, size, area / area.mean())
        self.moves = max(100, ROUND // len(blocks))
        self.chance = np.array([seed + 1], np.int64)

    def packings(
        self, first: Sequence[int] | None, wanted_bytes: int, until: float
    ) -> Iterator[list[int]]:
        """Yield offsets with decreasing peaks, until a peak is low enough or the time is up.

        `first` is the initial packing; if it is None, the best of a few greedy orders is used.
        """
        size, step = self.arrays.size, FIRST_STEP
        best = self._greedy() if first is None else np.array(first, np.int64)
        wanted = max(-(-wanted_bytes // self.unit) * self.unit, int(size.max()))
        while True:
            yield best.tolist()
            peak = int((best + size).max())
            found = None
            while found is None:
                left = until - now()
                if left <= 0 or peak <= wanted:
                    return
                capacity = peak - max(self.unit, int((peak - wanted) * step))
                capacity = max(wanted, capacity // self.unit * self.unit)
                found = self._within(capacity, best, until - left * (1 - MOST_TIME))
                step = min(FIRST_STEP, 2 * step) if found is not None else max(LEAST_STEP, step / 2)
            lower = self._let_down(found)
            best = lower if (lower + size).max() <= (found + size).max() else found

    def _within(self, capacity_bytes: int, best: Any, until: float) -> Any | None:
        """Repair the packing `best` to fit a capacity; return None if moves or time run out."""
        offsets = best.copy()
        offsets[offsets + self.arrays.size > capacity_bytes] = -1
        weights = np.ones(len(offsets))
        for _ in range(1 + PATIENCE * len(offsets) // self.moves):
            if not settle(self.arrays, offsets, weights, capacity_bytes, self.moves, self.chance):
                return offsets
            if now() >= until:
                break
        return None

    def _greedy(self) -> Any:
        plans = [np.array(self.windows.place(by(k, self.blocks), fit)) for k, fit in QUICK]
        return min(plans, key=lambda offsets: int((offsets + self.arrays.size).max()))

    def _let_down(self, offsets: Any) -> Any:
        """Compact a packing: place each block into the lowest gap, from the bottom up."""
        order = np.argsort(offsets, kind="stable").tolist()
        return np.array(self.windows.place(order, "first"), np.int64)


@compiled
def draw(chance: Any, n: int) -> int:
    """Return a random number below n, which is at most 2**31.

    The 47-bit state of the generator is multiplied in two halves, because numpy warns of 64-bit
    overflow.
    """
    high, low = chance[0] >> 24, chance[0] & 0xFFFFFF
    product = ((high * 1103515245 & 0x7FFFFF) << 24) + low * 1103515245
    chance[0] = (product + 12345) & 0x7FFFFFFFFFFF
    return (chance[0] >> 16) % n


@compiled
def next_beside(arrays: Arrays, order: Any, at: int, n: int, block: int) -> int:
    """Return the next position in `order` of a block alive together with `block`; n if none."""
    start, end = arrays.start[block], arrays.end[block]
    while at < n and (arrays.start[order[at]] >= end or arrays.end[order[at]] <= start):
        at += 1
    return at


@compiled
def cheapest(
    arrays: Arrays,
    lying: Lying,
    offsets: Any,
    costs: Any,
    block: int,
    capacity: int,
    chance: Any,
) -> int:
    """Return the offset for `block` with the least cost: the cost of the blocks overlapped there.

    At the offset of another block minus the size of `block`, both blocks touch; just above this
    offset, they overlap. The overlap ends at the other block's end. The cost changes only at these
    offsets.
    """
    size, n = arrays.size[block], lying.n[0]
    top = capacity - size
    low = next_beside(arrays, lying.by_low, 0, n, block)
    high = next_beside(arrays, lying.by_high, 0, n, block)
    now = 0.0
    while low < n and offsets[lying.by_low[low]] < size:
        now += costs[lying.by_low[low]]
        low = next_beside(arrays, lying.by_low, low + 1, n, block)
    best, least, ties = 0, now, 1
    while high < n:
        other = lying.by_high[high]
        key, ends = offsets[other] + arrays.size[other], True
        if low < n and offsets[lying.by_low[low]] - size < key:
            key, ends = offsets[lying.by_low[low]] - size, False
        if key > top:
            break
        here = now
        if ends:
            while high < n and offsets[other] + arrays.size[other] == key:
                now -= costs[other]
                high = next_beside(arrays, lying.by_high, high + 1, n, block)
                if high < n:
                    other = lying.by_high[high]
            here = now
        else:
            while low < n and offsets[lying.by_low[low]] - size == key:
                now += costs[lying.by_low[low]]
                low = next_beside(arrays, lying.by_low, low + 1, n, block)
        if here < least - 1e-9:
            best, least, ties = key, here, 1
        elif here <= least + 1e-9:
            ties += 1
            if draw(chance, ties) == 0:
                best = key
    if high < n and now < least - 1e-9:
        best = top
    return best


@compiled
def lie(arrays: Arrays, lying: Lying, offsets: Any, block: int) -> None:
    """Add a placed block to the lists."""
    at = n = lying.n[0]
    while at > 0 and offsets[lying.by_low[at - 1]] > offsets[block]:
        lying.by_low[at] = lying.by_low[at - 1]
        at -= 1
    lying.by_low[at] = block
    end = offsets[block] + arrays.size[block]
    at = n
    while at > 0 and offsets[lying.by_high[at - 1]] + arrays.size[lying.by_high[at - 1]] > end:
        lying.by_high[at] = lying.by_high[at - 1]
        at -= 1
    lying.by_high[at] = block
    lying.n[0] = n + 1


@compiled
def rise(lying: Lying, offsets: Any) -> None:
    """Remove unplaced blocks from the lists."""
    low = high = 0
    for at in range(lying.n[0]):
        if offsets[lying.by_low[at]] >= 0:
            lying.by_low[low] = lying.by_low[at]
            low += 1
        if offsets[lying.by_high[at]] >= 0:
            lying.by_high[high] = lying.by_high[at]
            high += 1
    lying.n[0] = low


@kept
def settle(
    arrays: Arrays, offsets: Any, weights: Any, capacity: int, moves: int, chance: Any
) -> int:
    """Place the blocks without an offset (-1) by ejection; return the number still unplaced.

    No block may be larger than the capacity.
    """
    n = len(offsets)
    free = np.zeros(n, np.int64)
    costs = arrays.area * weights
    fresh_until = np.zeros(n, np.int64)
    recent = np.zeros(2 * FRESH_MOVES, np.int64) - 1
    lying = Lying(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(1, np.int64))
    n_free = 0
    for block in range(n):
        if offsets[block] < 0:
            free[n_free] = block
            n_free += 1
        else:
            lie(arrays, lying, offsets, block)
    for move in range(moves):
        if n_free == 0:
            break
        turn = draw(chance, n_free)
        block = free[turn]
        n_free -= 1
        free[turn] = free[n_free]
        for at in range(len(recent)):
            if recent[at] >= 0 and fresh_until[recent[at]] <= move:
                costs[recent[at]] = arrays.area[recent[at]] * weights[recent[at]]
                recent[at] = -1
        low = cheapest(arrays, lying, offsets, costs, block, capacity, chance)
        high = low + arrays.size[block]
        n_before, at = n_free, next_beside(arrays, lying.by_low, 0, lying.n[0], block)
        while at < lying.n[0] and offsets[lying.by_low[at]] < high:
            other = lying.by_low[at]
            at = next_beside(arrays, lying.by_low, at + 1, lying.n[0], block)
            if low < offsets[other] + arrays.size[other]:
                offsets[other] = -1
                weights[other] += WEIGHT_STEP
                costs[other] = arrays.area[other] * weights[other]
                free[n_free] = other
                n_free += 1
        if n_free > n_before:
            rise(lying, offsets)
        offsets[block] = low
        lie(arrays, lying, offsets, block)
        fresh_until[block] = move + 1 + draw(chance, FRESH_MOVES)
        costs[block] = arrays.area[block] * weights[block] * FRESH
        recent[move % len(recent)] = block
    return n_free
