"""A portfolio of schedulers, and local search that improves the best result."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace

from compiler.errors import CompileError
from compiler.place.ahead import iterated, lookahead, peft
from compiler.place.heft import FORK, cpop, heft, ranked
from compiler.place.min_cut import min_cut
from compiler.place.optimum import cp_sat, finished
from compiler.place.placement import Placement
from compiler.place.problem import Problem
from compiler.place.ready import READY
from compiler.place.scheduler import scheduler
from compiler.place.timeline import by_order

QUICK = (heft, iterated, lookahead, peft, cpop, *READY, min_cut)
"""The schedulers that `best` tries for each graph."""

SMALL = 60
"""The maximum number of tasks for which the portfolio includes the search for an optimum."""

Measure = Callable[[Problem, Placement], float]
"""A function that returns the cost of a placement in seconds; infinite if infeasible."""


@scheduler(
    source="a portfolio, then local search over devices and orders",
    quick=False,
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, c 2.0..5.0, d 6.000002..8.000002
      core1: b 2.000001..6.000001
    }
    """,
)
def best(problem: Problem, limit_s: float) -> Placement:
    """The best schedule of all schedulers, improved by local search within the time limit.

    The portfolio contains all quick schedulers and, for small graphs, the search for an optimum.
    Local search then changes the devices and the order of tasks, and accepts changes that do not
    lengthen the schedule.
    """
    return portfolio(problem, limit_s, finished)


def portfolio(problem: Problem, limit_s: float, measure: Measure) -> Placement:
    """Run `best` with any cost function, such as a simulated run with contention on links."""
    end = time.monotonic() + limit_s
    bound = problem.bound_seconds
    quick = [s.decide(problem, 0.0) for s in QUICK]
    found = [(measure(problem, p), i, p) for i, p in enumerate(quick)]
    notes: tuple[str, ...] = ()
    if problem.n <= SMALL and min(found)[0] > bound:
        try:
            exact = cp_sat.decide(problem, limit_s / 2)
            bound = max(bound, exact.bound_seconds)
            found.insert(0, (measure(problem, exact), -1, exact))
        except CompileError as e:
            notes = (e.message,)
    seconds, _, placement = min(found)
    placement = _descent(problem, placement, seconds, end, bound, measure)
    return replace(placement, bound_seconds=bound, notes=notes)


CHANGES = 20_000
"""The maximum number of changes. Unlike a time limit, this number does not depend on the speed of
the machine."""


def _descent(
    p: Problem, placement: Placement, seconds: float, end: float, bound: float, measure: Measure
) -> Placement:
    """Improve a placement by random changes (with a fixed seed) that do not increase its cost."""
    number = {d.name: i for i, d in enumerate(p.platform.devices)}
    device = [number[s.device] for s in placement.slots]
    rank = [float(-s.start) for s in placement.slots]
    chance = random.Random(1)
    for _ in range(CHANGES):
        if seconds <= bound * (1 + 1e-9) or time.monotonic() > end or not p.n:
            break
        new_device, new_rank = list(device), list(rank)
        for _ in range(chance.randint(1, 3)):
            t = chance.randrange(p.n)
            if chance.random() < 0.6:
                new_device[t] = chance.choice(p.able[t])
            else:
                new_rank[t] = rank[chance.randrange(p.n)] + chance.uniform(-1e-9, 1e-9) * seconds
        tried = by_order(p, ranked(p, new_rank), new_device)
        took = measure(p, tried)
        if took <= seconds:
            device, rank, seconds, placement = new_device, new_rank, took, tried
    return placement
