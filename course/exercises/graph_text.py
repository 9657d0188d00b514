"""The exercise to write a graph as text."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import all_nodes
from course.exercises.declaration import TEXT, exercise_kind
from course.format.toml import Table
from course.graphs import filled_in, read_graph
from course.judging.graphs import (
    GraphCase,
    counterexample,
    objection_to_signature,
    read_case,
    score_goals,
    wrong_round,
)
from course.judging.judgement import Judgement


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """The reference graph, operators that the answer may not use, the allowed relative error.

    With `moderate`, the answer may differ for infinities, NaN and extreme numbers.
    """

    case: GraphCase
    without: tuple[str, ...]
    error: float
    moderate: bool


def read_spec(t: Table) -> GraphSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("graph", "without", "error", "moderate")
    case = read_case(t.table("graph"), 1)
    error, moderate = t.number("error", 2e-6), t.truth("moderate", False)
    return GraphSettings(case, t.texts("without", ()), error, moderate)


@exercise_kind(read=read_spec, file=TEXT, gives=lambda s: [s.case.given()])
def write_graph(j: Judgement, settings: GraphSettings, text: str) -> None:
    """Write the text of a graph that computes the same as a given graph.

    Types may be omitted. If the given graph has holes for sizes and types, the answer may have the
    same holes.
    """
    case = settings.case
    for name, values, wanted in case.graphs():
        try:
            made = read_graph(filled_in(text, values), TEXT)
        except CompileError as e:
            j.refused(name, e)
            return
        used = sorted({n.op for n in all_nodes(made)} & set(settings.without))
        if used:
            j.failed(name, f"the answer uses {', '.join(used)}, which this exercise excludes")
            continue
        objection = objection_to_signature(wanted, made)
        if objection:
            j.failed(name, objection, {"graph": str(wanted), "answer": str(made)})
            continue
        wrong = wrong_round(wanted, made, j.seed, settings.error, moderate=settings.moderate)
        if wrong is not None:
            r, result, verdict = wrong
            shown = counterexample(wanted, made, r.feeds, verdict.objection, None)
            j.failed(name, f"wrong result {result}: {verdict.objection}", shown)
            continue
        j.passed(name, "the results are the same")
        score_goals(j, name, case, made)
