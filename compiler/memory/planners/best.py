"""A portfolio of planners under one time limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

from compiler.memory.planners.cp_sat import cp_sat
from compiler.memory.planners.exact import exact
from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.hill_climb import hill_climb
from compiler.memory.planners.linear_scan import linear_scan
from compiler.memory.planners.native import jit, now
from compiler.memory.planners.orders import (
    best_fit,
    first_fit,
    greedy_by_area,
    greedy_by_breadth,
    greedy_by_conflicts,
    greedy_by_halves,
    greedy_by_lifetime,
    greedy_by_size,
    greedy_by_span,
)
from compiler.memory.planners.place import MANY, VERY_MANY
from compiler.memory.planners.planner import Options, Outcome, Planner, planner
from compiler.memory.planners.research.annealed import annealed
from compiler.memory.planners.research.ejection import ejection
from compiler.memory.planners.research.joined import joined
from compiler.memory.planners.research.planar import planar
from compiler.memory.planners.research.rejoined import rejoined
from compiler.memory.planners.research.repair import improved, repair
from compiler.memory.planners.research.skyline import skyline
from compiler.memory.problem import Problem

ORDERS = (
    greedy_by_size,
    greedy_by_area,
    greedy_by_lifetime,
    greedy_by_span,
    best_fit,
    first_fit,
    greedy_by_conflicts,
    greedy_by_breadth,
    linear_scan,
)
SEARCHES = (
    (planar, 0.25),
    (joined, 0.1),
    (exact, 0.2),
    (annealed, 0.4),
    (rejoined, 0.3),
    (ejection, 0.8),
    (skyline, 0.5),
    (hill_climb, 0.5),
    (cp_sat, 1.0),
)
"""The searches that follow the greedy orders, each with its fraction of the remaining time."""

SEARCHED_THROUGH = 1000
"""With this number of blocks or more, `exact` seldom finishes, so its share of time is halved."""

LARGE_ORDERS = {
    greedy_by_halves: 1,
    greedy_by_span: 5,
    greedy_by_size: 20,
    greedy_by_lifetime: 20,
    best_fit: 20,
}
"""Planners for large problems, in order, each with its expected time as a multiple of the first
planner's time. A planner runs only if this time remains."""


@planner(
    searches=True,
    source="a portfolio: XLA's choice of the smallest heap, plus searches",
    example=FIVE_BUFFERS,
)
def best(problem: Problem, options: Options) -> Outcome:
    """Try all greedy orders, then searches, until a plan is optimal or fits, or until time is up.

    The outcome names the planner of the smallest plan, and has the reason for stopping and the
    proven bound. This planner is the default of `compilarium plan`.
    """
    deadline = options.deadline()
    if len(problem.blocks) >= MANY:
        return _best_of_many(problem, options, deadline)
    found = _best_order(ORDERS, problem, options, deadline)
    if options.capacity_bytes is not None and options.capacity_bytes < found.lower_bound_bytes:
        return replace(found, stopped="infeasible")
    for search, share in SEARCHES:
        left = deadline - now()
        if found.stopped != "finished" or left <= 0:
            break
        if search.needs and find_spec(search.needs) is None:
            continue
        if search is exact and len(problem.blocks) >= SEARCHED_THROUGH:
            share /= 2
        limited = replace(options, time_limit_s=left * share)
        found = _better(found, search.plan(problem, limited))
    return replace(found, stopped="time") if found.stopped == "finished" else found


def _best_of_many(problem: Problem, options: Options, deadline: float) -> Outcome:
    """Run `greedy_by_halves`, then `repair`.

    Without numba, or for VERY_MANY blocks or more, run greedy orders instead.
    """
    if len(problem.blocks) >= VERY_MANY or jit() is None:
        return _best_order(tuple(LARGE_ORDERS), problem, options, deadline)
    found = greedy_by_halves.plan(problem, options)
    left = deadline - now()
    if found.stopped != "finished" or left <= 0:
        return found
    better = improved(found, problem, replace(options, time_limit_s=left))
    if better is found:
        return replace(found, stopped="time")
    reason = "time" if better.stopped == "finished" else better.stopped
    return replace(better, stopped=reason, planner=repair.name)


def _best_order(
    planners: Sequence[Planner], problem: Problem, options: Options, deadline: float
) -> Outcome:
    """Return the best outcome of greedy planners; each runs only if a gap and time remain."""
    begin = now()
    found = planners[0].plan(problem, options)
    took = now() - begin if len(problem.blocks) >= MANY else 0.0
    for other in planners[1:]:
        if found.stopped != "finished":
            break
        if now() + took * LARGE_ORDERS.get(other, 0) > deadline:
            return replace(found, stopped="time")
        found = _better(found, other.plan(problem, options))
    return found


def _better(a: Outcome, b: Outcome) -> Outcome:
    """Combine two outcomes: the smaller plan, the larger bound, and the reason for stopping."""
    least = b if b.plan.peak_bytes < a.plan.peak_bytes else a
    bound = max(a.lower_bound_bytes, b.lower_bound_bytes)
    if least.plan.peak_bytes == bound:
        return replace(least, lower_bound_bytes=bound, stopped="optimal")
    known = {a.stopped, b.stopped} & {"within capacity", "infeasible"}
    return replace(least, lower_bound_bytes=bound, stopped=known.pop() if known else "finished")
