"""How much of its transfers a schedule hides behind computation, and the memory that this takes."""

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
    None: "as early as there is room",
}
"""For how many tasks ahead operands are to be brought, in words."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A run of the same tasks on the same devices in the same orders, with operands brought so.

    `ahead` is for how many tasks they were brought (None for all); `makespan_seconds` is None where
    some memory has no room for this way; `peak_bytes` has by memory what lies there at most, what
    is on its way included.
    """

    words: str
    ahead: int | None
    makespan_seconds: float | None
    peak_bytes: Mapping[str, int]


def hiding(
    graph: TaskGraph, platform: Platform, made: Schedule, *, contention: bool = True
) -> tuple[Hidden, ...]:
    """A schedule run in each of the ways, on demand first."""
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
