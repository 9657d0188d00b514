from __future__ import annotations

import numpy as np
import pytest

from compiler.check.widen import wide_feeds, widened
from compiler.ir.graph import Graph
from compiler.ir.types import DType, TensorType
from compiler.ir.verify import verify
from compiler.passes import run_pipeline
from compiler.reference import reference
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import graph, random_inputs


def floats(g: Graph) -> set[DType]:
    types = (t for t in g.types.values() if isinstance(t, TensorType))
    return {t.dtype for t in types if t.dtype.is_float}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_become_f64_throughout_and_mean_the_same(name: str) -> None:
    g = NETWORKS[name]
    wide = widened(g)
    verify(wide.graph)
    assert wide.is_wide
    assert floats(wide.graph) == {DType.f64}
    feeds = random_inputs(g)
    own, exact = reference(g, feeds), reference(wide.graph, wide_feeds(feeds))
    for key, value in own.items():
        assert exact[key].dtype == np.float64
        np.testing.assert_allclose(value, exact[key], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_fused_graphs_become_f64_inside(name: str) -> None:
    after, _ = run_pipeline(NETWORKS[name])
    wide = widened(after)
    verify(wide.graph)
    assert wide.is_wide
    for node in wide.graph.nodes:
        for region in node.regions.values():
            assert floats(region) <= {DType.f64}


def test_it_rounds_less() -> None:
    g = graph("""
    graph g(x: f32[1000]) {
      const big: f32[] = literal(100000.0)
      a: f32[1000] = add(x, big)
      b: f32[1000] = sub(a, big)
      return b
    }
    """)
    feeds = random_inputs(g)
    wide = reference(widened(g).graph, wide_feeds(feeds))["b"]
    np.testing.assert_allclose(wide, feeds["x"].astype(np.float64), rtol=1e-9)
    assert np.abs(reference(g, feeds)["b"] - feeds["x"]).max() > 1e-4


def test_casts_to_shorter_floats_go_and_others_stay() -> None:
    g = graph("""
    graph g(x: f32[3]) {
      h: f16[3] = cast(x, to=f16)
      n: i32[3] = cast(h, to=i32)
      y: bf16[3] = cast(n, to=bf16)
      return y
    }
    """)
    wide = widened(g).graph
    assert [str(n.type) for n in wide.nodes] == ["f64[3]", "i32[3]", "f64[3]"]


def test_what_depends_on_bits_stays_narrow_and_is_told() -> None:
    g = graph("""
    graph g(x: f32[3]) {
      a: f32[3] = neg(x)
      b: i32[3] = bitcast(a, to=i32)
      return b
    }
    """)
    wide = widened(g)
    verify(wide.graph)
    assert wide.narrow == ("b",)
    x = np.array([1.5, -2.25, 3.0], np.float32)
    expected = reference(g, {"x": x})["b"]
    np.testing.assert_array_equal(reference(wide.graph, {"x": x.astype("f8")})["b"], expected)


def test_control_flow_stays_narrow_between_casts() -> None:
    g = graph("""
    graph g(x: f32[2,3], n: i64[]) {
      c: f32[2,3] = exp(x)
      y: f32[2,3] = onnx.Loop(n, _, x, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[2,3]) {
          v: f32[2,3] = add(s, c)
          return on, v
        }
      }
      z: f32[2,3] = neg(y)
      return z
    }
    """)
    wide = widened(g)
    verify(wide.graph)
    assert wide.narrow == ("y",)
    assert str(wide.graph.types["z"]) == "f64[2,3]"
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 7
    feeds = {"x": x, "n": np.array(3)}
    made = reference(wide.graph, wide_feeds(feeds))["z"]
    np.testing.assert_allclose(made, -(x + 3 * np.exp(x)), rtol=1e-6)


def test_sequences_stay_narrow_between_casts() -> None:
    g = graph("""
    graph g(x: f32[2,3], many: seq(f32[2,3])) {
      const at: i64[] = literal(0)
      e: f32[2,3] = exp(x)
      s: seq(f32[2,3]) = onnx.SequenceInsert(many, e, opset=18)
      a: f32[2,3] = onnx.SequenceAt(s, at, opset=18)
      y: f32[2,3] = neg(a)
      return s, y
    }
    """)
    wide = widened(g)
    verify(wide.graph)
    assert wide.narrow == ("s", "a")
    assert str(wide.graph.types["s"]) == "seq(f32[2,3])"
    assert str(wide.graph.types["y"]) == "f64[2,3]"
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 7
    made = reference(wide.graph, wide_feeds({"x": x, "many": [x]}))
    np.testing.assert_array_equal(made["y"], -x.astype("f8"))
    np.testing.assert_allclose(made["s"][1], np.exp(x), rtol=1e-6)


def test_open_sizes_stay_open() -> None:
    g = graph("""
    graph g(x: f32[N,3]) {
      const to: i64[2] = literal(-1,1)
      y: f32[3*N,1] = reshape(x, to)
      return y
    }
    """)
    assert str(widened(g).graph.types["y"]) == "f64[3*N,1]"
