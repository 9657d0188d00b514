"""Tests of bf16 products: rounded operands, values stored as bf16, and unchanged values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.ir.types import DType, TensorType
from compiler.ir.verify import verify
from compiler.passes import PASSES, run_pipeline
from compiler.reference import reference
from compiler.targets.target import by_name
from compiler.trace import Decision, Log
from tests.compiler.passes.numbers import applied, declined, graph, random_inputs

CONV = "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]"


def lowered(g: Graph) -> tuple[Graph, Log]:
    log = Log()
    after = PASSES["lower_precision"].run(g, log)
    verify(after)
    return after, log


def dtypes(g: Graph, *values: str) -> list[str]:
    found: list[str] = []
    for v in values:
        t = g.types[v]
        assert isinstance(t, TensorType)
        found.append(str(t.dtype))
    return found


def short(x: Array) -> Array:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def weights(*shape: int, seed: int = 0) -> str:
    values = np.random.default_rng(seed).standard_normal(shape).round(2).reshape(-1)
    return f"literal({','.join(map(str, values))})"


BLOCK = """
graph g(x: f32[1,8,7,9], w: f32[16,8,3,3], v: f32[24,16,3,3], u: f32[24,24]) {
  a: f32[1,16,7,9] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  b: f32[1,16,7,9] = relu(a)
  c: f32[1,24,7,9] = conv(b, v, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  d: f32[1,24,7,9] = sigmoid(c)
  e: f32[1,24,1,1] = reduce_mean(d, axes=[2,3], keepdims=true)
  f: f32[1,24] = squeeze(e, axes=[2,3])
  h: f32[1,24] = matmul(f, u)
  y: f32[1,24] = softmax(h, axis=1)
  return y
}
"""


def with_constants() -> str:
    """Return the block with constant weights."""
    text = "graph g(x: f32[1,8,7,9]) {\n  const w: f32[16,8,3,3] = splat(0.3)\n"
    text += "  const v: f32[24,16,3,3] = splat(0.1)\n  const u: f32[24,24] = splat(0.01)\n"
    return text + BLOCK.split("{", 1)[1]


def test_what_lies_between_products_is_short_and_the_rest_is_not() -> None:
    g = graph(BLOCK)
    after, _ = lowered(g)
    assert dtypes(after, "a", "b", "c", "d", "e") == ["bf16"] * 5
    assert dtypes(after, "x", "y") == ["f32", "f32"]
    # A product of 24 x 24 is too small for rounding: values used only by it stay f32.
    assert dtypes(after, "f", "h") == ["bf16", "f32"]


def test_a_value_is_rounded_where_it_is_stored_and_sums_are_not() -> None:
    g = graph(
        f"""
        graph g(x: f32[5,64], r: f32[5,48]) {{
          const w: f32[64,48] = {weights(64, 48)}
          const v: f32[48,40] = {weights(48, 40, seed=1)}
          a: f32[5,48] = matmul(x, w)
          b: f32[5,48] = add(a, r)
          y: f32[5,40] = matmul(b, v)
          return y
        }}
        """
    )
    fused, _ = run_pipeline(g, "fuse")
    after, log = lowered(fused)
    feeds = random_inputs(g)
    w, v = (short(g.constants[k].array()) for k in "wv")
    product = short(feeds["x"]).astype(np.float64) @ w.astype(np.float64)
    expected = short((product + feeds["r"]).astype(np.float32)).astype(np.float64) @ v
    np.testing.assert_allclose(reference(after, feeds)["y"], expected, rtol=1e-4, atol=1e-3)
    made = compiler.compile(g, pipeline="fuse,lower_precision").run(feeds)["y"]
    np.testing.assert_allclose(made, expected, rtol=1e-2, atol=1e-2)
    assert {str(c.type.dtype) for c in after.constants.values()} == {"bf16"}
    assert applied(log.steps).count("round_operands") == 2
    assert all(s.error for s in log.steps if s.rule in ("round_operands", "store_rounded"))


def test_results_stay_f32_and_the_ledger_says_so() -> None:
    g = graph(
        """
        graph g(x: f32[6,32], w: f32[32,40], v: f32[40,56]) {
          a: f32[6,40] = matmul(x, w)
          y: f32[6,56] = matmul(a, v)
          return a, y
        }
        """
    )
    after, log = lowered(g)
    assert dtypes(after, "a", "y", "a.bf16", "x.bf16") == ["f32", "f32", "bf16", "bf16"]
    assert "result of the graph" in declined(log.steps, "store_rounded")[0]


@pytest.mark.parametrize(
    ("product", "reason"),
    [
        ("y: f32[2,5] = matmul(x, w)", "too few"),
        ("y: f32[2,6,8,8] = conv(i, s, groups=6, " + CONV + ")", "depthwise"),
        ("y: f32[2,9,8,8] = conv(i, p, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])", "sums of"),
    ],
)
def test_what_gains_nothing_is_declined_with_the_reason(product: str, reason: str) -> None:
    g = graph(
        f"""
        graph g(x: f32[2,16], w: f32[16,5], i: f32[2,6,8,8], s: f32[6,1,3,3], p: f32[9,6,1,1]) {{
          {product}
          return y
        }}
        """
    )
    after, log = lowered(g)
    assert after is g
    assert reason in declined(log.steps, "round_operands")[0]


def test_depthwise_convolutions_read_short_pixels_with_weights_of_f32() -> None:
    g = graph(
        f"""
        graph g(x: f32[1,12,9,8], p: f32[24,12,1,1], s: f32[24,1,3,3], q: f32[12,24,1,1]) {{
          a: f32[1,24,9,8] = conv(x, p, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          b: f32[1,24,9,8] = conv(a, s, groups=24, {CONV})
          y: f32[1,12,9,8] = conv(b, q, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          return y
        }}
        """
    )
    after, _ = lowered(g)
    assert dtypes(after, "a", "b", "y", "s") == ["bf16", "bf16", "f32", "f32"]
    inner = {n.op: n for n in after.producers["b"].regions["body"].nodes}
    assert inner["conv"].inputs[1] == "s"


def test_views_and_pieces_keep_one_type() -> None:
    g = graph(
        """
        graph g(x: f32[4,32], w: f32[32,64], v: f32[32,48], u: f32[32,40]) {
          const s: i64[2] = literal(4,64)
          a: f32[4,64] = matmul(x, w)
          r: f32[4,64] = reshape(a, s)
          p: f32[4,32], q: f32[4,32] = split(r, axis=1, sizes=[32,32])
          y: f32[4,48] = matmul(p, v)
          z: f32[4,40] = matmul(q, u)
          return y, z
        }
        """
    )
    after, _ = lowered(g)
    assert dtypes(after, "a", "r", "p", "q") == ["bf16"] * 4
    assert [n.op for n in after.nodes if n.op in ("reshape", "split")] == ["reshape", "split"]
    kept, log = lowered(graph(str(g).replace("return y, z", "return y, z, q")))
    assert dtypes(kept, "a", "r", "p", "q") == ["f32"] * 4
    assert any("the same type" in r for r in declined(log.steps, "store_rounded"))


def test_a_value_that_may_not_be_rounded_keeps_its_type() -> None:
    def gate(d: Decision) -> bool:
        return (d.rule, d.at) != ("store_rounded", "b")

    g = graph(BLOCK)
    after = PASSES["lower_precision"].run(g, Log(gate=gate))
    verify(after)
    assert dtypes(after, "a", "b", "c") == ["bf16", "f32", "bf16"]


def test_layouts_stay_and_constants_of_one_number_stay_one() -> None:
    fused, _ = run_pipeline(graph(with_constants()), "fuse,assign_layout,fuse_data_movement")
    after, _ = lowered(fused)
    laid = {k: t.layout for k, t in fused.types.items() if isinstance(t, TensorType)}
    for value, layout in laid.items():
        t = after.types.get(value)
        assert t is None or (isinstance(t, TensorType) and t.layout == layout), value
    assert any(x.block == 16 for x in laid.values())
    assert all(c.is_splat for c in after.constants.values())


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
def test_the_program_computes_what_the_graph_says(target: str) -> None:
    g = graph(BLOCK)
    feeds = random_inputs(g)
    machine = replace(by_name(target), name="host")
    program = compiler.compile(g, precision="bf16", target=machine)
    plain = compiler.compile(g).run(feeds)["y"]
    made = program.run(feeds)["y"]
    assert all(k.native for k in program.kernels)
    np.testing.assert_allclose(made, plain, atol=3e-2 * float(np.abs(plain).max()))


def test_the_arena_is_half_as_large() -> None:
    g = graph(with_constants())
    arenas = [compiler.compile(g, precision=p).memory.peak_bytes for p in ("bf16", "f32")]
    assert 2 * arenas[0] <= arenas[1] + 64 * 4  # buffers begin at multiples of 64 bytes


SPECIAL: Sequence[float] = (np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -0.0, 1.00390625)


def test_special_numbers_are_rounded_as_the_policy_says() -> None:
    """Infinities and NaN are preserved; numbers above the largest bf16 become infinite."""
    g = graph("graph g(x: f32[8]) { y: bf16[8] = cast(x, to=bf16) return y }")
    x = np.array(SPECIAL, np.float32)
    made = compiler.compile(g).run({"x": x})["y"]
    expected = [np.inf, -np.inf, np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    np.testing.assert_array_equal(made.astype(np.float32), np.array(expected, np.float32))
    assert np.signbit(made.astype(np.float32)[6])
    assert made.dtype == DType.bf16.numpy


def test_attention_is_one_kernel_of_f32() -> None:
    g = graph(
        """
        graph g(x: f32[2,24,32], w: f32[32,32], u: f32[32,40]) {
          q: f32[2,24,32] = matmul(x, w)
          a: f32[2,24,32] = attention(q, q, q, scale=0.25)
          y: f32[2,24,40] = matmul(a, u)
          return y
        }
        """
    )
    after, log = lowered(g)
    assert dtypes(after, "q", "a", "a.bf16") == ["f32", "f32", "bf16"]
    assert all("single kernel" in r for r in declined(log.steps, "store_rounded"))


LOOP = """
graph g(x: f32[6,1,72], h0: f32[1,72]{given}) {{
  {constant}
  h: f32[1,72], s: f32[6,1,72] = onnx.Scan(h0, x, num_scan_inputs=1, opset=16) {{
    body: graph step(a: f32[1,72], i: f32[1,72]) {{
      m: f32[1,72] = matmul(a, v)
      n: f32[1,72] = add(m, i)
      t: f32[1,72] = tanh(n)
      return t, out=t
    }}
  }}
  return s
}}"""


@pytest.mark.parametrize(
    ("given", "constant"),
    [(", v: f32[72,72]", ""), ("", f"const v: f32[72,72] = {weights(72, 72)}")],
)
def test_weights_of_loops_are_rounded_before_them(given: str, constant: str) -> None:
    program = compiler.compile(
        graph(LOOP.format(given=given, constant=constant)), precision="bf16", verify=True
    )
    (loop,) = (n for n in program.graph.nodes if n.op == "onnx.Scan")
    body = loop.regions["body"]
    (state, *_) = (v.name for v in body.inputs)
    assert [n.inputs[0] for n in body.nodes if n.op == "cast_flushed"] == [state]
    assert "v" not in program.graph.constants
