"""Tests of resolving foreign operators once folding or given sizes supply their parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.verify import verify
from compiler.passes.control_flow.resolve_foreign import resolve_foreign
from compiler.passes.pipeline.run import _closed_and_checked
from compiler.trace import Log
from tests.onnx_models import model, node, stored, value

WAITING = """
graph g(x: f32[2,3,4], given: i64[1]) {
  const axes: i64[1] = literal(1)
  a: f32[2,4] = onnx.ReduceSum(x, axes, keepdims=0, opset=18)
  b: f32[...] = onnx.ReduceSum(x, given, keepdims=0, opset=18)
  return a, b
}
"""


def test_known_axes_are_taken_up_and_unknown_ones_told_about() -> None:
    graph = compiler.parse(WAITING)
    log = Log()
    after = resolve_foreign.run(graph, log)
    assert [n.op for n in after.nodes][:2] == ["reduce_sum", "onnx.ReduceSum"]
    said = {s.at: (s.outcome, s.because) for s in log.steps}
    assert said["a"][0] == "applied"
    assert said["b"][0] == "declined"
    assert resolve_foreign.run(after) is after
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    feeds = {"x": x, "given": np.array([2])}
    for made, needed in zip(
        compiler.reference(after, feeds).values(),
        compiler.reference(graph, feeds).values(),
        strict=True,
    ):
        np.testing.assert_allclose(made, needed, rtol=1e-5)


def test_axes_counted_from_the_rank_are_known_when_importing() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Size", ["s"], ["rank"]),
        node("Range", ["one", "rank", "one"], ["axes"]),
        node("ReduceMax", ["x", "axes"], ["y"]),
    ]
    made = model(
        nodes, initialisers=[stored("one", 1, np.int64)], opset=18, outputs=[value("y", None)]
    )
    assert "reduce_max" in [n.op for n in compiler.load(made.SerializeToString()).nodes]


def test_readers_of_an_imported_shape_get_its_elements_as_their_sizes() -> None:
    text = """
    graph g(x: f64[1,3]) {
      s: f64[3] = onnx.Squeeze(x, opset=20)
      n: i64[1] = onnx.Shape(s, opset=20)
      y: f32[K] = fill(n, value=0.5, dtype=f32)
      z: f32[K] = neg(y)
      return z
    }
    """
    after = resolve_foreign.run(compiler.parse(text), Log())
    verify(after)
    assert [str(after.types[name]) for name in "yz"] == ["f32[3]", "f32[3]"]


def test_a_type_that_a_pass_leaves_open_is_closed() -> None:
    before = compiler.parse(
        "graph g(n: i64[1]) {\n  y: f32[K] = fill(n, value=0.5, dtype=f32)\n  return y\n}"
    )
    known = compiler.parse(
        "graph g(n: i64[1]) {\n  const c: i64[1] = literal(7)\n"
        "  y: f32[7] = fill(c, value=0.5, dtype=f32)\n  return y\n}"
    )
    left_open = replace(known, nodes=(replace(known.nodes[0], types=before.nodes[0].types),))
    with pytest.raises(CompileError):
        verify(left_open)
    assert str(_closed_and_checked(left_open, None).graph.types["y"]) == "f32[7]"
