"""Latency hiding: the overlap of transfers with computation, and the memory it requires."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.dataclass import dataclass
from compiler.place.place import within_room
from compiler.place.placement import Placement
from compiler.place.platform import Platform
from compiler.place.problem import Problem
from compiler.place.schedule import Schedule
from compiler.place.simulate import Conduct, Stuck, simulate
from compiler.place.tasks import TaskGraph

WAYS: Mapping[int | None, str] = {
    0: "on demand",
    1: "double-buffered",
    None: "as early as memory permits",
}
"""Prefetch distances in numbers of tasks, and their names."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A simulated run of a schedule's tasks, on the same devices, with another prefetch distance.

    `ahead` is the prefetch distance as a number of tasks (None for unlimited). `makespan_seconds`
    is None if a memory is too small. `peak_bytes` maps each memory to its peak, including transfers
    in flight.
    """

    words: str
    ahead: int | None
    makespan_seconds: float | None
    peak_bytes: Mapping[str, int]


def hiding(
    graph: TaskGraph, platform: Platform, made: Schedule, *, contention: bool = True
) -> tuple[Hidden, ...]:
    """Simulate a schedule with each prefetch distance, starting with transfers on demand."""
    problem = Problem(graph, platform)
    return tuple(_run(problem, made, Conduct(ahead, contention)) for ahead in WAYS)


def _run(problem: Problem, made: Schedule, conduct: Conduct) -> Hidden:
    placement, words = Placement(made.slots), WAYS[conduct.ahead]
    run = within_room if conduct.ahead is None else simulate
    try:
        again = run(problem, placement, conduct)
    except Stuck:
        return Hidden(words, conduct.ahead, None, {})
    return Hidden(words, again.ahead, again.makespan_seconds, again.peak_bytes)
