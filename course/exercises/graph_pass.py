"""The exercise to write a graph pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.trace import Log
from course.exercises.declaration import exercise_kind
from course.format.toml import Table
from course.judging.graphs import GraphCase, GraphJudge, given_cases, read_cases, reply_to
from course.judging.judgement import Judgement
from course.student.execute import Student


@dataclass(frozen=True, slots=True)
class PassSettings:
    """The graphs, and the allowed relative error of results."""

    cases: tuple[GraphCase, ...]
    error: float


def read_pass(t: Table) -> PassSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("graph", "error")
    return PassSettings(read_cases(t), t.number("error", 0.0))


def reply_of_pass(student: Student, settings: PassSettings, question: Mapping[str, Any]) -> Any:
    """Apply the student's function `run(graph, log)` to the graph of a question."""
    run = student.function("run")

    def transform(graph: Graph, log: Log) -> Graph:
        return run(graph, log)

    return reply_to(transform, question, settings.error)


@exercise_kind(read=read_pass, gives=given_cases, reply=reply_of_pass)
def write_pass(j: Judgement, settings: PassSettings, text: str) -> None:
    """Write a graph pass: a function `run(graph, log)` that returns a graph.

    The pass must keep inputs, results and their numbers, and reach the goals of each graph.
    """
    GraphJudge(j, settings.error).judge(settings.cases)
