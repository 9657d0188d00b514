"""What programs are planned with while they are compiled: milliseconds, and the same every time."""

from __future__ import annotations

import itertools

from compiler.memory.planners.examples import FOUR_BUFFERS
from compiler.memory.planners.hill_climb import climb
from compiler.memory.planners.orders import QUICK, best_of
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


@planner(
    source="greedy by size and the other orders of heap_simulator, then hill_climb",
    example=FOUR_BUFFERS,
)
def quick(problem: Problem, options: Options) -> Outcome:
    """The best of four orders, and where that leaves a gap above 1 %, a few attempts to climb.

    What programs are planned with: it counts attempts and not seconds, so that a program is the
    same each time it is compiled. On networks the orders are optimal nearly always.
    """
    found = best_of(problem, options, QUICK)
    blocks = problem.blocks
    attempts = min(MOST_ATTEMPTS, MOST_PAIRS // max(1, len(blocks) ** 2))
    if found.stopped != "finished" or found.gap <= GAP or not attempts:
        return found
    wanted = options.wanted_bytes(problem)
    tries = climb(blocks, lambda order: place(blocks, order, "first"), options.seed)
    best: list[int] = []
    good = (1 + GAP) * problem.lower_bound_bytes
    for attempt, (peak, offsets) in enumerate(itertools.islice(tries, attempts), 1):
        best = offsets
        if peak <= wanted or (attempt >= ATTEMPTS and peak <= good):
            break
    climbed = placed(problem, best, options)
    return climbed if climbed.plan.peak_bytes < found.plan.peak_bytes else found
