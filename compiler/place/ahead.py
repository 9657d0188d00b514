"""List schedulers that look at what comes after a task: its readers, or all the way to the end."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.place.heft import FORK, Choice, by_rank, repeated
from compiler.place.placement import Placement
from compiler.place.problem import Problem
from compiler.place.scheduler import scheduler
from compiler.place.timeline import Timeline

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
    ranks = [p.mean(table[t], t) for t in range(p.n)]
    return by_rank(p, ranks, _arrives_first(table)).placement()


def _arrives_first(rest: Sequence[Sequence[float]]) -> Choice:
    """The device with the least end and way to go, `rest` by task and device, together."""

    def choose(line: Timeline, t: int) -> int:
        ends = {d: line.ends(t, d) + rest[t][d] for d in line.problem.able[t]}
        return min(ends, key=ends.__getitem__)

    return choose


@scheduler(
    source="HEFT (Topcuoglu, Hariri and Wu 2002), its devices chosen in the manner of PEFT "
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
    """Iterated HEFT: each schedule ranks tasks by the devices of the schedule before.

    The first plan is that of HEFT. In each further one a task's rank is the longest way from it to
    the end with the devices of the plan before, and it goes where its end and the way from there
    are least together: each of its readers where that is best, what follows them as before. The
    shortest plan counts.
    """
    return repeated(by_rank(problem, problem.upward_ranks), _again)


def _again(before: Timeline, ranks: Sequence[float]) -> Timeline:
    return by_rank(before.problem, ranks, _arrives_first(_ways_on(before, ranks)))


def _ways_on(line: Timeline, ranks: Sequence[float]) -> list[list[float]]:
    """By task and device the longest way on: readers where it is best, the rest as in a plan."""
    p, device = line.problem, line.device
    after = [list(row) for row in p.tail]
    """By task and device the way on when all readers stay where the plan has them."""
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
