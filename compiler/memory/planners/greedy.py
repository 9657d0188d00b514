"""The best plan of a few orders: what programs, and searches, start from."""

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
"""Orders worth a try, the best for most problems first."""

FEWEST_SECONDS = 0.05
"""A search with less time than this would not begin."""


def best_of(problem: Problem, options: Options, tries: Sequence[tuple[Key, Fit]]) -> Outcome:
    """The smallest of the plans of several orders; later ones only while there is a gap."""
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
    """What searches start from: the best of four orders, for very many blocks one that is fast."""
    if len(problem.blocks) >= MANY:
        return greedy_by_halves.plan(problem, options)
    return best_of(problem, options, QUICK)


def is_open(start: Outcome, problem: Problem, options: Options) -> bool:
    """Whether a search that places each block anywhere has a gap to close, and the time for it."""
    return (
        start.stopped == "finished"
        and len(problem.blocks) < MANY
        and options.time_limit_s >= FEWEST_SECONDS
        and all(b.pinned < 0 for b in problem.blocks)
    )


@planner(
    source="the orders of greedy_by_size and of XLA's heap simulator, and area besides",
    example=FOUR_BUFFERS,
)
def greedy(problem: Problem, options: Options) -> Outcome:
    """The best of four orders: by size, by size times lifetime, by lifetime, by start.

    Later orders are tried only where a gap to the lower bound is left, so that it costs next to
    nothing on networks, where the first is optimal nearly always.
    """
    return best_of(problem, options, QUICK)
