"""What programs are planned with while they are compiled: milliseconds, and the same every time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from compiler.memory.planners.examples import FOUR_BUFFERS
from compiler.memory.planners.greedy import QUICK, best_of
from compiler.memory.planners.hill_climb import climb
from compiler.memory.planners.place import place
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem

GAP = 0.01
"""A plan within this of the bound is good enough."""

ATTEMPTS = 100
MOST_ATTEMPTS = 500
"""So many attempts to climb are made, and up to so many where the gap is still too large."""

MOST_PAIRS = 5_000_000
"""Attempts end when so many pairs of blocks were compared: about a fifth of a second."""

MOST_NODES = 20_000
"""Partial packings that the complete search may look at: mostly a tenth of a second."""


@planner(
    source="greedy by size and the other orders of heap_simulator, then hill_climb, then exact",
    example=FOUR_BUFFERS,
)
def quick(problem: Problem, options: Options) -> Outcome:
    """The best of four greedy orders, then hill climbing and a search while the gap exceeds 1 %.

    What programs are planned with: it counts attempts and not seconds, so that a program is the
    same each time it is compiled. On networks the orders are optimal nearly always. Where many
    branches live together, complete search mostly finds a plan without a gap in some hundred steps.
    """
    found = best_of(problem, options, QUICK)
    for improve in (_climbed, _searched):
        if found.stopped != "finished" or found.gap <= GAP:
            break
        offsets = improve(problem, options)
        if offsets:
            better = placed(problem, offsets, options)
            found = better if better.plan.peak_bytes < found.plan.peak_bytes else found
    return found


def _climbed(problem: Problem, options: Options) -> Sequence[int]:
    """The best offsets of a counted number of attempts to climb; none for too many blocks."""
    blocks = problem.blocks
    attempts = min(MOST_ATTEMPTS, MOST_PAIRS // max(1, len(blocks) ** 2))
    wanted = options.wanted_bytes(problem)
    good = (1 + GAP) * problem.lower_bound_bytes
    tries = climb(blocks, lambda order: place(blocks, order, "first"), options.seed)
    best: list[int] = []
    for attempt, (peak, offsets) in enumerate(itertools.islice(tries, attempts), 1):
        best = offsets
        if peak <= wanted or (attempt >= ATTEMPTS and peak <= good):
            break
    return best


def _searched(problem: Problem, options: Options) -> Sequence[int]:
    """Offsets without a gap, if a counted number of steps of the complete search finds them."""
    # numpy and the search are not needed by most programs.
    from compiler.memory.planners.exact.search import packed_within

    wanted = options.wanted_bytes(problem)
    return packed_within(problem, wanted, MOST_NODES, options.seed) or ()
