"""List schedulers with lookahead to the readers of a task, or to the end of the graph."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.place.heft import FORK, Choice, by_rank, repeated
from compiler.place.placement import Placement
from compiler.place.problem import Problem
from compiler.place.scheduler import scheduler
from compiler.place.timeline import Timeline

MOST_CHILDREN = 16
"""Maximum number of readers of a task that lookahead tries: those with the longest remaining
paths."""


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
    """HEFT with one step of lookahead.

    A task is placed tentatively on each candidate device. For each candidate, every reader of the
    task's results is placed tentatively on the device where the reader ends first. The selected
    device is the candidate for which the last reader ends earliest.
    """
    ranks = problem.upward_ranks

    def choose(line: Timeline, t: int) -> int:
        children = sorted((v for v, _ in problem.after[t]), key=lambda v: -ranks[v])
        return _best_ahead(line, t, children[:MOST_CHILDREN])

    return by_rank(problem, ranks, choose).placement()


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
                # Other operands of the reader have no device yet: assume that they are available.
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
    """Return the time at which a reader would end if it waited only for tasks already placed."""
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
    """Earliest finish time including the remaining path (PEFT).

    The optimistic cost table has an entry for each task and device. The entry is the longest
    remaining path, with each later task on its best device and without waiting. Tasks are ordered
    by the means of their rows in this table. Each task is placed on the device with the least sum
    of the task's end and the table's entry for the device.
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
    ranks = [p.mean(table[t], t) for t in range(p.n)]
    return by_rank(p, ranks, _arrives_first(table)).placement()


def _arrives_first(rest: Sequence[Sequence[float]]) -> Choice:
    """Return a function that chooses the device with the least sum of end and remaining path."""

    def choose(line: Timeline, t: int) -> int:
        ends = {d: line.ends(t, d) + rest[t][d] for d in line.problem.able[t]}
        return min(ends, key=ends.__getitem__)

    return choose


@scheduler(
    source="HEFT (Topcuoglu, Hariri and Wu 2002), with device selection as in PEFT "
    "(Arabnejad and Barbosa 2014), repeated",
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, c 2.0..5.0, d 6.000002..8.000002
      core1: b 2.000001..6.000001
    }
    """,
)
def iterated(problem: Problem, limit_s: float) -> Placement:
    """Iterated HEFT: the ranks of each schedule are computed from the previous schedule.

    HEFT computes the first schedule. In each further schedule, the rank of a task is its longest
    path to the end on the devices of the previous schedule. The task is placed on the device with
    the least sum of the task's end and its longest remaining path. The remaining path assumes the
    best device for each reader, and the previous devices for later tasks. The result is the
    shortest of all schedules of the iteration.
    """
    return repeated(by_rank(problem, problem.upward_ranks), _again)


def _again(before: Timeline, ranks: Sequence[float]) -> Timeline:
    return by_rank(before.problem, ranks, _arrives_first(_ways_on(before, ranks)))


def _ways_on(line: Timeline, ranks: Sequence[float]) -> list[list[float]]:
    """Return the longest remaining path per task and device, with readers on their best devices."""
    p, device = line.problem, line.device
    after = [list(row) for row in p.tail]
    """For each task and device: the longest remaining path if all readers remain on their previous
    devices."""
    for t in range(p.n):
        for d in p.able[t]:
            ways = (p.delay(b, d, device[v]) + ranks[v] for v, b in p.after[t])
            after[t][d] = max([after[t][d], *ways])
    found = [list(row) for row in p.tail]
    for t in range(p.n):
        for d in p.able[t]:
            ways = (
                min(p.delay(b, d, e) + p.seconds[v][e] + after[v][e] for e in p.able[v])
                for v, b in p.after[t]
            )
            found[t][d] = max([found[t][d], *ways])
    return found
