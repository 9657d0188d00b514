"""Tests of resolving foreign operators once folding or given sizes supply their parameters."""

from __future__ import annotations

import numpy as np

import compiler
from compiler.passes.control_flow.resolve_foreign import resolve_foreign
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
