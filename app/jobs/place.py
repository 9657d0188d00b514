"""The job that places the kernels of a compiled model on a platform, by several schedulers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from app.jobs.results import Results
from app.jobs.task import COMPILED, Task
from app.wire import VERSION, placements
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import FLAG, choice, or_null, whole
from app.wire.identities import Identified
from compiler.errors import CompileError
from compiler.place.check import check_schedule
from compiler.place.of_graph import tasks_of
from compiler.place.place import SCHEDULERS, place
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform, shipped
from compiler.place.schedule import Schedule
from compiler.place.simulate import Conduct
from compiler.place.tasks import TaskGraph
from compiler.place.tasks_text import parse_tasks

SEARCH_S = 5.0
"""Time limit in seconds of a scheduler that searches."""


@dataclass(frozen=True, slots=True)
class PlaceRequest(Asked):
    """The request of a placement; `job` is the compilation of the model."""

    kind = "place"
    sent = Sent(
        "PlaceOptions",
        "Platform and scheduler. Operands are prefetched `ahead` tasks before their use; null "
        "means as early as possible.",
    )

    # A name, never a path: the server reads only its own files.
    platform: str = asked(choice(shipped()))
    scheduler: str = asked(choice(SCHEDULERS), "iterated")
    ahead: int | None = asked(or_null(whole(0, 1_000_000)), None)
    contention: bool = asked(FLAG, True)


def tasks_part(last: Identified) -> dict[str, Any]:
    """Return the task graph, the part of a compilation's result that later placements need.

    A task is named by the id of its node.
    """
    tasks = tasks_of(last.graph)
    named = tuple(replace(t, name=last.ids.get(t.name, t.name)) for t in tasks.tasks)
    return {"version": VERSION, "text": str(replace(tasks, tasks=named))}


def place_model(task: Task, results: Results) -> None:
    """Place the tasks of a compiled model with the requested scheduler, then with all quick
    schedulers for comparison. Each schedule is given back as soon as it is complete.

    Errors: E-RESULT-ABSENT if the compilation's tasks were evicted.
    """
    request, say = task.request, results.say
    say("phase", {"phase": "place", "words": "placing the kernels"})
    tasks = parse_tasks(task.parts_of(COMPILED).read("tasks")["text"])
    platform = load_platform(request["platform"])
    conduct = Conduct(request["ahead"], request["contention"])
    summary = placements.placed_tasks(request, tasks, platform)
    for name in _asked(request["scheduler"]):
        start = perf_counter()
        try:
            made = _checked(tasks, platform, name, conduct)
        except CompileError as e:
            row = placements.refusal(name, perf_counter() - start, e)
        else:
            row = placements.row(name, perf_counter() - start, tasks, made)
            results.write(placements.part_of(name), placements.placement(name, tasks, made))
            say("ready", {"part": name})
        summary["rows"].append(row)
        results.write("placements", summary)


def _asked(chosen: str) -> Iterator[str]:
    """Yield the requested scheduler, then the quick schedulers for comparison."""
    yield chosen
    yield from (s.name for s in SCHEDULERS.values() if s.is_quick and s.name != chosen)


def _checked(tasks: TaskGraph, platform: Platform, scheduler: str, conduct: Conduct) -> Schedule:
    made = place(tasks, platform, scheduler=scheduler, conduct=conduct, time_limit_s=SEARCH_S)
    faults = check_schedule(tasks, platform, made, contention=conduct.contention)
    assert not faults, f"the schedule of {scheduler} is wrong: {faults[0]}"
    return made
