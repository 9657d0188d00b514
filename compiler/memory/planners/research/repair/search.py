"""The outer loop of repair: the target peak is lowered as long as repair succeeds in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from compiler.memory.planners.native import now
from compiler.memory.planners.research.repair.lists import empty_lists, fill
from compiler.memory.planners.research.repair.reduction import Arrays
from compiler.memory.planners.research.repair.settle import (
    FAR,
    FIXED,
    Costs,
    State,
    first_fit,
    settle,
)

CHUNK_SECONDS = 0.02
"""Approximate time in seconds of a chunk of moves; the clock is checked after each chunk."""

FIRST_BUDGET = 2_000
"""Neighbors examined in the first chunk of moves: few enough even for slow, interpreted code."""

FIRST_STEP = 0.25
"""Fraction of the gap that the first attempt must close; later fractions depend on its success."""

MOST_STEP, LEAST_STEP = 0.5, 0.002

FIRST_PLANS = 0.5
"""Fraction of the time that first fit may take."""

AT_ONCE = 200
"""Blocks that first fit places between checks of the clock."""

PATIENCE = 0.1
"""If blocks remain unplaced after this fraction of the remaining time, the target rises."""

RISE = 8
"""If blocks remain unplaced too long, the target rises by its distance to the best peak, divided by
this number."""


class Search:
    """A search for plans with decreasing peaks. Units: bytes, steps.

    `first` is an initial plan, of which only the order from the bottom up matters.
    """

    def __init__(self, blocks: Arrays, first: Any, seed: int) -> None:
        self.blocks, self.first = blocks, first
        n = len(blocks.start)
        area = blocks.size * (blocks.end - blocks.start).astype(np.float64)
        cost = np.where(blocks.pinned >= 0, FIXED, area / max(area.mean() if n else 1.0, 1.0))
        self.costs = Costs(cost, np.ones(n), np.zeros(n, np.int64))
        chance, counts = np.array([seed + 1], np.int64), np.zeros(2, np.int64)
        self.state = State(np.zeros(n, np.int64), np.zeros(n, np.int64), counts, chance)
        self.budget = FIRST_BUDGET

    def plans(self, wanted_bytes: int, until: float) -> Iterator[Any]:
        """Yield offsets with decreasing peaks, until a peak is low enough or the time is up."""
        if not len(self.blocks.start):
            yield np.zeros(0, np.int64)
            return
        self.lists = empty_lists(self.blocks)
        peak, best = FAR, np.zeros(0, np.int64)
        begun = now()
        for offsets in self._first_plans(begun + FIRST_PLANS * (until - begun)):
            if self._peak(offsets) < peak:
                peak, best = self._peak(offsets), offsets
                yield best
            if peak <= wanted_bytes:
                return
        step = FIRST_STEP
        while len(best) and peak > wanted_bytes and now() < until:
            target = peak - max(1, int((peak - wanted_bytes) * step))
            found = self._repaired(best, target, peak, until)
            if found is None:
                step = max(LEAST_STEP, step / 3)
                continue
            peak, best = self._peak(found), found
            step = min(MOST_STEP, step * 1.5) if peak <= target else max(LEAST_STEP, step / 2)
            yield best

    def _first_plans(self, until: float) -> Iterator[Any]:
        """Yield first-fit plans, in the orders `ORDERS` and in the order of the given offsets.

        First fit in the order of the given offsets places no block higher than its given offset.
        """
        bottom_up = np.lexsort((self.blocks.start, self.first))
        orders = [order(self.blocks) for order in ORDERS]
        for order in (orders[0], bottom_up, *orders[1:]):
            offsets = self._first_fit(order, until)
            if offsets is None:
                break
            yield offsets

    def _first_fit(self, order: Any, until: float) -> Any | None:
        """Return the first-fit plan in an order; None if it takes too long."""
        offsets = np.maximum(self.blocks.pinned, 0)
        pinned = self.blocks.pinned >= 0
        self._list(offsets, np.flatnonzero(pinned))
        order = order[~pinned[order]]
        for at in range(0, len(order), AT_ONCE):
            if now() >= until:
                return None
            first_fit(self.blocks, self.lists, offsets, order[at : at + AT_ONCE])
        return offsets

    def _repaired(self, best: Any, target: int, peak: int, until: float) -> Any | None:
        """Return a plan with a lower peak than the best, or None if the time does not suffice.

        If blocks remain unplaced for too long (PATIENCE), the target rises, so that they become
        easier to place.
        """
        state = self.state
        state.offsets[:] = best
        state.offsets[(best + self.blocks.size > target) & (self.blocks.pinned < 0)] = -1
        unplaced = np.flatnonzero(state.offsets < 0)
        state.unplaced[: len(unplaced)] = unplaced[np.argsort(self.costs.base[unplaced])]
        state.counts[0] = len(unplaced)
        self.costs.weight[:] = 1
        self._list(state.offsets, np.flatnonzero(state.offsets >= 0))
        begun = now()
        patience = begun + PATIENCE * (until - begun)
        while (left := self._settle(target)) != 0:
            if left < 0 or now() >= until:
                return None
            if now() >= patience:
                begun = now()
                patience = begun + PATIENCE * (until - begun)
                target += max(1, (peak - target) // RISE)
                if target >= peak:
                    return None
        return state.offsets.copy()

    def _settle(self, target: int) -> int:
        """Run one chunk of moves, and adapt the size of the next chunk to the time taken."""
        begun = now()
        left = settle(self.blocks, self.lists, self.state, self.costs, target, self.budget)
        ratio = CHUNK_SECONDS / max(now() - begun, 1e-9)
        self.budget = int(self.budget * min(4.0, max(0.25, ratio)))
        return left

    def _list(self, offsets: Any, placed: Any) -> None:
        by_low = placed[np.argsort(offsets[placed], kind="stable")]
        by_high = placed[np.argsort((offsets + self.blocks.size)[placed], kind="stable")]
        fill(self.blocks, self.lists, by_low, by_high)

    def _peak(self, offsets: Any) -> int:
        return int((offsets + self.blocks.size).max())


def _by_span(blocks: Arrays) -> Any:
    """Order by lifetime class (a factor of eight each), longest first; within a class, by size."""
    life = blocks.end - blocks.start
    unit = max(1, int(blocks.end.max()) // 200)
    classes = np.ceil(np.log2((life - 1) // unit + 1) / 3)
    return np.lexsort((blocks.start, -blocks.size, -classes))


def _by_size(blocks: Arrays) -> Any:
    return np.lexsort((blocks.end, blocks.start, -blocks.size))


def _by_area(blocks: Arrays) -> Any:
    return np.lexsort((blocks.start, -blocks.size * (blocks.end - blocks.start)))


ORDERS: Sequence[Callable[[Arrays], Any]] = (_by_span, _by_size, _by_area)
"""Orders for first fit: by lifetime class (fastest), by size (best for most traces), by area."""
