"""Repeated joining into fewer rectangles, with wrong joins undone.

A wrong join prevents correct joins of the same blocks. Therefore some joins at one step are undone,
and blocks are joined again in a slightly randomised order. The result is accepted if it has no more
rectangles than before, and sometimes if it has more. If all blocks form one rectangle, this
rectangle is a plan without a gap, even if the blocks were not cut from it in this way.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache

from compiler.memory.buffer import Block, live_bytes
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.joining import BOLD, RECKLESS, Joined, Joining, whole
from compiler.memory.planners.research.spare import spare_blocks
from compiler.memory.problem import Problem

UNDONE = (0.1, 0.2, 0.4, 0.8)
"""Fractions of the joins at a step that are undone, in order."""

MOST_SPARE = 0.5
"""Largest number of blocks of spare memory, as a fraction of the number of other blocks."""

INNER = 0.3
"""Probability of undoing joins at a random step instead of the start or end of a rectangle. At
starts and ends of rectangles, all live rectangles may be single blocks."""

BLUR = 1.0
"""Standard deviation of the log-normal noise on expected numbers of chance matches."""

MOST_CHANCES = (BOLD, RECKLESS)
"""Joining thresholds, alternating after each round of the fractions UNDONE: some problems need the
first threshold, others the second."""

WORSE = 0.1
"""Probability of accepting a result with one rectangle more; squared for two more."""

TRIAL, LEFT = 1 / 6, 0.9
"""TRIAL is a fraction of the time: after it, joining stops if more than LEFT rectangles per block
remain."""

MOST_KNOWN = 100_000
"""Maximum number of cached equal sums; the cache is cleared beyond it."""


def rejoining(problem: Problem, options: Options) -> Rejoining:
    """Return the joining state of a problem's blocks, with spare memory as blocks (spare.py).

    The state of the last problem is cached, since several planners of a portfolio continue it.
    """
    blocks = whole(problem.blocks)
    unit = max(b.alignment_bytes for b in blocks)
    capacity = max(options.wanted_bytes(problem) // unit * unit, live_bytes(blocks))
    return _rejoining(tuple(blocks), capacity, options.seed)


@lru_cache(maxsize=1)
def _rejoining(blocks: tuple[Block, ...], capacity_bytes: int, seed: int) -> Rejoining:
    spare = spare_blocks(blocks, capacity_bytes)
    return Rejoining(blocks, spare if len(spare) <= MOST_SPARE * len(blocks) else (), seed)


class Rejoining:
    """The smallest set of rectangles so far, of unpinned blocks and of spare memory."""

    def __init__(self, blocks: Sequence[Block], spare: Sequence[Block], seed: int) -> None:
        self.blocks = [*blocks, *spare]
        self._n_blocks = len(blocks)
        self._steps = sorted({step for b in blocks for step in (b.start, b.end)})
        self._joining = Joining(self.blocks)
        self._joining.join(BOLD)
        self._fewest = self._joining.rectangles()
        self._chance = random.Random(seed)
        self._tries = 0

    def rectangles(self) -> tuple[Joined, ...]:
        """Return the smallest set of rectangles found, without rectangles of only spare memory."""
        n = self._n_blocks
        return tuple(j for j in self._fewest if any(i < n for i, _ in j.parts))

    def take_over(self, rectangles: tuple[Joined, ...]) -> bool:
        """Adopt rectangles of all `blocks` if fewer than so far; return whether adopted."""
        fewer = len(rectangles) < len(self._fewest)
        if fewer:
            self._fewest = rectangles
        return fewer

    def go_on(self, until: float, patience: int) -> None:
        """Continue until a deadline, one rectangle, or `patience` attempts without a reduction.

        With spare memory, adjacent blocks differ in lifetimes, and few of them are joined. If few
        blocks are joined, other planners get the remaining time.
        """
        begin, many, idle = now(), LEFT * len(self._fewest), 0
        trial_end = begin + TRIAL * (until - begin)
        while len(self._fewest) > 1 and idle < patience and now() < until:
            if len(self._fewest) > many and now() > trial_end:
                break
            idle += 1
            self._try()
            if len(self._joining.pool) < len(self._fewest):
                self._fewest, idle = self._joining.rectangles(), 0

    def _try(self) -> None:
        """Undo joins at one step, and join again."""
        joining, chance = self._joining, self._chance
        before = set(joining.pool)
        rectangles = joining.rectangles()
        mark = chance.choice(rectangles)
        inner = chance.random() < INNER
        step = chance.choice(self._steps if inner else (mark.start, mark.end))
        turn, at = divmod(self._tries, len(UNDONE))
        self._tries += 1
        over = [j for j in rectangles if j.start < step < j.end]
        undone = [j for j in over if chance.random() < UNDONE[at]]
        pieces = [piece for j in undone for piece in _apart_at(j, step)]
        joining.exchange(undone, pieces)
        near = {step, *(j.start for j in pieces), *(j.end for j in pieces)}
        most_chance = MOST_CHANCES[turn % len(MOST_CHANCES)]
        joining.join(most_chance, near, lambda: math.exp(chance.gauss(0, BLUR)))
        more = len(joining.pool) - len(before)
        if more > 0 and chance.random() >= WORSE**more:
            joining.exchange(joining.pool - before, before - joining.pool)
        joining.forget(MOST_KNOWN)


def _apart_at(rectangle: Joined, step: int) -> Iterator[Joined]:
    """Undo joins of a rectangle until no joined part spans a step; yield the parts."""
    if rectangle.before and rectangle.start < step < rectangle.end:
        for inner in (*rectangle.before, *rectangle.behind):
            yield from _apart_at(inner, step)
    else:
        yield rectangle
