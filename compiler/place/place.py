"""Placement of tasks on a platform: a scheduler's decision, and its simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from compiler.errors import CompileError
from compiler.place.ahead import iterated, lookahead, peft
from compiler.place.best import best, portfolio
from compiler.place.heft import cpop, heft
from compiler.place.min_cut import min_cut
from compiler.place.optimum import cp_sat
from compiler.place.placement import Placement
from compiler.place.platform import Platform
from compiler.place.problem import Problem
from compiler.place.ready import READY
from compiler.place.schedule import Schedule
from compiler.place.scheduler import Scheduler
from compiler.place.simulate import Conduct, Stuck, simulate
from compiler.place.tasks import TaskGraph

SCHEDULERS: Mapping[str, Scheduler] = {
    s.name: s for s in (iterated, heft, lookahead, peft, cpop, *READY, min_cut, cp_sat, best)
}
"""All schedulers by name; the first is the default."""


def place(
    graph: TaskGraph,
    platform: Platform,
    *,
    scheduler: str = "iterated",
    conduct: Conduct | None = None,
    time_limit_s: float = 5.0,
) -> Schedule:
    """Assign tasks to devices, and simulate the run.

    If a memory is too small for the scheduler's decision, prefetches are delayed. If the delay does
    not free enough memory, the blocked task moves to another device, and `notes` reports the move.
    `time_limit_s` limits the first decision of a scheduler that searches; all further decisions
    together have the same time limit.
    Units: seconds. Errors: E-OPTION-VALUE for an unknown scheduler, or if the scheduler refuses the
    problem.
    """
    if scheduler not in SCHEDULERS:
        raise CompileError(
            "E-OPTION-VALUE",
            f"no scheduler is named {scheduler!r:.40}; schedulers: {', '.join(SCHEDULERS)}",
        )
    conduct = conduct or Conduct()
    given = problem = Problem(graph, platform)
    bound, notes = given.bound_seconds, list[str]()
    left_s = time_limit_s
    while True:
        placement = _decided(problem, scheduler, conduct, left_s)
        if problem is given:  # Bounds of restricted problems do not hold in general.
            bound = max(bound, placement.bound_seconds)
        try:
            made = within_room(problem, placement, conduct)
        except Stuck as e:
            left_s /= 2  # All attempts together take at most twice the limit.
            order = placement.orders[e.device]
            at = order.index(e.task)
            # Doubling the number of moved tasks limits the number of attempts.
            away = order[at : at + 2 ** (len(notes) // 2)]
            problem = replace(problem, refused=problem.refused | {(t, e.device) for t in away})
            notes.append(f"{', '.join(away)} cannot run on {e.device}: its memory is full")
            continue
        if made.ahead != conduct.ahead:
            notes.append(
                f"operands are prefetched {made.ahead} tasks ahead: memory permits no more"
            )
        return replace(made, bound_seconds=bound, notes=(*made.notes, *notes))


def _decided(problem: Problem, scheduler: str, conduct: Conduct, limit_s: float) -> Placement:
    if scheduler == best.name:
        return portfolio(problem, limit_s, lambda p, x: _makespan(p, x, conduct))
    return SCHEDULERS[scheduler].decide(problem, limit_s)


def _makespan(problem: Problem, placement: Placement, conduct: Conduct) -> float:
    try:
        return simulate(problem, placement, conduct).makespan_seconds
    except Stuck:
        return math.inf


LESS_AHEAD = (8, 3, 1)


def within_room(problem: Problem, placement: Placement, conduct: Conduct) -> Schedule:
    """Simulate with the requested prefetch distance, or the largest that memory permits."""
    asked = conduct.ahead
    on_demand = simulate(problem, placement, replace(conduct, ahead=0))
    for ahead in (asked, *(a for a in LESS_AHEAD if asked is None or a < asked)):
        try:
            return simulate(problem, placement, replace(conduct, ahead=ahead))
        except Stuck:
            continue
    return on_demand
