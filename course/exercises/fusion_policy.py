"""The exercise to write a fusion policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.fuse import carried_out
from compiler.passes.fusion.policy import Limits, Plan
from compiler.trace import Log
from course.exercises.declaration import exercise_kind
from course.format.toml import Table
from course.graphs import read_graph
from course.judging.graphs import GraphCase, GraphJudge, given_cases, read_cases, reply_to
from course.judging.judgement import Judgement
from course.student.execute import Student


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The graphs, the limit on nodes of a group, and the allowed relative error of results."""

    cases: tuple[GraphCase, ...]
    max_nodes: int
    error: float


def read_policy(t: Table) -> PolicySettings:
    """Read the settings; every graph also has the goal of no fallback. Errors: E-EXERCISE-FORM."""
    t.only("graph", "max_nodes", "error")
    cases = tuple(
        GraphCase(c.name, c.text, c.types, c.sizes, {**c.goals, "fallbacks": 0}, c.same)
        for c in read_cases(t)
    )
    return PolicySettings(cases, t.integer("max_nodes", 32), t.number("error", 1e-6))


def reply_of_policy(student: Student, settings: PolicySettings, question: Mapping[str, Any]) -> Any:
    """Fuse the graph of a question by the student's `policy(graph, limits, log)`."""
    policy, limits = student.function("policy"), Limits(settings.max_nodes, True)

    def transform(graph: Graph, log: Log) -> Graph:
        plan = policy(graph, limits, log)
        if not isinstance(plan, Plan):
            message = f"expected a Plan, got {type(plan).__name__}"
            raise CompileError("E-ANSWER-FORM", message)
        return carried_out(plan, log)

    return reply_to(transform, question, settings.error)


@dataclass(slots=True)
class PolicyJudge(GraphJudge):
    """The judge of a policy; a kernel may hold at most `max_nodes` nodes."""

    max_nodes: int = 32

    def one(self, case: GraphCase, name: str, before: Graph, value: Any) -> None:
        """Test the kernels, then the graph that the policy made of one graph."""
        for node in _kernels(value):
            n = len(node.regions["body"].nodes)
            if n > self.max_nodes:
                self.j.failed(
                    name,
                    f"the kernel that computes {node.output} holds {n} nodes; at most "
                    f"{self.max_nodes} are allowed",
                    {"graph": str(before), "answer": value["graph"]},
                )
                return
        GraphJudge.one(self, case, name, before, value)


def _kernels(value: Any) -> list[Node]:
    """Return the fused nodes of an answer; [] if it is no graph."""
    text = value.get("graph") if isinstance(value, Mapping) else None
    try:
        graph = read_graph(text, "answer") if isinstance(text, str) else None
    except CompileError:
        return []
    return [n for n in graph.nodes if n.op == "fusion"] if graph is not None else []


@exercise_kind(read=read_policy, gives=given_cases, reply=reply_of_policy)
def write_policy(j: Judgement, settings: PolicySettings, text: str) -> None:
    """Write a fusion policy: a function `policy(graph, limits, log)` that returns a `Plan`.

    Every group must be a kernel that the compiler can generate, with at most `max_nodes` nodes.
    Results must stay the same, and each graph must reach its goals.
    """
    PolicyJudge(j, settings.error, max_nodes=settings.max_nodes).judge(settings.cases)
