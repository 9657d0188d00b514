"""Tests of the ids of nodes through the passes, and of the marks of a pass."""

from __future__ import annotations

from app.drawing import Drawing
from app.wire.graphs import skeleton, stage_graph
from app.wire.identities import Identified, identified
from app.wire.levels import Ways
from app.wire.marks import marks
from compiler import parse
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import parse_pipeline

ABSORBED = """graph g(x: f32[1,3,8,8]) {
  const w: f32[4,3,3,3] = splat(0.5)
  const a: f32[4] = splat(2)
  c: f32[1,4,8,8] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  n: f32[1,4,8,8] = batch_norm(c, a, a, a, a, epsilon=1e-05)
  r: f32[1,4,8,8] = relu(n)
  return r
}
"""


def stages(text: str, pipeline: str) -> list[Graph]:
    """Return the parsed graph, and the graph after each pass."""
    graph = parse(text)
    events = run_pipeline(graph, parse_pipeline(pipeline))[1].events
    return [graph, *(e.after for e in events)]


def test_a_convolution_that_absorbs_a_batch_norm_stays_the_convolution():
    before, after = identified(stages(ABSORBED, "fold_affine"))
    (conv,) = [n for n in after.graph.nodes if n.op == "conv"]
    assert (conv.output, after.id_of(conv)) == ("n", "c")
    found = marks(before, after)
    assert [i for i in found["changed"] if i in {"c", "n", "r"}] == ["c"]
    assert "n" in found["removed"]
    assert "c" not in found["removed"]


def test_the_drawing_keeps_the_box_of_the_convolution_and_ends_that_of_the_batch_norm():
    drawing = Drawing.of([skeleton(g, "→") for g in identified(stages(ABSORBED, "fold_affine"))])
    assert drawing.stages["c"] == [(0, 2)]
    assert drawing.stages["n"] == [(0, 1)]
    assert ("c", "r") in drawing.edges


def test_edges_and_nodes_of_a_stage_use_the_same_ids():
    before, after = identified(stages(ABSORBED, "fold_affine"))
    graph = stage_graph(1, 1, "fold_affine", after, before, "→")
    assert [(n["id"], n["op"]) for n in graph["nodes"]] == [
        ("x", "input"), ("c", "conv"), ("r", "relu"), ("→r", "result"),
    ]  # fmt: skip
    assert [e[:2] for e in graph["edges"]] == [("x", "c"), ("c", "r"), ("r", "→r")]
    assert graph["edges"][1][3] == "n"


def test_a_free_name_never_takes_the_id_of_a_surviving_node():
    def chain(*nodes: str) -> Graph:
        lines = "\n".join(f"  {each}" for each in nodes)
        return parse(f"graph g(x: f32[2]) {{\n{lines}\n  return y\n}}\n")

    first = chain("a: f32[2] = exp(x) @ e", "y: f32[2] = relu(a) @ r")
    absorbed = chain("y: f32[2] = exp(x) @ e <- e, r")
    reused = chain("a: f32[2] = neg(x) @ m", "y: f32[2] = exp(a) @ e <- e, r")
    _, second, third = identified([first, absorbed, reused])
    assert [second.id_of(n) for n in second.graph.nodes] == ["a"]
    assert [third.id_of(n) for n in third.graph.nodes] == ["a#2", "a"]


def test_a_node_of_other_origins_is_not_continued():
    first = parse(
        "graph g(x: f32[2]) {\n  a: f32[2] = exp(x)\n  y: f32[2] = relu(a)\n  return y\n}\n"
    )
    other = parse("graph g(x: f32[2]) {\n  y: f32[2] = exp(x) @ e <- e\n  return y\n}\n")
    before, after = identified([first, other])
    assert [after.id_of(n) for n in after.graph.nodes] == ["y"]
    assert marks(before, after)["removed"] == ["a"]


def test_sizes_instead_of_symbols_refine_types_and_change_nothing():
    graph = parse(
        "graph g(x: f32[N,4]) {\n  a: f32[N,4] = exp(x)\n  y: f32[N,4] = relu(a)\n  return y\n}\n"
    )
    before = Identified(graph)
    found = marks(before, before.after(specialize(graph, {"x": (2, 4)})))
    assert found == {"added": [], "changed": [], "refined": ["a", "y"], "removed": []}


def test_another_element_type_is_a_change():
    def cast(t: str) -> Graph:
        return parse(f"graph g(x: f32[2]) {{\n  y: {t}[2] = cast(x, to={t})\n  return y\n}}\n")

    before = Identified(cast("f16"))
    assert marks(before, before.after(cast("f64")))["changed"] == ["y"]


CHOICE = """graph g(x: f32[N,4], c: bool[]) {{
  {value}: f32[N,4] = onnx.If(c, opset=17) @ choice{origins} {{
    else_branch: graph g() {{
      a: f32[N,4] = {op}(x) @ other
      return a
    }}
    then_branch: graph g() {{
      a: f32[N,4] = exp(x) @ one
      return a
    }}
  }}
  {rest}
}}
"""


def choice(value: str, op: str, origins: str, rest: str) -> Graph:
    return parse(CHOICE.format(value=value, op=op, origins=origins, rest=rest))


def absorbed_choice() -> tuple[Identified, Identified]:
    """Return an If and its reader, and the If after it absorbed the reader."""
    before = choice("a", "neg", "", "y: f32[N,4] = relu(a) @ r\n  return y")
    before, after = identified([before, choice("y", "tanh", " <- choice, r", "return y")])
    return before, after


def test_a_body_keeps_its_way_while_the_control_flow_node_survives():
    before, after = absorbed_choice()
    found = marks(before, after)
    assert (found["added"], found["changed"], found["removed"]) == (
        [], ["a", "a→else_branch→a"], ["y"],
    )  # fmt: skip
    nodes = stage_graph(1, 1, "a pass", after, before, "→")["nodes"]
    assert [n["id"] for n in nodes if n.get("inside") == ("a", "then_branch")] == [
        "a→then_branch→a", "a→then_branch→→a",
    ]  # fmt: skip
    drawing = Drawing.of([skeleton(g, "→") for g in (before, after)])
    assert drawing.stages["a→else_branch→a"] == [(0, 2)]


def test_steps_in_bodies_start_with_the_id_of_the_node():
    before, after = absorbed_choice()
    ways = Ways.of(before, after, "→")
    inside = ("then_branch",)
    assert ways.id((("y", *inside),), "a") == "a→then_branch→a"
    assert ways.id((("a", *inside), ("l", "body")), "s") == "a→then_branch→l→body→s"
    assert ways.id((), "y") == "y"


def test_sizes_instead_of_symbols_refine_types_in_bodies():
    graph = choice("y", "neg", "", "return y")
    before = Identified(graph)
    found = marks(before, before.after(specialize(graph, {"x": (2, 4)})))
    refined = ["y", "y→else_branch→a", "y→then_branch→a"]
    assert found == {"added": [], "changed": [], "refined": refined, "removed": []}


def test_a_node_with_another_number_of_results_is_changed():
    one = parse("graph g(x: f32[N]) {\n  y: f32[N] = onnx.F(x)\n  return y\n}\n")
    two = parse("graph g(x: f32[2]) {\n  y: f32[2], z: f32[2] = onnx.F(x)\n  return y\n}\n")
    before = Identified(one)
    assert marks(before, before.after(two))["changed"] == ["y"]
