"""The exercise to write a memory planner."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.bisect.ddmin import ddmin
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.memory.buffer import Buffer
from compiler.memory.check import Fault, check_plan
from compiler.memory.plan import find_planner
from compiler.memory.problem import Problem, check_problem
from course.blocks.planner import read_problem
from course.exercises.declaration import exercise_kind
from course.format.toml import Table
from course.judging.judgement import Judgement, Score
from course.judging.session import error_of, whole_number
from course.student.execute import Student


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """Problems by name, the number of random problems, and the goal.

    A peak may be at most `within` times the peak of the planner `against`.
    """

    problems: Mapping[str, Problem]
    n_random: int
    n_buffers: int
    against: str
    within: float


def read_planner(t: Table) -> PlannerSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("problem", "random", "buffers", "against", "within")
    against = t.text("against", "greedy")
    problems: dict[str, Problem] = {}
    try:
        find_planner(against)
        for i, p in enumerate(t.tables("problem", ()), 1):
            p.only("name", "text")
            problems[p.text("name", f"problem {i}")] = read_problem(p.text("text"))
    except CompileError as e:
        raise t.fail(e.message) from None
    n_random, n_buffers = t.integer("random", 10), t.integer("buffers", 12)
    if not 0 <= n_random <= 200 or not 1 <= n_buffers <= 500:
        raise t.fail("random is at most 200, and buffers at most 500")
    return PlannerSettings(problems, n_random, n_buffers, against, t.number("within", 1.0))


def random_problem(seed: int, n_buffers: int) -> Problem:
    """Return a problem with distinct sizes and lifetimes of different length."""
    chance = random.Random(seed)
    buffers: list[Buffer] = []
    for i in range(n_buffers):
        start = chance.randrange(2 * n_buffers)
        end = start + 1 + int(chance.expovariate(0.3))
        buffers.append(Buffer(f"b{i}", 8 * chance.randint(1, 90) + i % 8, start, end))
    return Problem(tuple(buffers), 1)


def text_of(problem: Problem) -> str:
    """Return a problem as text."""
    head = f"plan 0 bytes, alignment {problem.alignment_bytes} {{"
    return "\n".join([head, *(f"  {b}" for b in problem.buffers), "}"])


def reply_of_planner(
    student: Student, settings: PlannerSettings, question: Mapping[str, Any]
) -> Any:
    """Place the blocks of a question's problem by the student's function `plan(problem)`."""
    problem, plan = read_problem(question["problem"]), student.function("plan")
    if not question.get("reduce"):
        return {"offsets": [_plain(o) for o in plan(problem)]}

    def fails(kept: Sequence[Buffer]) -> bool:
        part = Problem(tuple(kept), problem.alignment_bytes)
        try:
            return bool(kept) and bool(faults_of(part, list(plan(part))))
        except Exception:
            return False

    smallest = tuple(ddmin(problem.buffers, fails))
    return {"problem": text_of(Problem(smallest, problem.alignment_bytes))}


def _plain(offset: Any) -> Any:
    return int(offset) if hasattr(offset, "__index__") else str(offset)[:40]


def faults_of(problem: Problem, offsets: object) -> list[Fault]:
    """Check offsets, which may come from hostile code, against a problem."""
    if not isinstance(offsets, list):
        return [Fault(("plan",), "returned no list of offsets")]
    found = [whole_number(o) for o in offsets]
    if len(found) != len(problem.blocks):
        n = len(problem.blocks)
        return [Fault(("plan",), f"returned {len(found)} offsets for {n} blocks")]
    numbers = [o for o in found if o is not None]
    if len(numbers) != len(found):
        return [Fault(("plan",), "returned an offset that is no integer")]
    return check_plan(problem.plan(numbers), problem=problem)


@exercise_kind(read=read_planner, reply=reply_of_planner)
def write_planner(j: Judgement, settings: PlannerSettings, text: str) -> None:
    """Write a memory planner: a function `plan(problem)` that returns an offset for each block.

    An independent checker verifies each plan. Then the peak is compared with that of another
    planner. The counterexample to a wrong planner is the smallest set of buffers with a wrong plan.
    """
    problems = dict(settings.problems)
    for i in range(settings.n_random):
        problems[f"random problem {i + 1}"] = random_problem(j.seed * 1_000 + i, settings.n_buffers)
    replies = j.ask([{"problem": text_of(p)} for p in problems.values()])
    for (name, problem), reply in zip(problems.items(), replies, strict=True):
        error = error_of(reply)
        if error is not None:
            j.refused(name, error)
            continue
        offsets = _offsets(reply)
        faults = faults_of(problem, offsets)
        if faults:
            j.failed(name, str(faults[0]), _smallest(j, problem, offsets, faults))
            continue
        j.passed(name, "no buffers overlap while both are live")
        best = find_planner(settings.against).plan(problem).plan.peak_bytes
        peak = problem.plan([int(o) for o in offsets]).peak_bytes
        j.score(f"{name}: peak", Score("peak_bytes", peak, "B", best * settings.within))


def _offsets(reply: Mapping[str, Any]) -> Any:
    value = reply.get("value")
    return value.get("offsets") if isinstance(value, Mapping) else None


def _smallest(
    j: Judgement, problem: Problem, offsets: Any, faults: Sequence[Fault]
) -> dict[str, Any]:
    """Ask for a smallest problem with a wrong plan, and confirm it; else return this problem."""
    try:
        value = j.ask([{"problem": text_of(problem), "reduce": True}])[0]["value"]
        small = read_problem(value["problem"])
        check_problem(small.buffers, small.alignment_bytes)
        found = _offsets(j.ask([{"problem": text_of(small)}])[0])
        wrong = faults_of(small, found)
        if wrong:
            problem, offsets, faults = small, found, wrong
    except (CompileError, KeyError, TypeError, AttributeError):
        pass
    shown = {"problem": text_of(problem), "differs": str(faults[0]), "step": None}
    whole = isinstance(offsets, list) and len(offsets) == len(problem.blocks)
    if whole and all(whole_number(o) is not None for o in offsets):
        shown["plan"] = str(problem.plan(offsets))
    return shown
