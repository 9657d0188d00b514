"""List schedulers by rank: HEFT, HEFT that looks ahead, PEFT and CPOP."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

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
    """Earliest finish, the longest way to go first (HEFT).

    A task's rank is the longest way from it to the end, with times that are means over all devices.
    In the order of their ranks tasks go where they end first; a gap between others will do.
    """
    line = Timeline(problem)
    for t in ranked(problem, problem.upward_ranks):
        line.put(t, min(problem.able[t], key=lambda d: line.finish(t, d)))
    return line.placement()


def ranked(problem: Problem, ranks: Sequence[float]) -> list[int]:
    """Tasks by falling rank, but none before one that it waits for (zeros make ranks equal)."""
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


MOST_CHILDREN = 16
"""Looking ahead, no more readers of a task are tried: those with the longest way to go."""


@scheduler(
    source="Bittencourt, Sakellariou and Madeira 2010, PDP",
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, c 2.0..5.0, d 6.000002..8.000002
      core1: b 2.000001..6.000001
    }
    """,
)
def lookahead(problem: Problem, limit_s: float) -> Placement:
    """HEFT that looks one step ahead.

    Each device is tried for a task together with the tasks that read what it makes, each of these
    where it ends first; what counts is when the last of them ends.
    """
    line = Timeline(problem)
    ranks = problem.upward_ranks
    order = ranked(problem, ranks)
    for t in order:
        children = sorted((v for v, _ in problem.after[t]), key=lambda v: -ranks[v])
        line.put(t, _best_ahead(line, t, children[:MOST_CHILDREN]))
    return line.placement()


def _best_ahead(line: Timeline, t: int, children: Sequence[int]) -> int:
    able = line.problem.able[t]
    if len(able) == 1:
        return able[0]
    found: list[tuple[float, float, int]] = []
    for d in able:
        own = line.finish(t, d)
        line.put(t, d)
        tried: list[int] = []
        last = own
        for v in children:
            if any(line.device[u] < 0 for u, _ in line.problem.before[v]):
                # What else it waits for has no place yet: it is taken to be there.
                last = max(last, min(_alone(line, t, v, e) for e in line.problem.able[v]))
                continue
            e = min(line.problem.able[v], key=lambda e: line.finish(v, e))
            last = max(last, line.finish(v, e))
            line.put(v, e)
            tried.append(v)
        for v in reversed(tried):
            line.take(v)
        line.take(t)
        found.append((last, own, d))
    return min(found)[2]


def _alone(line: Timeline, t: int, v: int, e: int) -> float:
    """When a reader would end if it waited for those alone that have a place."""
    p = line.problem
    placed = [
        line.end[u] + p.delay(b, line.device[u], e) for u, b in p.before[v] if line.device[u] >= 0
    ]
    return max([p.head[v][e], *placed]) + p.seconds[v][e] + p.tail[v][e]


@scheduler(
    source="Arabnejad and Barbosa 2014, IEEE TPDS 25(3)",
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, c 2.0..5.0, d 6.000002..8.000002
      core1: b 2.000001..6.000001
    }
    """,
)
def peft(problem: Problem, limit_s: float) -> Placement:
    """Earliest finish, counting what is still to come (PEFT).

    A table has for each task and device the shortest way to the end if every later task had the
    best device for itself. Tasks go in the order of their mean in it, to the device where
    their end and the way to go are least together.
    """
    p = problem
    table = [list(row) for row in p.tail]
    for t in reversed(range(p.n)):
        for d in p.able[t]:
            ways = [
                min(table[v][e] + p.seconds[v][e] + p.delay(b, d, e) for e in p.able[v])
                for v, b in p.after[t]
            ]
            table[t][d] = max([table[t][d], *ways])
    line = Timeline(p)
    for t in ranked(p, [p.mean(table[t], t) for t in range(p.n)]):
        ends = {d: line.earliest(t, d) + p.seconds[t][d] + table[t][d] for d in p.able[t]}
        line.put(t, min(ends, key=ends.__getitem__))
    return line.placement()


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

    Tasks on the longest way through the graph all go to the device that runs them in the least time
    together; the others where they end first, the longest way through them first.
    """
    p = problem
    through = [u + d for u, d in zip(p.upward_ranks, p.downward_ranks, strict=True)]
    path = set(_path(p, through))
    totals = {d: sum(p.seconds[t][d] for t in path) for d in p.devices}
    chosen = min(totals, key=totals.__getitem__)
    line = Timeline(p)
    for t in ranked(p, through):
        if t in path and totals[chosen] < math.inf:
            line.put(t, chosen)
        else:
            line.put(t, min(p.able[t], key=lambda d: line.finish(t, d)))
    return line.placement()


def _path(p: Problem, through: Sequence[float]) -> list[int]:
    """The longest way: from task to task by the largest sum of both ranks."""
    following = [t for t in range(p.n) if not p.before[t]]
    path: list[int] = []
    while following:
        path.append(max(following, key=lambda t: through[t]))
        following = [v for v, _ in p.after[path[-1]]]
    return path
