"""The planner that compilation uses: deterministic, and usually finished within milliseconds."""

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
"""Hill climbing makes ATTEMPTS attempts; if the gap then exceeds GAP, it continues up to
MOST_ATTEMPTS."""

MOST_PAIRS = 5_000_000
"""Maximum number of pairs of blocks that all attempts together compare: about 0.2 s."""

MOST_NODES = 20_000
"""Maximum number of nodes (partial packings) of the complete search: usually 0.1 s."""


@planner(
    source="greedy by size and the other orders of heap_simulator, then hill_climb, then exact",
    example=FOUR_BUFFERS,
)
def quick(problem: Problem, options: Options) -> Outcome:
    """Try four greedy orders, then hill climbing and a search while the gap exceeds 1 %.

    Compilation uses this planner: it limits the number of attempts instead of seconds, so its plans
    are deterministic. On neural networks, the four greedy orders are nearly always optimal. If many
    branches are live at once, complete search usually reaches the lower bound in a few hundred
    steps.
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
    """Return the best offsets of a fixed number of climbing attempts; empty for too many blocks."""
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
    """Return offsets within the capacity or at the lower bound, by a short search; () if none."""
    # Most programs need neither numpy nor the search.
    from compiler.memory.planners.exact.search import packed_within

    wanted = options.wanted_bytes(problem)
    return packed_within(problem, wanted, MOST_NODES, options.seed) or ()
