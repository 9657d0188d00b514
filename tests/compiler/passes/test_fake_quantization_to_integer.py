"""Tests of integer products: conditions, reasons for refusals, and correct results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.passes import PASSES, run_pipeline
from compiler.reference import reference
from compiler.trace import Log


def run(text: str, pipeline: str) -> tuple[Graph, Graph, list[str]]:
    """Return the graph before and after, and the reasons for declined rewrites."""
    before = parse_graph(text)
    after, trace = run_pipeline(before, pipeline)
    verify(after)
    reasons = [s.because for e in trace.events for s in e.steps if s.outcome == "declined"]
    return before, after, reasons


def feeds(graph: Graph) -> dict[str, np.ndarray[Any, Any]]:
    chance = np.random.default_rng(5)
    made: dict[str, np.ndarray[Any, Any]] = {}
    for v in graph.inputs:
        t = v.type
        shape, dtype = t.static_shape, t.dtype.numpy  # type: ignore[union-attr]
        if dtype.kind == "f":
            made[v.name] = chance.normal(0, 3, shape).astype(dtype)
        else:
            info = np.iinfo(dtype)
            made[v.name] = chance.integers(info.min, info.max + 1, shape).astype(dtype)
    return made


def ops(graph: Graph) -> list[str]:
    return [n.op for n in graph.nodes]


def dequantized_convolution(x: str, zero: int, w: str, of_w: int, groups: int = 1) -> str:
    return f"""
    graph g(x: {x}[2,8,5,6], v: {w}[12,{8 // groups},3,3]) {{
      const s: f32[] = literal(0.05)
      const z: {x}[] = literal({zero})
      const t: f32[] = literal(0.02)
      const o: {w}[] = literal({of_w})
      const one: f32[] = literal(1.5)
      a: f32[2,8,5,6] = dequantize(x, s, z, to=f32)
      b: f32[12,{8 // groups},3,3] = dequantize(v, t, o, to=f32)
      y: f32[2,12,5,6] = conv(a, b, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups={groups})
      return y
    }}"""


def with_constant(text: str, name: str) -> Graph:
    """Return a graph with an input fixed to random quantized values."""
    graph = parse_graph(text)
    values = feeds(graph)[name]
    ed = Editor(graph)
    ed.inputs = [v for v in ed.inputs if v.name != name]
    made = ed.add_constant(values, f"{name}.fixed")
    ed.replace(name, made)
    return ed.graph()


@pytest.mark.parametrize(
    ("x", "zero", "w", "of_w"), [("u8", 131, "i8", 0), ("i8", -7, "i8", 0), ("u8", 0, "u8", 128)]
)
def test_a_convolution_of_dequantized_numbers_is_one_of_codes(
    x: str, zero: int, w: str, of_w: int
) -> None:
    before = with_constant(dequantized_convolution(x, zero, w, of_w), "v")
    after, _ = run_pipeline(before, "fake_quantization_to_integer")
    assert ops(after)[0] == "conv_codes"
    assert "conv" not in ops(after)
    assert after.nodes[0].attrs["around"] == zero
    inputs = feeds(before)
    wanted, found = reference(before, inputs)["y"], reference(after, inputs)["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
    program = compiler.compile(before, trace=False)
    np.testing.assert_allclose(program.run(inputs)["y"], wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("x", "zero"), [("u8", 131), ("i8", -7)])
@pytest.mark.parametrize("of_w", [0, 90, 255])
def test_weights_less_their_zero_point_need_be_no_bytes(x: str, zero: int, of_w: int) -> None:
    before = with_constant(dequantized_convolution(x, zero, "u8", of_w), "v")
    after, _ = run_pipeline(before, "fake_quantization_to_integer,hoist_zero_points")
    verify(after)
    assert {"conv_codes", "window_sums"} <= set(ops(after))
    assert not {"conv", "conv_integer"} & set(ops(after))
    inputs = feeds(before)
    wanted = reference(before, inputs)["y"]
    np.testing.assert_allclose(reference(after, inputs)["y"], wanted, rtol=1e-5, atol=1e-4)
    made = compiler.compile(before, trace=False).run(inputs)["y"]
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-4)


def test_columns_less_their_zero_points_need_be_no_bytes() -> None:
    before = with_constant(
        """
        graph g(x: u8[5,16], v: u8[16,9]) {
          const s: f32[] = literal(0.05)
          const z: u8[] = literal(131)
          const t: f32[9] = literal(0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08,0.09)
          const o: u8[9] = literal(0,10,255,128,127,129,3,200,90)
          a: f32[5,16] = dequantize(x, s, z, to=f32)
          b: f32[16,9] = dequantize(v, t, o, to=f32, axis=1)
          y: f32[5,9] = matmul(a, b)
          return y
        }""",
        "v",
    )
    after, _ = run_pipeline(before, "fake_quantization_to_integer,hoist_zero_points")
    verify(after)
    assert "matmul" not in ops(after)
    inputs = feeds(before)
    wanted = reference(before, inputs)["y"]
    np.testing.assert_allclose(reference(after, inputs)["y"], wanted, rtol=1e-5, atol=1e-4)
    made = compiler.compile(before, trace=False).run(inputs)["y"]
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-4)


def test_what_has_no_codes_to_multiply_says_why() -> None:
    for text, reason in (
        (dequantized_convolution("u8", 3, "i8", 0, groups=4), "4 groups of 2 channels"),
    ):
        log = Log()
        PASSES["fake_quantization_to_integer"].run(with_constant(text, "v"), log)
        assert any(reason in s.because for s in log.steps if s.outcome == "declined")
    _, after, reasons = run(
        dequantized_convolution("u8", 3, "i8", 0), "fake_quantization_to_integer"
    )
    assert "conv" in ops(after)
    assert any("not constant" in r for r in reasons)


def matrix(a: str, b: str, zeros: str, inputs: str = "") -> str:
    return f"""
    graph g(x: {a}[3,5]{inputs}, v: {b}[5,7]) {{
      y: i32[3,7] = matmul_integer(x, v{zeros})
      return y
    }}"""


@pytest.mark.parametrize(
    ("text", "n_sums"),
    [
        (matrix("u8", "i8", ", z", ", z: u8[]"), 0),
        (matrix("i8", "i8", ", z", ", z: i8[1]"), 0),
        (matrix("u8", "u8", ""), 1),
    ],
)
def test_zero_points_are_taken_out_of_products_exactly(text: str, n_sums: int) -> None:
    before = with_constant(text, "v")
    after, _ = run_pipeline(before, "hoist_zero_points")
    (product,) = [n for n in after.nodes if n.op == "matmul_integer"]
    assert not any(product.inputs[2:])
    assert ops(after).count("reduce_sum") == n_sums
    inputs = feeds(before)
    wanted = reference(before, inputs)["y"]
    np.testing.assert_array_equal(reference(after, inputs)["y"], wanted)
    program = compiler.compile(before, trace=False)
    np.testing.assert_array_equal(program.run(inputs)["y"], wanted)


def test_unsigned_integers_keep_nan_and_infinities() -> None:
    text = """
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      const z: i8[] = literal(-3)
      q: i8[2,3] = quantize(x, s, z, to=i8, precision=f32)
      y: f32[2,3] = dequantize(q, s, z, to=f32)
      return y
    }"""
    before, after, _ = run(text, "qdq_s8_to_u8")
    assert "u8" in str(after)
    inputs = {"x": np.array([[np.nan, np.inf, -np.inf], [1e3, -1e3, 0.26]], np.float32)}
    # The smallest i8 is -128, and the largest 127.
    wanted = np.array([[-12.5, 13, -12.5], [13, -12.5, 0.3]], np.float32)
    for made in (reference(before, inputs), reference(after, inputs)):
        np.testing.assert_allclose(made["y"], wanted, rtol=1e-6)
    for pipeline in ("none", "default"):
        made = compiler.compile(before, pipeline, trace=False).run(inputs)
        np.testing.assert_allclose(made["y"], wanted, rtol=1e-6)


def test_signed_codes_that_are_results_stay_signed() -> None:
    text = """
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      q: i8[2,3] = quantize(x, s, to=i8, precision=f32)
      y: f32[2,3] = dequantize(q, s, to=f32)
      return q, y
    }"""
    before, after, reasons = run(text, "qdq_s8_to_u8")
    assert after is before
    assert any("is a result" in r for r in reasons)


def test_weights_of_products_stay_codes_where_that_is_asked_for() -> None:
    before = with_constant(dequantized_convolution("u8", 3, "i8", 0), "v")
    assert ops(run_pipeline(before, "fold_constants{keep_codes=true}")[0]).count("dequantize") == 2
    assert ops(run_pipeline(before, "fold_constants")[0]).count("dequantize") == 1


CHAIN = """
    graph g(x: f32[1,3,9,8]) {
      const s: f32[] = literal(0.0513)
      const z: u8[] = literal(131)
      const t: f32[] = literal(0.0217)
      const w: i8[24,3,3,3] = splat(9)
      const v: i8[24,24,3,3] = splat(-3)
      p: u8[1,3,9,8] = quantize(x, s, z, to=u8, precision=f32)
      a: f32[1,3,9,8] = dequantize(p, s, z, to=f32)
      b: f32[24,3,3,3] = dequantize(w, t, to=f32)
      m: f32[1,24,9,8] = conv(a, b, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      q: u8[1,24,9,8] = quantize(m, s, z, to=u8, precision=f32)
      c: f32[1,24,9,8] = dequantize(q, s, z, to=f32)
      d: f32[24,24,3,3] = dequantize(v, t, to=f32)
      n: f32[1,24,9,8] = conv(c, d, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      r: u8[1,24,9,8] = quantize(n, s, z, to=u8, precision=f32)
      e: f32[1,24,9,8] = dequantize(r, s, z, to=f32)
      o: f32[1,24,9,8] = add(e, c)
      u: u8[1,24,9,8] = quantize(o, s, z, to=u8, precision=f32)
      y: f32[1,24,9,8] = dequantize(u, s, z, to=f32)
      return y
    }"""


def test_a_network_of_codes_lies_in_blocks_with_its_zero_point_around_it() -> None:
    before = parse_graph(CHAIN)
    after, _ = run_pipeline(before, "default")
    layouts = {str(t).partition("{")[2] for n in after.nodes for t in n.types}
    assert {"c4,halo=1x1,around=131}", "c16,halo=1x1,around=131}"} <= layouts
    second = [n for n in after.nodes if n.op == "fusion"][-1]
    body = [n.op for n in second.regions["body"].nodes]
    assert body.count("dequantize") >= 2, "the residual is read as bytes"
    inputs = feeds(before)
    wanted = reference(before, inputs)["y"]
    made = compiler.compile(before, trace=False).run(inputs)["y"]
    assert np.abs(made - wanted).max() <= 0.0514, "a quantized value may differ by one step"
    assert (np.abs(made - wanted) > 1e-4).mean() < 0.01


ACTIVATED = """
    graph g(x: u8[1,32,9,8], v: i8[32,{of_group},3,3]) {{
      const s: f32[] = literal(0.0513)
      const z: u8[] = literal(131)
      const t: f32[] = literal(0.0217)
      const third: f32[] = literal(0.3)
      const half: f32[] = literal(0.5)
      const none: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      const hs: f32[] = literal(0.0039)
      const hz: u8[] = literal(0)
      a: f32[1,32,9,8] = dequantize(x, s, z, to=f32)
      b: f32[32,{of_group},3,3] = dequantize(v, t, to=f32)
      m: f32[1,32,9,8] = conv(a, b, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups={groups})
      q: u8[1,32,9,8] = quantize(m, s, z, to=u8, precision=f32)
      c: f32[1,32,9,8] = dequantize(q, s, z, to=f32)
      {gate}
      h: u8[1,32,9,8] = quantize(g, hs, hz, to=u8, precision=f32)
      i: f32[1,32,9,8] = dequantize(h, hs, hz, to=f32)
      o: f32[1,32,9,8] = mul({left}, i)
      u: u8[1,32,9,8] = quantize(o, s, z, to=u8, precision=f32)
      y: f32[1,32,9,8] = dequantize(u, s, z, to=f32)
      return y
    }}"""

GATES = {
    "hard-swish": (
        "d: f32[1,32,9,8] = mul(c, third) e: f32[1,32,9,8] = add(d, half)"
        " g: f32[1,32,9,8] = clip(e, none, one)",
        "c",
    ),
    "swish": ("g: f32[1,32,9,8] = sigmoid(c)", "c"),
    "swish, squared": (
        "d: f32[1,32,9,8] = sigmoid(c) e: f32[1,32,9,8] = mul(c, d)"
        " p: u8[1,32,9,8] = quantize(e, s, z, to=u8, precision=f32)"
        " r: f32[1,32,9,8] = dequantize(p, s, z, to=f32) g: f32[1,32,9,8] = mul(r, r)",
        "r",
    ),
    "swish of a residual": ("r: f32[1,32,9,8] = add(c, a) g: f32[1,32,9,8] = sigmoid(r)", "r"),
}
"""A factor computed from the results of a convolution, and the value that it multiplies."""


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("groups", [1, 32])
def test_a_convolution_read_by_both_factors_stays_in_blocks_and_steps(
    gate: str, groups: int
) -> None:
    made, left = GATES[gate]
    text = ACTIVATED.format(gate=made, left=left, groups=groups, of_group=32 // groups)
    before = with_constant(text, "v")
    program = compiler.compile(before, trace=False)
    loops = str(program.emit("loops"))
    assert "temporary" not in loops, "the activation is applied when the sums are stored"
    assert ("dot " in loops) is (groups == 1)
    inputs = feeds(before)
    y, wanted = program.run(inputs)["y"], reference(before, inputs)["y"]
    assert np.unique(wanted).size > 50
    assert np.abs(y - wanted).max() <= 0.0514, "a quantized value may differ by one step"
    assert (np.abs(y - wanted) > 1e-4).mean() < 0.01


def test_depthwise_convolutions_of_codes_keep_their_numbers() -> None:
    text = """
    graph g(x: u8[1,24,9,8], v: i8[24,1,3,3]) {
      const s: f32[] = literal(0.05)
      const z: u8[] = literal(131)
      const t: f32[] = literal(0.02)
      a: f32[1,24,9,8] = dequantize(x, s, z, to=f32)
      b: f32[24,1,3,3] = dequantize(v, t, to=f32)
      y: f32[1,24,9,8] = conv(a, b, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups=24)
      return y
    }"""
    before = with_constant(text, "v")
    after, _ = run_pipeline(before, "default")
    assert "conv_codes" in str(after)
    inputs = feeds(before)
    made = compiler.compile(before, trace=False).run(inputs)["y"]
    np.testing.assert_allclose(made, reference(before, inputs)["y"], rtol=1e-5, atol=1e-4)


BY_RUN = """
graph g(x: f32[5,16], v: i8[{shape}]) {{
  const t: f32[{scales}] = {values}
  c: u8[5,16], s: f32[], z: u8[] = dynamic_quantize(x)
  a: f32[5,16] = dequantize(c, s, z, to=f32)
  b: f32[{shape}] = dequantize(v, t, to=f32, axis={axis})
  y: f32[5,24] = matmul(a, b, transpose_b={turned})
  return y
}}"""


@pytest.mark.parametrize(
    "case",
    [
        {"shape": "16,24", "scales": "", "values": "literal(0.25)", "axis": 1, "turned": "false"},
        {"shape": "24,16", "scales": "24", "values": "splat(0.5)", "axis": 0, "turned": "true"},
    ],
)
def test_scales_that_a_run_tells_are_multiplied_behind_the_sums(case: dict[str, Any]) -> None:
    g = with_constant(BY_RUN.format(**case), "v")
    after, _ = run_pipeline(g, "fake_quantization_to_integer,hoist_zero_points")
    verify(after)
    assert "matmul" not in ops(after)
    assert ops(after).count("matmul_integer") == 1
    x = {k: v for k, v in feeds(g).items() if k == "x"}
    (expected,), (found,) = (reference(h, x).values() for h in (g, after))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    (made,) = compiler.compile(g).run(x).values()
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-4)


def test_weights_outside_of_a_loop_meet_codes_inside() -> None:
    g = with_constant(
        """
        graph g(x: f32[4,2,16], h0: f32[2,16], v: i8[1,16,16]) {
          const t: f32[] = literal(0.01)
          b: f32[1,16,16] = dequantize(v, t, to=f32)
          d: f32[16,16] = squeeze(b, axes=[0])
          h: f32[2,16], s: f32[4,2,16] = onnx.Scan(h0, x, num_scan_inputs=1, opset=16) {
            body: graph step(p: f32[2,16], i: f32[2,16]) {
              c: u8[2,16], cs: f32[], cz: u8[] = dynamic_quantize(p)
              a: f32[2,16] = dequantize(c, cs, cz, to=f32)
              m: f32[2,16] = matmul(a, d)
              n: f32[2,16] = add(m, i)
              q: f32[2,16] = tanh(n)
              return q, out=q
            }
          }
          return s
        }""",
        "v",
    )
    after, trace = run_pipeline(
        g, "fake_quantization_to_integer,hoist_zero_points,dead_code_elimination"
    )
    verify(after)
    assert "dequantize" not in ops(after)
    (loop,) = (n for n in after.nodes if n.op == "onnx.Scan")
    inside = ops(loop.regions["body"])
    assert inside.count("matmul_integer") == 1
    assert "dequantize" not in inside
    assert any("sums of 16 products" in s.because for e in trace.events for s in e.steps)
    x = {k: v for k, v in feeds(g).items() if k in ("x", "h0")}
    (expected,), (made,) = reference(g, x).values(), compiler.compile(g).run(x).values()
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)
