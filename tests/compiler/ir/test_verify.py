"""Tests that the verifier finds invalid graphs and names the position."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler.ops
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Result
from compiler.ir.text import parse_graph
from compiler.ir.types import tensor
from compiler.ir.verify import Checked, refines, verify

assert compiler.ops.__doc__

GOOD = """graph g(x: f32[N,3]) {
  const w: f32[3,4] = splat(0.5)
  h: f32[N,4] = matmul(x, w)
  y: f32[N,4] = relu(h)
  return y
}"""


def test_a_right_graph_gives_the_types_of_its_values() -> None:
    facts = verify(parse_graph(GOOD))
    assert facts.types["y"] == tensor("f32[N,4]")


@pytest.mark.parametrize(
    ("old", "new", "code", "node"),
    [
        ("relu(h)", "relu(late)", "E-GRAPH-NAME", "y"),
        ("  y: f32[N,4]", "  h: f32[N,4]", "E-GRAPH-NAME", "h"),
        ("  h: f32[N,4]", "  x: f32[N,4]", "E-GRAPH-NAME", "x"),
        ("return y", "return z", "E-GRAPH-NAME", ""),
        ("return y", "return y, y", "E-GRAPH-NAME", ""),
        ("y: f32[N,4]", "y: f32[N,5]", "E-GRAPH-TYPE", "y"),
        ("y: f32[N,4]", "y: f64[N,4]", "E-GRAPH-TYPE", "y"),
        ("w: f32[3,4]", "w: f32[5,4]", "E-OP-SHAPE", "h"),
        ("w: f32[3,4]", "w: f64[3,4]", "E-OP-DTYPE", "h"),
        ("relu(h)", "relu(h, h)", "E-OP-OPERANDS", "y"),
        ("relu(h)", "relu(_)", "E-OP-OPERANDS", "y"),
        ("y: f32[N,4] =", "y: f32[N,4], more: f32[N,4] =", "E-OP-OPERANDS", "y"),
        ("relu(h)", "softmax(h, axis=2)", "E-OP-AXIS", "y"),
    ],
)
def test_what_is_wrong_is_named_with_its_node(old: str, new: str, code: str, node: str) -> None:
    with pytest.raises(CompileError) as e:
        verify(parse_graph(GOOD.replace(old, new)))
    assert e.value.code == code
    assert not node or e.value.where.node == node


def test_nodes_out_of_order_are_refused() -> None:
    g = parse_graph(GOOD)
    with pytest.raises(CompileError) as e:
        verify(replace(g, nodes=g.nodes[::-1]))
    assert e.value.code == "E-GRAPH-NAME"


def test_a_region_may_read_only_what_is_defined_around_it() -> None:
    text = """graph g(x: f32[2,3]) {
  y: f32[2,3] = fusion(x, kind="elementwise") {
    body: graph body(a: f32[2,3]) {
      b: f32[2,3] = relu(elsewhere)
      return b
    }
  }
  return y
}"""
    with pytest.raises(CompileError) as e:
        verify(parse_graph(text))
    assert e.value.code == "E-GRAPH-NAME"


@pytest.mark.parametrize(
    ("recorded", "inferred", "expected"),
    [
        ("f32[2,3]", "f32[...]", True),
        ("f32[2,3]", "f32[N,3]", True),
        ("f32[...]", "f32[2,3]", False),
        ("f32[N,3]", "f32[2,3]", False),
        ("f32[2,3]", "f32[N,3,1]", False),
        ("f64[2,3]", "f32[N,3]", False),
    ],
)
def test_a_record_may_close_what_inference_leaves_open(
    recorded: str, inferred: str, expected: bool
) -> None:
    assert refines(tensor(recorded), tensor(inferred)) is expected


def test_a_second_check_after_a_change_finds_what_a_first_one_would() -> None:
    before = parse_graph(GOOD)
    last = Checked(before, verify(before))
    relu = before.nodes[1]
    wrong = replace(before, nodes=(before.nodes[0], replace(relu, types=(tensor("f32[N,7]"),))))
    narrower = replace(before, inputs=(replace(before.inputs[0], type=tensor("f32[N,5]")),))
    missing = replace(before, nodes=before.nodes[1:])
    unknown = replace(before, results=(Result("y", "gone"),))
    cases: list[tuple[Graph, str]] = [
        (wrong, "E-GRAPH-TYPE"),
        (narrower, "E-OP-SHAPE"),
        (missing, "E-GRAPH-NAME"),
        (unknown, "E-GRAPH-NAME"),
    ]
    for graph, code in cases:
        with pytest.raises(CompileError) as e:
            verify(graph, last=last)
        assert e.value.code == code
    assert verify(before, last=last).types == verify(before).types
