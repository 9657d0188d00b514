"""Exercises on rules: write one, or find and fix the wrong one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph
from compiler.passes.engine.rewrite import apply_rules
from compiler.passes.engine.rule import Rule
from compiler.trace import Log
from course.exercises.declaration import exercise_kind
from course.format.toml import Table
from course.judging.graphs import GraphCase, GraphJudge, given_cases, read_cases, reply_to
from course.judging.judgement import Judgement
from course.student.execute import Student


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """The graphs, the names of the rules, and the allowed relative error of results."""

    cases: tuple[GraphCase, ...]
    rules: tuple[str, ...]
    error: float


def read_rules(t: Table) -> RuleSettings:
    """Read the settings. Errors: E-EXERCISE-FORM."""
    t.only("graph", "rules", "error")
    names = t.texts("rules")
    if not names:
        raise t.fail("`rules` names at least one rule")
    return RuleSettings(read_cases(t), names, t.number("error", 0.0))


def _rules(student: Student, names: Sequence[str]) -> list[Rule]:
    found: list[Rule] = []
    for name in names:
        each = student.names.get(name)
        if not isinstance(each, Rule):
            message = f"the answer defines no rule {name}"
            hint = "declare it with @rule(pattern)"
            raise CompileError("E-ANSWER-FORM", message, where=Where(student.source), hint=hint)
        found.append(each)
    return found


def reply_of_rules(student: Student, settings: RuleSettings, question: Mapping[str, Any]) -> Any:
    """Apply the student's rules to the graph of a question."""
    rules = _rules(student, settings.rules)

    def transform(graph: Graph, log: Log) -> Graph:
        return apply_rules(graph, rules, log)

    return reply_to(transform, question, settings.error)


def _judge(j: Judgement, settings: RuleSettings) -> None:
    applied = GraphJudge(j, settings.error).judge(settings.cases)
    used = {rule for rules in applied.values() for rule in rules}
    for name in settings.rules:
        if name in used:
            j.passed(f"{name} applies")
        elif j.error is None:
            j.failed(f"{name} applies", f"the rule {name} matches nothing in any of the graphs")


@exercise_kind(read=read_rules, gives=given_cases, reply=reply_of_rules)
def write_rule(j: Judgement, settings: RuleSettings, text: str) -> None:
    """Write a rewrite rule: a pattern, and its replacement.

    The rule is applied until nothing changes. Every rewrite must keep the results, each graph must
    reach its goals, and near misses must stay unchanged.
    """
    _judge(j, settings)


@exercise_kind(read=read_rules, gives=given_cases, reply=reply_of_rules)
def fix_rule(j: Judgement, settings: RuleSettings, text: str) -> None:
    """Find and fix the wrong rule among several.

    All rules must still apply, and none of them may change results.
    """
    _judge(j, settings)
