"""Ready queues: an idle device starts the task of its queue with the highest priority."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from compiler.place.placement import Placement
from compiler.place.problem import Problem
from compiler.place.scheduler import Scheduler, scheduler
from compiler.place.timeline import Timeline

Urgency = Callable[[Problem, int], float]
"""A function that returns the priority of a task; the task with the largest priority runs first."""


def _critical(p: Problem, t: int) -> float:
    return p.upward_ranks[t]


def _made_bytes(p: Problem, t: int) -> float:
    """Return the bytes that a task frees, minus the bytes that it allocates."""
    g = p.graph
    task = g.tasks[t]
    freed = sum(g.datum[r].nbytes for r in task.reads if r in g.maker and len(g.readers[r]) == 1)
    return freed - sum(g.datum[m].nbytes for m in task.makes)


def _first(p: Problem, t: int) -> float:
    return 0.0


def run_queues(problem: Problem, urgency: Urgency) -> Placement:
    """Simulate the queues: each ready task joins the queue in which it would end first."""
    p = problem
    line = Timeline(p)
    waits = [len(edges) for edges in p.before]
    queues: list[list[tuple[float, int, int]]] = [[] for _ in p.devices]
    queued = [0.0] * len(p.devices)
    """The total time of the tasks in each device's queue, in seconds."""
    free = [0.0] * len(p.devices)
    events: list[tuple[float, int]] = [(0.0, -1)]
    came = 0

    def join(t: int) -> None:
        nonlocal came

        def end(d: int) -> float:
            at = max(line.ready(t, d), free[d] + queued[d])
            return at + p.seconds[t][d] + p.tail[t][d]

        d = min(p.able[t], key=end)
        heapq.heappush(queues[d], (-urgency(p, t), came, t))
        queued[d] += p.seconds[t][d]
        came += 1

    for t in range(p.n):
        if not waits[t]:
            join(t)
    while events:
        now, ended = heapq.heappop(events)
        for v, _ in p.after[ended] if ended >= 0 else ():
            waits[v] -= 1
            if not waits[v]:
                join(v)
        for d, queue in enumerate(queues):
            if queue and free[d] <= now:
                t = heapq.heappop(queue)[2]
                line.put_last(t, d, now)
                queued[d] -= p.seconds[t][d]
                free[d] = line.end[t]
                heapq.heappush(events, (line.end[t], t))
    return line.placement()


_QUEUED = """
tasks queued {
  given x: 4000 bytes
  a: 1000 bytes = a(x), core0 1.0 s, core1 2.0 s
  b: 9000 bytes = b(x), core0 2.0 s, core1 2.0 s
  c: 3000 bytes = c(a), core0 1.0 s, core1 9.0 s
  d: 1000 bytes = d(a), core0 3.0 s, core1 9.0 s
  e: 2000 bytes = e(d), core0 4.0 s, core1 9.0 s
  return b, c, e
}
"""


def _row(name: str, words: str, urgency: Urgency, placed: str) -> Scheduler:
    def decide(problem: Problem, limit_s: float) -> Placement:
        return run_queues(problem, urgency)

    decide.__doc__ = words
    return scheduler(
        name=name,
        source="list scheduling: Graham 1969, SIAM J. Appl. Math. 17(2)",
        example=f"{_QUEUED}=> two-cores\nplacement {{\n{placed}\n}}",
    )(decide)


_WAYS = """
Each device has a queue. A task whose operands are computed joins the queue of the device on which
it would end first if all tasks of that queue ran before it. An idle device starts the next task of
its queue."""

READY = (
    _row(
        "ready_critical_path",
        f"Start the ready task with the longest remaining path first.\n{_WAYS}",
        _critical,
        "core0: a 0.0..1.0, d 1.0..4.0, e 4.0..8.0, c 8.0..9.0\ncore1: b 0.0..2.0",
    ),
    _row(
        "ready_bytes",
        f"Start the ready task that frees the most memory first.\n{_WAYS}",
        _made_bytes,
        "core0: a 0.0..1.0, d 1.0..4.0, e 4.0..8.0, c 8.0..9.0\ncore1: b 0.0..2.0",
    ),
    _row(
        "ready_fifo",
        f"Start ready tasks first come, first served.\n{_WAYS}",
        _first,
        "core0: a 0.0..1.0, c 1.0..2.0, d 2.0..5.0, e 5.0..9.0\ncore1: b 0.0..2.0",
    ),
)
