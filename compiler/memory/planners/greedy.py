"""The best plan of a few greedy orders: the initial plan of `quick` and of all searches."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.memory.planners.examples import FOUR_BUFFERS
from compiler.memory.planners.keys import Key, by, by_area, by_lifetime, by_size, by_start
from compiler.memory.planners.orders import greedy_by_halves
from compiler.memory.planners.place import MANY, Fit, place
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem

QUICK: Sequence[tuple[Key, Fit]] = (
    (by_size, "best"),
    (by_area, "best"),
    (by_lifetime, "best"),
    (by_start, "best"),
)
"""Orders and fits to try; the best order for most problems is first."""

FEWEST_SECONDS = 0.05
"""The shortest time limit, in seconds, for which a search is started."""


def best_of(problem: Problem, options: Options, tries: Sequence[tuple[Key, Fit]]) -> Outcome:
    """Return the smallest plan of several orders; each later order runs only if a gap remains."""
    best: Outcome | None = None
    wanted = options.wanted_bytes(problem)
    for key, fit in tries:
        found = placed(problem, place(problem.blocks, by(key, problem.blocks), fit), options)
        if best is None or found.plan.peak_bytes < best.plan.peak_bytes:
            best = found
        if found.plan.peak_bytes <= wanted:
            break
    assert best is not None
    return best


def start_of(problem: Problem, options: Options) -> Outcome:
    """Return the initial plan of searches: the best of four orders, or of one for many blocks."""
    if len(problem.blocks) >= MANY:
        return greedy_by_halves.plan(problem, options)
    return best_of(problem, options, QUICK)


def is_open(start: Outcome, problem: Problem, options: Options) -> bool:
    """Return whether a search may improve a plan that is not known to be optimal.

    A search needs `FEWEST_SECONDS`, and fewer than `MANY` blocks, none of them pinned.
    """
    return (
        start.stopped == "finished"
        and len(problem.blocks) < MANY
        and options.time_limit_s >= FEWEST_SECONDS
        and all(b.pinned < 0 for b in problem.blocks)
    )


@planner(
    source="the orders of greedy_by_size and of XLA's heap simulator, plus area",
    example=FOUR_BUFFERS,
)
def greedy(problem: Problem, options: Options) -> Outcome:
    """Choose the best of four orders: by size, by size times lifetime, by lifetime, by start.

    Later orders run only while a gap to the lower bound remains. Fast on neural networks, where the
    first order is nearly always optimal.
    """
    return best_of(problem, options, QUICK)
