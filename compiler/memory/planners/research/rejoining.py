"""Repeated joining into fewer rectangles, with wrong joins undone (ruin and recreate).

A wrong join prevents correct joins of the same blocks. Therefore each try undoes some of the joins
across one step, and joins the blocks again in a slightly randomised order. The result is accepted
if it has no more rectangles than before, and sometimes if it has more. If all blocks form one
rectangle, this rectangle is a plan without a gap, even if the blocks were cut in another way.
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
"""Probabilities of undoing each join across the chosen step; successive tries use successive
values."""

MOST_SPARE = 0.5
"""Largest number of blocks of spare memory, as a fraction of the number of other blocks."""

INNER = 0.3
"""Probability that a try chooses any step instead of a step at which a rectangle starts or ends. At
a start or end, there may be no join to undo."""

BLUR = 1.0
"""Expected numbers of chance matches are multiplied by log-normal factors; this is the standard
deviation of their logarithms."""

MOST_CHANCES = (BOLD, RECKLESS)
"""Limits on the expected number of chance matches of a join. They alternate after each pass through
UNDONE, because some problems need the first limit, others the second."""

WORSE = 0.1
"""Probability of accepting a result with one rectangle more; squared for two more."""

TRIAL, LEFT = 1 / 6, 0.9
"""After the fraction TRIAL of the time, joining stops if more than the fraction LEFT of the initial
rectangles remain."""

MOST_KNOWN = 100_000
"""Maximum number of cached equal sums; the cache is cleared beyond it."""


def rejoining(problem: Problem, options: Options) -> Rejoining:
    """Return the state of joining for a problem's blocks, with spare memory as blocks (spare.py).

    The state for the last problem is cached, since several planners of a portfolio continue it.
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
    """The smallest set of rectangles found so far, for unpinned blocks and spare memory."""

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
        """Return the smallest set of rectangles found, except those that are only spare memory."""
        n = self._n_blocks
        return tuple(j for j in self._fewest if any(i < n for i, _ in j.parts))

    def take_over(self, rectangles: tuple[Joined, ...]) -> bool:
        """Adopt other rectangles of all `blocks` if they are fewer; return whether adopted."""
        fewer = len(rectangles) < len(self._fewest)
        if fewer:
            self._fewest = rectangles
        return fewer

    def go_on(self, until: float, patience: int) -> None:
        """Continue until a deadline, one rectangle, or `patience` tries without a reduction.

        Joining stops early if few blocks are joined, so that other planners get the remaining time.
        With spare memory, adjacent blocks differ in lifetimes, so few of them are joined.
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
        """Undo some joins across one step, and join again around them."""
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
    """Undo the joins of a rectangle across a step; yield the resulting smaller rectangles."""
    if rectangle.before and rectangle.start < step < rectangle.end:
        for inner in (*rectangle.before, *rectangle.behind):
            yield from _apart_at(inner, step)
    else:
        yield rectangle
