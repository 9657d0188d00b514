"""The exercise to choose and order passes."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.passes.pipeline.presets import presets
from compiler.passes.pipeline.run import PassBug, run_pipeline
from compiler.passes.pipeline.text import parse_pipeline
from course.exercises.declaration import TEXT, exercise_kind
from course.format.toml import Table
from course.judging.exercise import Given
from course.judging.graphs import GraphCase, read_cases, score_goals
from course.judging.judgement import Judgement


@dataclass(frozen=True, slots=True)
class OrderSettings:
    """The graphs, the passes to choose from (empty: all), and the largest number of passes."""

    cases: tuple[GraphCase, ...]
    passes: tuple[str, ...]
    most: int


def read_order(t: Table) -> OrderSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("graph", "passes", "most")
    cases = read_cases(t)
    if not any(c.goals for c in cases):
        raise t.fail("at least one graph needs goals")
    return OrderSettings(cases, t.texts("passes", ()), t.integer("most", 30))


def given_order(settings: OrderSettings) -> list[Given]:
    """Return the passes to choose from, and the graphs."""
    passes = "\n".join(settings.passes)
    choice = [Given("The passes to choose from", passes, "")] if passes else []
    return [*choice, *(case.given() for case in settings.cases)]


@exercise_kind(read=read_order, file=TEXT, gives=given_order)
def order_passes(j: Judgement, settings: OrderSettings, text: str) -> None:
    """Choose and order passes to reach a count: nodes, kernels, bytes.

    The answer is the text of a pipeline, such as `dead_code_elimination,fuse`.
    """
    words = text.strip()
    if settings.passes and words in presets():
        j.failed("the passes", "name the passes one by one: a preset is not an answer here")
        return
    try:
        pipeline = parse_pipeline(words)
    except CompileError as e:
        j.refused("the passes", e.at(Where(TEXT, 1, 1)))
        return
    used = [line.name for line in pipeline.passes]
    other = sorted(set(used) - set(settings.passes)) if settings.passes else []
    if other:
        j.failed("the passes", f"{', '.join(other)} is not among {', '.join(settings.passes)}")
        return
    if len(used) > settings.most:
        j.failed("the passes", f"{len(used)} passes; at most {settings.most} are allowed")
        return
    j.passed("the passes", ", ".join(used) or "no pass")
    for case in settings.cases:
        for name, _, graph in case.graphs():
            try:
                after = run_pipeline(graph, pipeline)[0]
            except PassBug as e:
                j.failed(name, str(e))
                continue
            score_goals(j, name, case, after)
