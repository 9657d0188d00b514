"""Tests of fused groups: created from connected nodes, typed by their bodies, same results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result
from compiler.ir.infer import specialize
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.ops.fusion import fuse_nodes
from compiler.reference import reference

CHAIN = """graph g(x: f32[N,3], w: f32[3,4]) {
  const half: f32[] = literal(0.5)
  const rows: f32[4] = splat(2.0)
  h: f32[N,4] = matmul(x, w) @ product <- m0
  s: f32[N,4] = mul(h, half)
  t: f32[N,4] = add(s, rows)
  u: f32[N,4] = relu(t) @ act <- r0, r1
  v: f32[N,4] = neg(u)
  return v, other=u
}"""


def put_in(g: Graph, group: list[Node], fused: Node) -> Graph:
    """Return the graph with a fusion in place of a group of nodes."""
    nodes = [fused if n is group[-1] else n for n in g.nodes if n is group[-1] or n not in group]
    read = {i for n in nodes for i in n.reads}
    constants = {k: c for k, c in g.constants.items() if k in read}
    return replace(g, nodes=tuple(nodes), constants=constants)


def chain() -> Graph:
    g = parse_graph(CHAIN)
    verify(g)
    return g


def assert_same_results(a: Graph, b: Graph) -> None:
    chance = np.random.default_rng(0)
    inputs = {
        v.name: chance.normal(size=(3, 3) if v.name == "x" else (3, 4)).astype(np.float32)
        for v in a.inputs
    }
    for x, y in zip(reference(a, inputs).values(), reference(b, inputs).values(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_group_becomes_one_node_with_the_names_of_its_output() -> None:
    g = chain()
    group = list(g.nodes[:4])
    fused = fuse_nodes(g, group, "contraction")
    assert (fused.op, fused.name, fused.outputs) == ("fusion", "act", ("u",))
    assert fused.inputs == ("x", "w")
    assert fused.attrs == {"kind": "contraction"}
    assert fused.origins == ("m0", "s", "t", "r0", "r1")
    assert set(fused.regions["body"].constants) == {"half", "rows"}
    made = put_in(g, group, fused)
    verify(made)
    assert parse_graph(str(made)) == made
    assert_same_results(g, made)


def test_layouts_stay_outside_and_inside() -> None:
    g = parse_graph("""graph g(x: f32[1,16,4,4]) {
  b: f32[1,16,4,4]{c16} = relayout(x)
  r: f32[1,16,4,4]{c16,halo=1x1} = relu(b)
  n: f32[1,16,4,4]{c16} = neg(r)
  y: f32[1,16,4,4] = relayout(n)
  return y
}""")
    verify(g)
    group = list(g.nodes[1:3])
    fused = fuse_nodes(g, group, "elementwise")
    assert str(fused.type) == "f32[1,16,4,4]{c16}"
    body = fused.regions["body"]
    assert str(body.inputs[0].type) == "f32[1,16,4,4]{c16}"
    assert str(body.types["r"]) == "f32[1,16,4,4]{c16,halo=1x1}"
    made = put_in(g, group, fused)
    verify(made)
    assert parse_graph(str(made)) == made
    closed = specialize(made, {"x": (1, 16, 4, 4)})
    assert closed == made


def test_fusions_merge_and_names_inside_do_not_meet() -> None:
    g = chain()
    first = fuse_nodes(g, g.nodes[:2], "contraction")
    once = put_in(g, list(g.nodes[:2]), first)
    # Both bodies have the same names, and a body input whose name is not an operand's any more.
    body = first.regions["body"]
    clash = parse_graph(
        """graph g(x: f32[N,3], w: f32[3,4]) {
  a: f32[N,4] = fusion(x, w, kind="a") {
    body: graph b(p: f32[N,3], q: f32[3,4]) {
      const one: f32[] = literal(3.0)
      t: f32[N,4] = matmul(p, q)
      r: f32[N,4] = mul(t, one)
      return r
    }
  }
  y: f32[N,4] = fusion(a, kind="b") {
    body: graph b(p: f32[N,4]) {
      const one: f32[] = literal(0.5)
      t: f32[N,4] = add(p, one)
      r: f32[N,4] = exp(t)
      return r
    }
  }
  return y
}"""
    )
    assert body.result_values == {"s"}
    verify(clash)
    both = replace(clash, nodes=(fuse_nodes(clash, clash.nodes, "c"),))
    verify(both)
    assert len(both.nodes[0].regions["body"].nodes) == 4
    assert_same_results(clash, both)
    group = list(once.nodes[:3])
    twice = put_in(once, group, fuse_nodes(once, group, "contraction"))
    verify(twice)
    assert_same_results(g, twice)


def test_an_editor_answers_as_the_graph_does() -> None:
    g = chain()
    assert fuse_nodes(Editor(g), g.nodes[:3], "k") == fuse_nodes(g, g.nodes[:3], "k")


def test_large_constants_stay_outside() -> None:
    g = parse_graph(
        """graph g(x: f32[2,20]) {{
  const big: f32[20] = literal({})
  a: f32[2,20] = add(x, big)
  y: f32[2,20] = relu(a)
  return y
}}""".format(",".join(map(str, range(20))))
    )
    fused = fuse_nodes(g, g.nodes, "elementwise")
    assert fused.inputs == ("x", "big")
    assert fused.regions["body"].constants == {}


def test_what_is_read_outside_is_an_output_each() -> None:
    g = chain()
    group = list(g.nodes[:4])
    made = replace(g, results=(*g.results, Result("half", "s")))
    fused = fuse_nodes(made, group, "contraction")
    assert (fused.outputs, fused.name) == (("s", "u"), "s")
    assert [(r.name, r.value) for r in fused.regions["body"].results] == [("s", "s"), ("u", "u")]
    assert [str(t) for t in fused.types] == ["f32[N,4]", "f32[N,4]"]
    after = put_in(made, group, fused)
    verify(after)
    assert parse_graph(str(after)) == after
    assert_same_results(made, after)


def test_a_group_with_several_outputs_is_merged_into_another() -> None:
    g = chain()
    once = put_in(g, list(g.nodes[3:]), fuse_nodes(g, g.nodes[3:], "elementwise"))
    both = replace(once, nodes=(fuse_nodes(once, once.nodes, "contraction"),))
    verify(both)
    assert both.nodes[0].outputs == ("u", "v")
    assert [n.op for n in both.nodes[0].regions["body"].nodes] == [
        "matmul",
        "mul",
        "add",
        "relu",
        "neg",
    ]
    assert_same_results(g, both)


def test_specialising_reaches_into_bodies() -> None:
    g = chain()
    made = put_in(g, list(g.nodes[:4]), fuse_nodes(g, g.nodes[:4], "contraction"))
    closed = specialize(made, {"x": (5, 3)})
    verify(closed)
    assert str(closed.nodes[0].regions["body"].nodes[0].type) == "f32[5,4]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("body: graph b(p: f32[2,3])", "body: graph b(p: f32[2,4])"),
        ("body: graph b(p: f32[2,3])", "body: graph b(p: f32[2,3], q: f32[2])"),
        ("body: graph b", "other: graph b"),
        ("t: f32[2,3] = relu(p)", "t: f32[2,5] = relu(p)"),
        ("t: f32[2,3] = relu(p)", "t: f32[2,3] = relu(x)"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(old: str, new: str) -> None:
    text = """graph g(x: f32[2,3]) {
  y: f32[2,3] = fusion(x, kind="k") {
    body: graph b(p: f32[2,3]) {
      t: f32[2,3] = relu(p)
      return t
    }
  }
  return y
}"""
    verify(parse_graph(text))
    assert old in text
    with pytest.raises(CompileError) as caught:
        verify(parse_graph(text.replace(old, new)))
    assert caught.value.code == "E-GRAPH-TYPE"
