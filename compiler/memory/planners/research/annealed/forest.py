"""Simulated annealing of a forest of joins: temperatures, arrays, and remaining rectangles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from compiler.memory.buffer import Block
from compiler.memory.planners.native import now
from compiler.memory.planners.research.annealed.joins import (
    BEHIND,
    CHILD,
    COLUMNS,
    END,
    ROOTS,
    SIBLING,
    SIZE,
    START,
    UNUSED,
    Forest,
    anneal,
)
from compiler.memory.planners.research.joining import Joined, apart, over

HOT, COLD, FROZEN = 1.6, 0.4, 0.1
"""Temperatures at which an attempt to undo a join of two rectangles succeeds with probability 1/2,
1/12, or almost never."""

FIRST_MOVES = 2000
"""Moves per block in the first cooling; each later cooling has twice as many, up to MOST_MOVES."""

MOST_MOVES = 64_000
"""Maximum number of moves per block in a cooling: longer coolings gain less than new ones."""

ROUND = 5000
"""Moves between checks of the clock: about 1 ms of compiled code, 0.1 s interpreted."""


class Annealing:
    """Repeated simulated annealing of the joins between unpinned blocks."""

    def __init__(self, blocks: Sequence[Block], seed: int) -> None:
        self.blocks = apart(blocks)
        rows = np.array([(j.start, j.end, j.size) for j in self.blocks], np.int64)
        steps = np.unique(rows[:, :2])
        rows[:, :2] = np.searchsorted(steps, rows[:, :2])
        self._rows, self._n_steps = rows, len(steps)
        self._chance = np.random.default_rng(seed)

    def coolings(self, until: float) -> Iterator[tuple[Joined, ...]]:
        """Yield the rectangles after each cooling, until the time limit."""
        moves = FIRST_MOVES * len(self.blocks)
        while (begin := now()) < until:
            forest, made = self._apart(), 0
            while made < moves and (left := until - now()) > 0:
                # Cool faster if the time limit permits fewer moves.
                part = max(made / moves, 1 - left / (until - begin))
                if anneal(forest, ROUND, HOT * (COLD / HOT) ** part) == 1:
                    break
                made += ROUND
            anneal(forest, ROUND, FROZEN)
            yield self._rectangles(forest)
            moves = min(2 * moves, MOST_MOVES * len(self.blocks))

    def _apart(self) -> Forest:
        n = len(self.blocks)
        nodes = np.full((2 * n, COLUMNS), -1, np.int64)
        nodes[:n, [START, END, SIZE]] = self._rows
        lists = np.zeros((2, 2 * n), np.int64)
        lists[UNUSED, :n] = np.arange(n, 2 * n)
        count = np.array([0, n, self._chance.integers(1, 1 << 62)], np.int64)
        steps = np.full((self._n_steps, 2), -1, np.int64)
        return Forest(nodes, steps, lists, np.zeros((4, n), np.int64), count)

    def _rectangles(self, forest: Forest) -> tuple[Joined, ...]:
        roots = forest.lists[ROOTS, : forest.count[ROOTS]].tolist()
        order = list(roots)
        for node in order:
            order += _children(forest, node)
        made: dict[int, Joined] = {}
        for node in reversed(order):
            inner = _children(forest, node)
            if inner:
                before = tuple(made[i] for i in inner if not forest.nodes[i, BEHIND])
                behind = tuple(made[i] for i in inner if forest.nodes[i, BEHIND])
                made[node] = over(before, behind)
            else:
                made[node] = self.blocks[node]
        return tuple(sorted((made[i] for i in roots), key=lambda j: (j.start, j.end, j.parts)))


def _children(forest: Forest, node: int) -> list[int]:
    found: list[int] = []
    child = int(forest.nodes[node, CHILD])
    while child >= 0:
        found.append(child)
        child = int(forest.nodes[child, SIBLING])
    return found
