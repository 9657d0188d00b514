"""Blocks joined to ever fewer rectangles: what was joined wrongly is taken apart again.

A pair that was joined by accident keeps others from what they belong to. So the joints at one
step are undone, not all of them, and made anew in an order that is blurred a little. That is kept
where no more rectangles are left than before, and now and then where there are. All blocks in one
rectangle are a plan without a gap, whether they were cut like that or not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache

from compiler.memory.buffer import Block, live_bytes
from compiler.memory.planners.joining import BOLD, RECKLESS, Joined, Joining, whole
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options
from compiler.memory.planners.spare import spare_blocks
from compiler.memory.problem import Problem

UNDONE = (0.1, 0.2, 0.4, 0.8)
"""What part of the joints at a step is undone, in turn."""

MOST_SPARE = 0.5
"""Where spare memory is more blocks than this part of the others, it is not known well enough."""

INNER = 0.3
"""With this chance what is undone is chosen among all steps, not where a rectangle begins or ends:
there, none may be alive any more that could be taken apart."""

BLUR = 1.0
"""Spread of the factors, as powers of e, by which chances are off."""

MOST_CHANCES = (BOLD, RECKLESS)
"""How much is joined anew, by turns of all parts: some problems need the one, some the other."""

WORSE = 0.1
"""With this chance what leaves one rectangle more is kept; for two more, it is its square."""

TRIAL, LEFT = 1 / 6, 0.9
"""Where more than this part of them is left after that part of the time, it is given up."""

MOST_KNOWN = 100_000
"""Equal sums that are kept; then they are counted anew."""


def rejoining(problem: Problem, options: Options) -> Rejoining:
    """What is known of a problem's blocks by now, with spare memory as blocks besides (spare.py).

    The last problem's is kept, for several planners of a portfolio go on with it.
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
    """The fewest rectangles so far of blocks that may lie anywhere, and of spare memory."""

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
        """The fewest that were found, without those of spare memory alone."""
        n = self._n_blocks
        return tuple(j for j in self._fewest if any(i < n for i, _ in j.parts))

    def take_over(self, rectangles: tuple[Joined, ...]) -> bool:
        """Take rectangles of all `blocks` that somebody else found; whether they are fewer."""
        fewer = len(rectangles) < len(self._fewest)
        if fewer:
            self._fewest = rectangles
        return fewer

    def go_on(self, until: float, patience: int) -> None:
        """Until a time, until one is left, or until so many tries in a row led to no fewer.

        Where memory is spare, blocks that belong together are not all of one lifetime, and hardly
        any are joined: then the time is left to others.
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
        """Undo and join again at one step."""
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
    """The rectangles that it was joined from, until none of them is joined at a step."""
    if rectangle.before and rectangle.start < step < rectangle.end:
        for inner in (*rectangle.before, *rectangle.behind):
            yield from _apart_at(inner, step)
    else:
        yield rectangle
