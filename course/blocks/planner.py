"""The block `planner`: a problem of memory planning, and a planner's plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compiler.errors import CompileError
from compiler.memory.check import check_plan
from compiler.memory.plan import find_planner
from compiler.memory.planners.planner import Options
from compiler.memory.problem import Problem
from compiler.memory.text import parse_plan
from course.blocks.results import Results, Run
from course.format.kind import block_kind
from course.frames.placing import placing_picture
from course.graphs import lines_from
from course.quantities.amount import Amount

MOST_BUFFERS = 2_000


@block_kind(body="text")
def planner(run: Run, text: str, *, name: str, by: str = "greedy", moving: bool = False) -> Results:
    """Place the buffers of a problem in one arena.

    Results are `peak_bytes`, `lower_bound_bytes`, `unshared_bytes` and `buffers`. Offsets in the
    text are ignored. With `moving`, a moving picture places one buffer after another.
    """
    problem = read_problem(text, run.first_line)
    chosen = find_planner(by)
    found = chosen.plan(problem, Options(time_limit_s=1.0))
    faults = check_plan(found.plan, problem=problem)
    assert not faults, f"the plan of {by} is wrong: {faults[0]}"
    plan = found.plan
    amounts = {
        "peak_bytes": Amount(plan.peak_bytes, "B"),
        "lower_bound_bytes": Amount(found.lower_bound_bytes, "B"),
        "unshared_bytes": Amount(plan.unshared_bytes, "B"),
        "buffers": Amount(len(plan.buffers)),
    }
    buffers = [
        {"name": b.name, "start": b.start, "end": b.end, "offset": b.offset, "size": b.size}
        for b in plan.buffers
    ]
    data: dict[str, Any] = {"planner": found.planner, "buffers": buffers}
    if moving:
        data["motion"] = placing_picture(problem, plan, searched=chosen.searches)
    return Results(amounts, {"plan": str(plan)}, data)


def read_problem(text: str, first_line: int = 1) -> Problem:
    """Read a problem in the text form of plans. Errors: E-TEXT-SYNTAX, E-PLAN-INPUT."""
    if text.count("\n") > MOST_BUFFERS:
        message = f"the text has {text.count(chr(10)):,} lines; the limit is {MOST_BUFFERS:,}"
        raise CompileError("E-ANSWER-SIZE", message)
    with lines_from(first_line):
        plan = parse_plan(text)
    buffers = tuple(replace(b, offset=-1) for b in plan.buffers)
    return Problem(buffers, plan.alignment_bytes)
