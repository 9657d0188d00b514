"""The exercise to write a scheduler of devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.place.check import check_schedule
from compiler.place.place import SCHEDULERS, place
from compiler.place.placement import Placement, Slot
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform, parse_platform, shipped
from compiler.place.problem import Problem
from compiler.place.simulate import Stuck, simulate
from compiler.place.tasks import TaskGraph
from compiler.place.tasks_text import parse_tasks
from course.exercises.declaration import exercise_kind
from course.format.toml import Table
from course.judging.judgement import Judgement, Score
from course.judging.session import error_of
from course.student.execute import Student

MOST_TASKS = 500


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """Task graphs by name, a platform, and the goal.

    A makespan may be at most `within` times the makespan of the scheduler `against`.
    """

    tasks: Mapping[str, TaskGraph]
    platform: Platform
    against: str
    within: float


def read_devices(t: Table) -> DeviceSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("tasks", "platform", "against", "within")
    name, against = t.text("platform"), t.text("against", "heft")
    tasks: dict[str, TaskGraph] = {}
    try:
        platform = load_platform(name) if name in shipped() else parse_platform(name)
        for i, each in enumerate(t.tables("tasks"), 1):
            each.only("name", "text")
            tasks[each.text("name", f"tasks {i}")] = parse_tasks(each.text("text").strip())
    except CompileError as e:
        raise t.fail(e.message) from None
    if against not in SCHEDULERS:
        raise t.fail(f"no scheduler is named {against!r:.40}; schedulers: {', '.join(SCHEDULERS)}")
    if not tasks or any(len(g.tasks) > MOST_TASKS for g in tasks.values()):
        raise t.fail(f"an exercise has tasks, at most {MOST_TASKS} in each graph")
    return DeviceSettings(tasks, platform, against, t.number("within", 1.0))


def reply_of_scheduler(
    student: Student, settings: DeviceSettings, question: Mapping[str, Any]
) -> Any:
    """Place the tasks of a question by the student's function `schedule(problem)`."""
    problem = Problem(settings.tasks[question["tasks"]], settings.platform)
    made = student.function("schedule")(problem)
    if isinstance(made, Placement):
        ordered = sorted(made.slots, key=lambda s: (s.start, s.end))
        return [[s.task, s.device] for s in ordered]
    return [[str(task), str(device)] for task, device in made]


@exercise_kind(read=read_devices, reply=reply_of_scheduler)
def write_scheduler(j: Judgement, settings: DeviceSettings, text: str) -> None:
    """Write a scheduler: a function `schedule(problem)` that assigns tasks to devices, in order.

    It returns a `Placement`, or pairs of a task and a device in the order of execution. The judge
    simulates the run with its transfers, checks it, and compares the makespan with another
    scheduler's.
    """
    replies = j.ask([{"tasks": name} for name in settings.tasks])
    for (name, tasks), reply in zip(settings.tasks.items(), replies, strict=True):
        error = error_of(reply)
        if error is not None:
            j.refused(name, error)
            continue
        problem = Problem(tasks, settings.platform)
        objection = objection_to(problem, reply["value"])
        if objection:
            j.failed(name, objection)
            continue
        placement = placed(problem, reply["value"])
        try:
            run = simulate(problem, placement)
        except Stuck as e:
            j.failed(name, f"{e.device} never has the memory for {e.task}")
            continue
        faults = check_schedule(tasks, settings.platform, run)
        if faults:
            j.failed(name, str(faults[0]), {"placement": str(placement), "differs": str(faults[0])})
            continue
        j.passed(name, "each task runs once, after its operands arrive")
        best = place(tasks, settings.platform, scheduler=settings.against).makespan_seconds
        most = best * settings.within
        j.score(f"{name}: makespan", Score("makespan", run.makespan_seconds, "s", most))


def objection_to(problem: Problem, pairs: object) -> str:
    """Return the defect of pairs of a task and a device, or ""."""
    if not isinstance(pairs, list) or not all(
        isinstance(p, list | tuple) and len(p) == 2 and all(isinstance(x, str) for x in p)
        for p in pairs
    ):
        return "the answer is not a list of pairs of a task and a device"
    number = {t.name: i for i, t in enumerate(problem.graph.tasks)}
    device = {d.name: i for i, d in enumerate(problem.platform.devices)}
    seen: set[str] = set()
    for task, where in pairs:
        if task not in number or where not in device:
            return f"the pair ({task:.60}, {where:.60}) names no task or no device"
        if task in seen:
            return f"the task {task} runs twice"
        missing = [problem.graph.tasks[u].name for u, _ in problem.before[number[task]]
                   if problem.graph.tasks[u].name not in seen]  # fmt: skip
        if missing:
            return f"the task {task} comes before {missing[0]}, whose result it reads"
        if device[where] not in problem.able[number[task]]:
            return f"the device {where} cannot run the task {task}"
        seen.add(task)
    absent = [name for name in number if name not in seen]
    return f"the task {absent[0]} does not run" if absent else ""


def placed(problem: Problem, pairs: Sequence[Sequence[str]]) -> Placement:
    """Return the placement of pairs in their order; the simulation finds the times."""
    at = {task: (device, float(i)) for i, (task, device) in enumerate(pairs)}
    slots = ((t.name, *at[t.name]) for t in problem.graph.tasks)
    return Placement(tuple(Slot(name, device, i, i + 1) for name, device, i in slots))
