"""The shortest schedule of a small graph by constraint programming, with its optimality gap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from compiler.errors import CompileError
from compiler.place.ahead import iterated, lookahead, peft
from compiler.place.heft import FORK, heft
from compiler.place.placement import Placement
from compiler.place.problem import Problem
from compiler.place.scheduler import scheduler
from compiler.place.timeline import by_order

TICKS = 1_000_000
"""The number of integer ticks in the length of the best list schedule; times are whole ticks. Times
are rounded down, so the lower bound is valid for the original problem."""

MOST_TASKS = 400
"""The maximum number of tasks, because building larger models takes too long."""


@scheduler(
    source="CP-SAT of OR-Tools: Perron, Didier and Gay 2023, CP",
    quick=False,
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, c 2.0..5.0, d 6.000002..8.000002
      core1: b 2.000001..6.000001
    }
    """,
)
def cp_sat(problem: Problem, limit_s: float) -> Placement:
    """The shortest schedule; at the time limit, the best schedule found and a lower bound.

    Each task has an optional interval on each device that can run it, and exactly one of these
    intervals is chosen. Intervals on a device do not overlap, and a reader starts after its
    operands arrive. For some dozens of tasks, the solver finds the optimum in seconds.
    """
    if problem.n > MOST_TASKS:
        raise CompileError(
            "E-OPTION-VALUE",
            f"cp_sat is limited to {MOST_TASKS} tasks, got {problem.n}",
            hint="use iterated or best",
        )
    starts = [s.decide(problem, limit_s) for s in (heft, lookahead, peft, iterated)]
    first = min(starts, key=lambda p: finished(problem, p))
    longest = finished(problem, first)
    if not longest:
        return Placement(first.slots, problem.bound_seconds)
    return _Model(problem, first, longest / TICKS).solved(limit_s)


def finished(problem: Problem, placement: Placement) -> float:
    """Return the time when all results are in the home memory, by the placement's own times."""
    number = {d.name: i for i, d in enumerate(problem.platform.devices)}
    pairs = enumerate(placement.slots)
    return max((s.end + problem.tail[t][number[s.device]] for t, s in pairs), default=0.0)


def cp_model() -> Any:
    """Import the module of OR-Tools. Errors: E-OPTION-VALUE if OR-Tools is not installed."""
    try:
        from ortools.sat.python import cp_model as module
    except ImportError as e:
        raise CompileError(
            "E-OPTION-VALUE",
            f"this scheduler needs OR-Tools, which cannot be imported: {e}",
            hint="install the package ortools, or use iterated or best",
        ) from e
    return module


class _Model:
    """The variables and constraints of a problem; `tick` is the unit of time, in seconds."""

    def __init__(self, problem: Problem, first: Placement, tick: float) -> None:
        self.p, self.first, self.tick = problem, first, tick
        self.cp = cp_model()
        self.model = self.cp.CpModel()
        n = problem.n
        self.start = [self.model.new_int_var(0, TICKS, f"s{t}") for t in range(n)]
        self.end = [self.model.new_int_var(0, TICKS, f"e{t}") for t in range(n)]
        self.last = self.model.new_int_var(0, TICKS, "last")
        self.at: list[Mapping[int, Any]] = [
            {d: self.model.new_bool_var(f"x{t}.{d}") for d in problem.able[t]} for t in range(n)
        ]
        self._tasks()
        self._transfers()
        self._hints()
        self.model.minimize(self.last)

    def _ticks(self, seconds: float) -> int:
        # A time beyond the horizon becomes the horizon plus one tick, which stands for infinity.
        return math.floor(min(seconds / self.tick, TICKS + 1))

    def _tasks(self) -> None:
        p, model = self.p, self.model
        on: list[list[Any]] = [[] for _ in p.devices]
        for t in range(p.n):
            model.add_exactly_one(self.at[t].values())
            for d, chosen in self.at[t].items():
                length = self._ticks(p.seconds[t][d])
                whole = (self.start[t], length, self.end[t], chosen, f"i{t}.{d}")
                on[d].append(model.new_optional_interval_var(*whole))
                model.add(self.start[t] >= self._ticks(p.head[t][d])).only_enforce_if(chosen)
                tail = self._ticks(p.tail[t][d])
                model.add(self.last >= self.end[t] + tail).only_enforce_if(chosen)
        for intervals in on:
            model.add_no_overlap(intervals)
        model.add(self.last >= self._ticks(p.bound_seconds))
        for d in p.devices:  # The work of each device fits in the makespan.
            load = [self._ticks(p.seconds[t][d]) * at[d] for t, at in enumerate(self.at) if d in at]
            model.add(sum(load) <= self.last)

    def _transfers(self) -> None:
        p, model = self.p, self.model
        for v in range(p.n):
            for u, nbytes in p.before[v]:
                model.add(self.start[v] >= self.end[u])
                for a, from_a in self.at[u].items():
                    for b, to_b in self.at[v].items():
                        delay = self._ticks(p.delay(nbytes, a, b))
                        if delay:
                            later = model.add(self.start[v] >= self.end[u] + delay)
                            later.only_enforce_if([from_a, to_b])

    def _hints(self) -> None:
        number = {d.name: i for i, d in enumerate(self.p.platform.devices)}
        for t, slot in enumerate(self.first.slots):
            self.model.add_hint(self.start[t], self._ticks(slot.start))
            for d, chosen in self.at[t].items():
                self.model.add_hint(chosen, int(number[slot.device] == d))

    def solved(self, limit_s: float) -> Placement:
        solver = self.cp.CpSolver()
        solver.parameters.max_time_in_seconds = max(limit_s, 0.01)
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        status = solver.solve(self.model)
        bound = max(solver.best_objective_bound * self.tick, self.p.bound_seconds)
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return Placement(self.first.slots, max(bound, 0.0), ("CP-SAT: no schedule in time",))
        device = [next(d for d, x in at.items() if solver.value(x)) for at in self.at]
        times = [(solver.value(self.start[t]), solver.value(self.end[t])) for t in range(self.p.n)]
        order = sorted(range(self.p.n), key=times.__getitem__)
        found = by_order(self.p, order, device)
        if finished(self.p, found) > finished(self.p, self.first):
            found = self.first
        is_optimal = status == self.cp.OPTIMAL
        words = "CP-SAT: optimal" if is_optimal else "CP-SAT: time limit reached"
        return Placement(found.slots, min(bound, finished(self.p, found)), (words,))
