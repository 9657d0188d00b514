"""Tests of running pipelines: events, verification after every pass, and faulty passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from compiler.errors import CompileError
from compiler.ir.graph import Graph, Result
from compiler.ir.infer import Facts
from compiler.ir.text import parse_graph
from compiler.ir.types import tensor
from compiler.ir.verify import Checked, verify
from compiler.passes import PASSES, PassBug, run_pipeline
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Event, Log
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import graph

EXAMPLE = """
graph g(x: f32[3]) { return x }
=>
graph g(x: f32[3]) { return x }
"""


@pytest.fixture(autouse=True)
def _own_passes() -> Iterator[None]:
    before = dict(PASSES)
    yield
    PASSES.clear()
    PASSES.update(before)


def broken(name: str, error: Exception | None = None) -> None:
    def fn(graph: Graph, log: Log) -> Graph:
        """Return an invalid graph, or raise an exception."""
        if error is not None:
            raise error
        last = replace(graph.nodes[-1], types=(tensor("f32[9,9]"),))
        return replace(graph, nodes=(*graph.nodes[:-1], last))

    fn.__name__ = name
    graph_pass(example=EXAMPLE)(fn)


def test_there_is_an_event_per_pass_in_order() -> None:
    g = NETWORKS["elementwise"]
    after, trace = run_pipeline(
        g,
        "cost_analysis,dead_code_elimination,common_subexpression_elimination,dead_code_elimination",
    )
    assert [e.name for e in trace.events] == [
        "cost_analysis",
        "dead_code_elimination",
        "common_subexpression_elimination",
        "dead_code_elimination",
    ]
    assert [e.changed for e in trace.events] == [False, True, True, False]
    assert trace.events[0].before is g
    assert trace.events[-1].after is after
    for a, b in zip(trace.events, trace.events[1:], strict=False):
        assert a.after is b.before
    assert all(e.seconds >= 0 and e.words == PASSES[e.name].title for e in trace.events)
    assert trace.events[1].steps[0].rule == "dead_code_elimination"


def test_progress_is_told_each_event_as_it_happens() -> None:
    told: list[Event] = []
    _, trace = run_pipeline(NETWORKS["cnn"], "O1", progress=told.append)
    assert told == trace.events


def test_declined_steps_can_be_left_out() -> None:
    _, kept = run_pipeline(NETWORKS["cnn"], "default")
    _, left = run_pipeline(NETWORKS["cnn"], "default", keep_declined=False)
    outcomes = {s.outcome for e in kept.events for s in e.steps}
    assert outcomes == {"applied", "declined"}
    assert {s.outcome for e in left.events for s in e.steps} == {"applied"}


def test_a_pass_that_breaks_the_graph_is_named_with_those_before() -> None:
    broken("break_types")
    with pytest.raises(PassBug) as e:
        run_pipeline(NETWORKS["cnn"], "dead_code_elimination,cost_analysis,break_types,fuse")
    assert e.value.pass_name == "break_types"
    assert e.value.ran == ("dead_code_elimination", "cost_analysis")
    assert "E-GRAPH-TYPE" in str(e.value)
    assert "after dead_code_elimination, cost_analysis" in str(e.value)
    run_pipeline(NETWORKS["cnn"], "break_types", verify=False)


def test_a_pass_that_fails_is_named() -> None:
    broken("fail", ValueError("seven"))
    with pytest.raises(PassBug, match="ValueError: seven") as e:
        run_pipeline(NETWORKS["cnn"], "fail")
    assert isinstance(e.value.__cause__, ValueError)


def test_an_error_of_a_rule_is_a_bug_but_a_model_file_that_has_gone_is_not() -> None:
    broken("shape", CompileError("E-OP-SHAPE", "wrong"))
    broken("gone", CompileError("E-MODEL-FILE", "gone"))
    with pytest.raises(PassBug):
        run_pipeline(NETWORKS["cnn"], "shape")
    with pytest.raises(CompileError, match="E-MODEL-FILE"):
        run_pipeline(NETWORKS["cnn"], "gone")


def test_a_graph_that_is_wrong_from_the_start_is_the_callers() -> None:
    wrong = parse_graph("graph g(x: f32[3]) { a: f32[4] = relu(x) return a }")
    with pytest.raises(CompileError, match="E-GRAPH-TYPE"):
        run_pipeline(wrong, "dead_code_elimination")


def visited(after: Graph, last: Checked, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Outputs of the nodes whose types are inferred again."""
    seen: list[str] = []
    visit = Facts.visit

    def counting(self: Facts, node: object) -> object:
        seen.append(node.output)  # type: ignore[attr-defined]
        return visit(self, node)  # type: ignore[arg-type]

    monkeypatch.setattr(Facts, "visit", counting)
    verify(after, last=last)
    monkeypatch.undo()
    return seen


CHAIN = """
graph g(x: f32[2,3]) {
  const w: f32[3,4] = splat(0.5)
  a: f32[2,3] = relu(x)
  b: f32[2,4] = matmul(a, w)
  c: f32[2,4] = exp(b)
  s: i64[2] = shape(c)
  d: f32[2,4] = expand(c, s)
  return d
}
"""


def test_only_what_changed_is_inferred_again(monkeypatch: pytest.MonkeyPatch) -> None:
    g = graph(CHAIN)
    last = Checked(g, verify(g))
    assert visited(g, last, monkeypatch) == []
    b = replace(g.nodes[1])
    after = replace(g, nodes=(g.nodes[0], b, *g.nodes[2:]))
    assert visited(after, last, monkeypatch) == ["b"]
    assert verify(after, last=last).known["s"].tolist() == [2, 4]


def test_readers_of_a_value_whose_type_changed_are_inferred_again() -> None:
    g = graph(CHAIN)
    last = Checked(g, verify(g))
    wider = {"w": replace(g.constants["w"], type=tensor("f32[3,5]"))}
    b = replace(g.nodes[1], types=(tensor("f32[2,5]"),))
    after = replace(g, nodes=(g.nodes[0], b, *g.nodes[2:]), constants=wider)
    with pytest.raises(CompileError, match="'c' is recorded as f32"):
        verify(after, last=last)


def test_readers_of_a_constant_whose_elements_changed_are_inferred_again() -> None:
    text = """
    graph g(x: f32[2,3]) {
      const s: i64[2] = literal(%s)
      y: f32[3,2] = reshape(x, s)
      return y
    }
    """
    g, other = graph(text % "3,2"), parse_graph(text % "1,6")
    mixed = replace(g, constants=other.constants)
    with pytest.raises(CompileError, match="E-GRAPH-TYPE"):
        verify(mixed, last=Checked(g, verify(g)))


def test_a_name_that_is_gone_is_missed_although_its_reader_is_the_same() -> None:
    g = graph(CHAIN)
    last = Checked(g, verify(g))
    with pytest.raises(CompileError, match="E-GRAPH-NAME"):
        verify(replace(g, nodes=g.nodes[1:]), last=last)
    with pytest.raises(CompileError, match="E-GRAPH-NAME"):
        verify(replace(g, nodes=g.nodes[:3], results=(Result("d", "d"),)), last=last)
