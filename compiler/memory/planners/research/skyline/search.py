"""Beam searches over a problem: its arrays, and the reconstruction of the best packing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.memory.planners.native import now
from compiler.memory.planners.research.joining import Joined
from compiler.memory.planners.research.skyline.beam import (
    MOST_EACH,
    Field,
    Moves,
    Ways,
    Weights,
    follow_best,
    try_all,
)

WEIGHTS = (Weights(0.01, 0.5, 20.0), Weights(0.01, 2.0, 20.0), Weights(0.05, 0.1, 20.0))
"""Weights of the cost in successive searches: they complement each other."""

MOST_BYTES = 1 << 27
"""Memory limit in bytes of one search's arrays."""


class Skylines:
    """A search that places unpinned rectangles of at least one byte; `back` reverses time.

    All offsets are sums of the rectangles' sizes.
    """

    def __init__(self, rectangles: Sequence[Joined], back: bool = False) -> None:
        rows = [
            (-b.end, -b.start, b.size) if back else (b.start, b.end, b.size) for b in rectangles
        ]
        start, end, size = np.array(rows, np.int64).T
        steps = np.unique(start)
        start, end = np.searchsorted(steps, start), np.searchsorted(steps, end)
        self.order = np.lexsort((-size, start))
        start, end, size = start[self.order], end[self.order], size[self.order]
        marks = np.arange(len(steps) + 2)
        by_end = np.argsort(end, kind="stable")
        ends = np.searchsorted(end[by_end], marks)
        self.field = Field(size, start, end, np.searchsorted(start, marks), by_end, ends)
        change = np.zeros(len(steps) + 1, np.int64)
        np.add.at(change, start, size)
        np.add.at(change, end, -size)
        self.load = np.cumsum(change)[:-1]

    def _widest(self) -> int:
        """Return the largest beam width whose arrays fit in `MOST_BYTES`."""
        n, n_steps = len(self.order), len(self.load)
        return MOST_BYTES // (8 * (9 * MOST_EACH + 4 * n_steps + 3 * n + 8) + 2 * n)

    def packed(
        self, width: int, weights: Weights, most_bytes: int, deadline: float, seed: int
    ) -> list[int] | None:
        """Return offsets with a peak below `most_bytes`; None if none is found or time is up.

        The beam has at most `width` states, or fewer if memory is short.
        """
        width = min(width, self._widest())
        n, bound = len(self.order), int(self.load.max())
        ways, then = self._ways(width), self._ways(width)
        ways.need[0], ways.least[0] = self.load, bound
        room = width * MOST_EACH
        moves = Moves(
            np.zeros((room, 6), np.int64),
            *(np.zeros(room), np.zeros(room), np.zeros(room, np.int64)),
        )
        keys = np.random.default_rng(seed).integers(1, 1 << 62, n)
        log = np.zeros((n, width, 3), np.int64)
        n_ways = 1
        for level in range(n):
            if now() >= deadline:
                return None
            n_moves = try_all(self.field, ways, n_ways, moves, keys, weights, bound, most_bytes)
            order = np.argsort(moves.cost[:n_moves])
            n_ways = follow_best(self.field, ways, then, moves, order, log[level])
            if not n_ways:
                return None
            ways, then = then, ways
        peaks = ways.sky[:n_ways].max(axis=1)
        return self._offsets(log, int(peaks.argmin())) if peaks.min() < most_bytes else None

    def _ways(self, width: int) -> Ways:
        n, n_steps = len(self.order), len(self.load)
        return Ways(
            *(np.zeros((width, n_steps), np.int64), np.zeros((width, n_steps), np.int64)),
            *(np.zeros((width, n), np.uint8), np.zeros(width), np.zeros(width)),
            *(np.zeros(width, np.int64), np.zeros(width, np.int64)),
        )

    def _offsets(self, log: np.ndarray, row: int) -> list[int]:
        """Reconstruct the offsets of the last level's state `row`.

        `log` has, for each level and row, the previous state, the placed block and its offset.
        """
        offsets = np.zeros(len(self.order), np.int64)
        for level in range(len(log) - 1, -1, -1):
            row, block, offset = log[level, row]
            offsets[self.order[block]] = offset
        return offsets.tolist()
