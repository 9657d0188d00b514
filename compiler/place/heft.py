"""Rank-based list schedulers: HEFT, and CPOP from the same paper."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence

from compiler.place.placement import Placement
from compiler.place.problem import Problem
from compiler.place.scheduler import scheduler
from compiler.place.timeline import Timeline

FORK = """
tasks fork {
  given x: 4000 bytes
  a: 4000 bytes = a(x), core0 2.0 s, core1 3.0 s
  b: 4000 bytes = b(a), core0 5.0 s, core1 4.0 s
  c: 4000 bytes = c(a), core0 3.0 s, core1 1.0 s
  y: 4000 bytes = d(b, c), core0 2.0 s, core1 2.5 s
  return y
}
"""


@scheduler(
    source="Topcuoglu, Hariri and Wu 2002, IEEE TPDS 13(3)",
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, c 2.0..5.0, d 6.000002..8.000002
      core1: b 2.000001..6.000001
    }
    """,
)
def heft(problem: Problem, limit_s: float) -> Placement:
    """Heterogeneous earliest finish time (HEFT): tasks with the longest remaining path first.

    The rank of a task is its longest path to the end, with times averaged over all devices. In the
    order of decreasing rank, each task is placed on the device on which it ends first, possibly in
    a gap between other tasks. After the first schedule, scheduling is repeated several times, with
    ranks computed from the chosen devices. The result is the shortest schedule of all repetitions.
    """

    return repeated(by_rank(problem, problem.upward_ranks), lambda _, x: by_rank(problem, x))


Choice = Callable[[Timeline, int], int]
"""A function that chooses the device for the next task."""


def ends_first(line: Timeline, t: int) -> int:
    """Return the device on which a task ends first."""
    return min(line.problem.able[t], key=lambda d: line.finish(t, d))


def by_rank(problem: Problem, ranks: Sequence[float], choose: Choice = ends_first) -> Timeline:
    """Place tasks in the order of decreasing rank, each on the device that `choose` returns."""
    line = Timeline(problem)
    for t in ranked(problem, ranks):
        line.put(t, choose(line, t))
    return line


ROUNDS = 4
"""The number of schedules after the first; later schedules are rarely shorter."""


Again = Callable[[Timeline, Sequence[float]], Timeline]
"""A function that computes a schedule from the previous schedule and from ranks of tasks."""


def repeated(first: Timeline, again: Again) -> Placement:
    """Return the shortest of a schedule and its successors, each computed from its predecessor."""
    line = shortest = first
    for _ in range(ROUNDS):
        before = line
        line = again(before, ranks_of(before))
        if line.finished() < shortest.finished():
            shortest = line
        if (line.device, line.start) == (before.device, before.start):
            break
    return shortest.placement()


def ranks_of(line: Timeline) -> list[float]:
    """Return the longest path from each task to the end, with the times on the chosen devices."""
    p, device = line.problem, line.device
    ranks = [0.0] * p.n
    for t in reversed(range(p.n)):
        rest = (p.delay(b, device[t], device[v]) + ranks[v] for v, b in p.after[t])
        ranks[t] = p.seconds[t][device[t]] + max([p.tail[t][device[t]], *rest])
    return ranks


def ranked(problem: Problem, ranks: Sequence[float]) -> list[int]:
    """Return tasks by descending rank; equal ranks (caused by zero times) in topological order."""
    waits = [len(edges) for edges in problem.before]
    queue = [(-ranks[t], t) for t in range(problem.n) if not waits[t]]
    heapq.heapify(queue)
    order: list[int] = []
    while queue:
        _, t = heapq.heappop(queue)
        order.append(t)
        for v, _ in problem.after[t]:
            waits[v] -= 1
            if not waits[v]:
                heapq.heappush(queue, (-ranks[v], v))
    return order


@scheduler(
    source="Topcuoglu, Hariri and Wu 2002, IEEE TPDS 13(3)",
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, b 2.0..7.0, d 7.0..9.0
      core1: c 2.000001..3.000001
    }
    """,
)
def cpop(problem: Problem, limit_s: float) -> Placement:
    """The critical path on one device (CPOP).

    All tasks on the longest path of the graph are placed on a single device, which minimises their
    total time. Each other task is placed on the device on which it ends first, in descending order
    of the longest path through the task.
    """
    p = problem
    through = [u + d for u, d in zip(p.upward_ranks, p.downward_ranks, strict=True)]
    path = set(_path(p, through))
    totals = {d: sum(p.seconds[t][d] for t in path) for d in p.devices}
    chosen = min(totals, key=totals.__getitem__)

    def choose(line: Timeline, t: int) -> int:
        return chosen if t in path and totals[chosen] < math.inf else ends_first(line, t)

    return by_rank(p, through, choose).placement()


def _path(p: Problem, through: Sequence[float]) -> list[int]:
    """Return the longest path: the tasks with the largest sum of upward and downward rank."""
    following = [t for t in range(p.n) if not p.before[t]]
    path: list[int] = []
    while following:
        path.append(max(following, key=lambda t: through[t]))
        following = [v for v, _ in p.after[path[-1]]]
    return path
