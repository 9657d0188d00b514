"""Partial schedules of list schedulers: possible and assigned times of tasks."""

from __future__ import annotations

import math
from bisect import bisect_left, insort

from compiler.place.placement import Placement, Slot
from compiler.place.problem import Problem


class Timeline:
    """A partial schedule; tasks are placed after their predecessors."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.device = [-1] * problem.n
        self.start = [0.0] * problem.n
        self.end = [0.0] * problem.n
        self.busy: list[list[tuple[float, float]]] = [[] for _ in problem.devices]
        """For each device, its busy intervals in order of time."""

    def ready(self, t: int, d: int) -> float:
        """Return the earliest arrival of all operands of a task at a device."""
        p = self.problem
        arrivals = [self.end[u] + p.delay(b, self.device[u], d) for u, b in p.before[t]]
        return max([p.head[t][d], *arrivals])

    def earliest(self, t: int, d: int) -> float:
        """Return a task's earliest start on a device, possibly in a gap; infinite if impossible."""
        seconds = self.problem.seconds[t][d]
        if seconds == math.inf:
            return math.inf
        start, slots = self.ready(t, d), self.busy[d]
        for begin, end in slots[max(bisect_left(slots, (start, start)) - 1, 0) :]:
            if start + seconds <= begin:
                break
            start = max(start, end)
        return start

    def ends(self, t: int, d: int) -> float:
        """Return the earliest end of a task on a device."""
        return self.earliest(t, d) + self.problem.seconds[t][d]

    def finish(self, t: int, d: int) -> float:
        """Return the time when a task's results reach the home memory from this device."""
        return self.ends(t, d) + self.problem.tail[t][d]

    def finished(self) -> float:
        """Return the time when all results are in the home memory; all tasks must be placed."""
        tails = (row[d] for row, d in zip(self.problem.tail, self.device, strict=True))
        return max((e + x for e, x in zip(self.end, tails, strict=True)), default=0.0)

    def put(self, t: int, d: int) -> None:
        """Place a task on a device as early as possible."""
        start = self.earliest(t, d)
        assert start < math.inf, f"{self.problem.graph.tasks[t].name} cannot run on device {d}"
        self.device[t], self.start[t] = d, start
        self.end[t] = start + self.problem.seconds[t][d]
        insort(self.busy[d], (start, self.end[t]))

    def put_last(self, t: int, d: int, now: float) -> None:
        """Place a task on a device after all tasks that are already on it, and not before `now`."""
        last = self.busy[d][-1][1] if self.busy[d] else 0.0
        self.device[t], self.start[t] = d, max(now, last, self.ready(t, d))
        self.end[t] = self.start[t] + self.problem.seconds[t][d]
        self.busy[d].append((self.start[t], self.end[t]))

    def take(self, t: int) -> None:
        """Undo the last `put` of a task; none of its successors may be placed."""
        self.busy[self.device[t]].remove((self.start[t], self.end[t]))
        self.device[t] = -1

    def placement(self, bound_seconds: float = 0.0, notes: tuple[str, ...] = ()) -> Placement:
        """Return the placement of a complete schedule."""
        p = self.problem
        slots = tuple(
            Slot(task.name, p.platform.devices[self.device[t]].name, self.start[t], self.end[t])
            for t, task in enumerate(p.graph.tasks)
        )
        return Placement(slots, bound_seconds, notes)


def by_order(problem: Problem, order: list[int], device: list[int]) -> Placement:
    """Place tasks on given devices in this order, each as early as possible."""
    line = Timeline(problem)
    for t in order:
        line.put(t, device[t])
    return line.placement()
