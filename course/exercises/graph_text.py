"""The exercise to write a graph as text."""

from __future__ import annotations

from compiler.check.rounds import make_rounds
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import all_nodes
from compiler.ops.evaluation.meaning import evaluate_graph
from course.exercises.declaration import TEXT, exercise_kind
from course.format.toml import Table
from course.graphs import filled_in, read_graph
from course.judging.arrays import arrays_to_json
from course.judging.graphs import GraphCase, objection_to_signature, read_case
from course.judging.judgement import Judgement, Score
from course.quantities import Subject, quantity_named

SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """The graph that says what is computed, operators that the answer may not use, the error."""

    case: GraphCase
    without: tuple[str, ...]
    error: float


def read_spec(t: Table) -> GraphSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("graph", "without", "error")
    case = read_case(t.table("graph"), 1)
    return GraphSettings(case, t.texts("without", ()), t.number("error", 2e-6))


@exercise_kind(read=read_spec, file=TEXT)
def write_graph(j: Judgement, settings: GraphSettings, text: str) -> None:
    """Write the text of a graph that computes the same as a given graph.

    Types may be omitted. Where the given graph has holes for sizes and types, the answer may have
    the same holes.
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
        for r in make_rounds(wanted, j.seed, SECONDS):
            result, verdict = r.objection(made, settings.error)
            if verdict.objection:
                shown = {
                    "graph": str(wanted),
                    "answer": str(made),
                    "inputs": arrays_to_json(r.feeds),
                    "expected": arrays_to_json(r.own),
                    "got": arrays_to_json(evaluate_graph(made, r.feeds)),
                    "differs": verdict.objection,
                    "step": None,
                }
                j.failed(name, f"wrong result {result}: {verdict.objection}", shown)
                break
        else:
            j.passed(name, "the results are the same")
            subject = Subject(made)
            for goal, most in case.goals.items():
                amount = quantity_named(goal).of(subject)
                j.score(f"{name}: {goal}", Score(goal, amount.value, amount.unit, most))
