"""The planner of compiled programs: deterministic, within milliseconds."""

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
"""The largest relative gap between plan and lower bound for which no search runs."""

ATTEMPTS = 100
MOST_ATTEMPTS = 500
"""The number of hill climbing attempts if the gap is then small, and the maximum otherwise."""

MOST_PAIRS = 5_000_000
"""Number of compared pairs of blocks after which attempts end: about 0.2 s."""

MOST_NODES = 20_000
"""Largest number of partial packings in the complete search: usually 0.1 s."""


@planner(
    source="greedy by size and the other orders of heap_simulator, then hill_climb, then exact",
    example=FOUR_BUFFERS,
)
def quick(problem: Problem, options: Options) -> Outcome:
    """Try four greedy orders, then hill climbing and a search while the gap exceeds 1 %.

    The planner of compiled programs: it limits attempts instead of seconds, so compilation is
    deterministic. On networks, the four greedy orders are nearly always optimal. With many live
    branches, complete search usually reaches the lower bound in a few hundred steps.
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
    """Return the best offsets of a fixed number of climbing attempts; () for too many blocks."""
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
    """Return offsets as low as the bound, if found within a fixed number of nodes; else ()."""
    # Most programs need neither numpy nor the search.
    from compiler.memory.planners.exact.search import packed_within

    wanted = options.wanted_bytes(problem)
    return packed_within(problem, wanted, MOST_NODES, options.seed) or ()
