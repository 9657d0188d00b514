"""Partition of tasks among devices by minimum cuts, for the least total time."""

from __future__ import annotations

from compiler.passes.layout.labels import Copy, Energy
from compiler.place.heft import FORK, ranked
from compiler.place.placement import Placement
from compiler.place.problem import Problem
from compiler.place.scheduler import scheduler
from compiler.place.timeline import by_order

TICKS = 1_000_000_000
"""The number of capacity units that equals the total time of all tasks on their slowest devices."""


@scheduler(
    source="Stone 1977, IEEE TSE 3(1); alpha-expansion: Boykov, Veksler and Zabih 2001",
    example=FORK
    + """=> two-cores
    placement {
      core0: a 0.0..2.0, d 7.000002..9.000002
      core1: b 2.000001..6.000001, c 6.000001..7.000001
    }
    """,
)
def min_cut(problem: Problem, limit_s: float) -> Placement:
    """The least total time of tasks and transfers, found by minimum cuts.

    Two devices correspond to the two sides of a cut. The capacity of a cut is a sum of times. Each
    task adds its time on the device of its side, and each transfer across the cut adds its time.
    Each value is transferred once. Alpha-expansion adds further devices. The method ignores
    parallelism and gains nothing from a second equal core, so it suits devices of different kinds.
    Each device runs its tasks in the order of HEFT.
    """
    device = partition(problem)
    order = ranked(problem, problem.upward_ranks)
    return by_order(problem, order, device)


def partition(problem: Problem) -> list[int]:
    """Return the number of the device of each task."""
    p = problem
    able_all = next(d for d in p.devices if all(d in able for able in p.able))
    labels = [able_all, *(d for d in p.devices if d != able_all)]
    whole = sum(max(row[d] for d in able) for row, able in zip(p.seconds, p.able, strict=True))
    tick = TICKS / whole if whole else 0.0
    energy = Energy(
        [
            {d: round((p.seconds[t][d] + p.head[t][d] + p.tail[t][d]) * tick) for d in p.able[t]}
            for t in range(p.n)
        ]
    )
    for memory in p.platform.memories:
        here = frozenset(d for d in p.devices if p.platform.devices[d].memory == memory.name)
        elsewhere = [m.name for m in p.platform.memories if m is not memory]
        if not here or not elsewhere:
            continue
        for name, maker in p.graph.maker.items():
            nbytes, readers = p.graph.datum[name].nbytes, p.graph.readers[name]
            ways = [p.platform.seconds_between(nbytes, m, memory.name) for m in elsewhere]
            reachable = [w for w in ways if w < float("inf")]
            if readers and reachable:
                cost = round(sum(reachable) / len(reachable) * tick)
                energy.copies.append(Copy(maker, here, cost, readers))
    return energy.best(labels)
