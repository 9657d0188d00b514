"""The exercise to edit the schedule of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.dataclass import dataclass
from compiler.errors import CODES, CompileError
from compiler.loops.interpret import interpret
from compiler.loops.nodes import Kernel
from compiler.targets.target import Target, by_name
from course.cache_lines import LINE_BYTES, misses
from course.exercises.declaration import TEXT, exercise_kind
from course.format.toml import Table
from course.judging.arrays import arrays_to_json
from course.judging.exercise import Given
from course.judging.judgement import Judgement, Score
from course.lane_counts import LaneCounts, lane_counts
from course.loop_counts import counts, loops_text, scheduled, unscheduled
from course.quantities.subject import TARGET

MOST_ITERATIONS = 200_000
"""Maximum number of statements that a judge interprets."""

HINT = "compare with the loops that the task shows"
"""The hint for errors of moves; the general hint names panes that a lesson does not have."""

ON_TARGET = tuple(f.name for f in fields(LaneCounts))
"""The goals that depend on the machine's registers."""

_GOALS = ("loops", "iterations", "depth", "misses", *ON_TARGET)


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """A computation, the maximum counts of its loops, and moves that the answer must contain.

    The goal `misses` counts lines that the loops load into a cache of `cache_bytes`. The goals
    `registers`, `operations` and `loads` are those of `course.lane_counts` on `target`.
    """

    computation: Computation
    goals: Mapping[str, float]
    uses: tuple[str, ...]
    cache_bytes: int
    target: Target


def read_schedule(t: Table) -> ScheduleSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("computation", "goals", "uses", "cache", "target")
    goals = t.table("goals", {}).only(*_GOALS)
    try:
        computation = parse_computation(t.text("computation").strip())
        kernel = unscheduled(computation, frozenset()).kernel
    except CompileError as e:
        raise t.fail(f"the computation: {e.message}") from None
    if counts(kernel).iterations > MOST_ITERATIONS:
        raise t.fail(f"the computation has more than {MOST_ITERATIONS:,} iterations")
    found = {k: goals.number(k) for k in goals.values}
    cache_bytes = t.integer("cache", 4096)
    if cache_bytes < LINE_BYTES or ("misses" in found and not _is_simulated(kernel, cache_bytes)):
        raise t.fail(f"the cache has at least {LINE_BYTES} bytes, and simulates the computation")
    try:
        target = by_name(t.text("target", TARGET))
    except CompileError as e:
        raise t.fail(e.message) from None
    return ScheduleSettings(computation, found, t.texts("uses", ()), cache_bytes, target)


@lru_cache(maxsize=16)
def _is_simulated(kernel: Kernel, cache_bytes: int) -> bool:
    return misses(kernel, cache_bytes) is not None


def given_schedule(settings: ScheduleSettings) -> list[Given]:
    """Return the computation with the goals, and its loops without any move."""
    computation = settings.computation
    goals = tuple(f"{name} ≤ {most:,g}" for name, most in settings.goals.items())
    loops = loops_text(unscheduled(computation, frozenset()).kernel)
    return [
        Given(f"computation {computation.name}", str(computation), "computation", goals),
        Given("its loops without a schedule", loops, "loops"),
    ]


@exercise_kind(read=read_schedule, file=TEXT, gives=given_schedule)
def edit_schedule(j: Judgement, settings: ScheduleSettings, text: str) -> None:
    """Edit the schedule of a kernel until its loops reach a goal.

    Each move must be legal, and the loops must compute the same numbers. The scores are counts of
    loops and of executed statements; a statement in a vector loop counts once for all lanes. The
    goal `misses` counts the lines that the loops load into a small simulated cache. The goals
    `registers`, `operations` and `loads` follow from the vector registers of a target.
    """
    try:
        made = scheduled(text, settings.computation, frozenset())
    except CompileError as e:
        hint = HINT if e.hint == CODES[e.code].hint else e.hint
        where = replace(e.where, source=TEXT)
        error = CompileError(e.code, e.message, where=where, notes=e.notes, hint=hint)
        j.refused("the moves", error)
        return
    moves = [line.call.move for line in made.lines]
    missing = [m for m in settings.uses if m not in moves]
    if missing:
        j.failed("the moves", f"the schedule has no move {', '.join(missing)}")
    else:
        j.passed("the moves", f"{len(moves)} moves, all legal")
    wrong = wrong_numbers(settings.computation, made.kernel, j.seed)
    if wrong is not None:
        j.failed("the numbers", wrong["differs"], {**wrong, "answer": loops_text(made.kernel)})
        return
    j.passed("the numbers", "the loops compute the same")
    found, on_target = counts(made.kernel), lane_counts(made.kernel, settings.target)
    for goal, most in settings.goals.items():
        if goal == "misses":
            value = misses(made.kernel, settings.cache_bytes)
        elif goal in ON_TARGET:
            value = getattr(on_target, goal, None)
        else:
            value = getattr(found, goal)
        if value is None:
            j.failed(goal, f"the loops are too long, or too irregular, to count {goal}")
        else:
            j.score(goal, Score(goal, value, "count", most))


def wrong_numbers(computation: Computation, kernel: Kernel, seed: int) -> dict[str, Any] | None:
    """Return the first difference between a kernel and its computation on random integers.

    Sums of small integers have no rounding errors, so every order of terms gives the same result.
    """
    chance = np.random.default_rng(seed)
    given = {
        n: chance.integers(-3, 4, computation.tensors[n].static_shape).astype(
            computation.tensors[n].dtype.numpy
        )
        for n in computation.inputs
    }
    wanted = evaluate(computation, given)
    memory = {
        b.name: given[b.name].copy() if b.name in given else np.zeros(b.shape, b.dtype.numpy)
        for b in kernel.params
    }
    with np.errstate(all="ignore"):
        interpret(kernel, memory)
    for name, right in wanted.items():
        got = memory[name]
        same = np.isclose(got, right, rtol=1e-5, atol=1e-6, equal_nan=True)
        if not same.all():
            place = tuple(int(i) for i in np.argwhere(~same)[0])
            differs = f"{name}{list(place)} is {got[place]} instead of {right[place]}"
            return {
                "inputs": arrays_to_json(given),
                "expected": arrays_to_json({name: right}),
                "got": arrays_to_json({name: got}),
                "differs": differs,
                "step": None,
            }
    return None
