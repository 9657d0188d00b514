"""Tests of folding scales and shifts into weights: groups, uses, splats, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.passes import PASSES, run_pipeline
from compiler.passes.engine.rule import ROUNDINGS
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
)


def fold(g: Graph, **options: object) -> tuple[Graph, Log]:
    log = Log()
    return PASSES["fold_affine"].run(g, log, **options), log


def randomised(g: Graph, seed: int = 0) -> Graph:
    """Replace floating-point constants of more than one element by random numbers."""
    rng = np.random.default_rng(seed)
    constants = {
        k: Constant.of(np.abs(rng.normal(size=c.type.static_shape)) + 0.25, c.type.dtype)
        if c.type.dtype.is_float and c.type.n_elements > 1
        else c
        for k, c in g.constants.items()
    }
    return replace(g, constants=constants)


LIGHT = """
graph light(x: f32[1,3,9,7]) {
  const w: f32[8,3,3,3] = splat(0.05)
  const s: f32[8] = splat(1.5)
  const b: f32[8] = splat(0.5)
  const m: f32[8] = splat(0.25)
  const v: f32[8] = splat(2.0)
  const g: f32[8] = splat(3.0)
  const h: f32[8] = splat(-1.0)
  c: f32[1,8,5,4] = conv(x, w, strides=[2,2], pads=[1,1,1,1], dilations=[1,1])
  n: f32[1,8,5,4] = batch_norm(c, s, b, m, v, epsilon=0.001)
  g1: f32[8,1,1] = unsqueeze(g, axes=[1,2])
  n1: f32[1,8,5,4] = mul(n, g1)
  h1: f32[8,1,1] = unsqueeze(h, axes=[1,2])
  n2: f32[1,8,5,4] = add(n1, h1)
  y: f32[1,8,5,4] = relu(n2)
  return y
}
"""


def test_the_pattern_of_the_light_models_becomes_one_convolution() -> None:
    g = randomised(graph(LIGHT))
    after, _ = run_pipeline(g, "fold_constants,fold_affine,dead_code_elimination")
    assert [n.op for n in after.nodes] == ["conv", "relu"]
    assert after.nodes[0].origins == ("c", "n", "n1", "n2")
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


def test_splats_stay_splats() -> None:
    g = graph(LIGHT)
    after, _ = run_pipeline(g, "fold_constants,fold_affine,dead_code_elimination")
    assert [n.op for n in after.nodes] == ["conv", "relu"]
    assert all(c.is_splat for c in after.constants.values())
    assert sorted(str(c.type) for c in after.constants.values()) == ["f32[8,3,3,3]", "f32[8]"]
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


def test_a_huge_splat_is_not_written_out_for_a_varying_scale() -> None:
    g = graph(
        """
        graph g(x: f32[1,2048,1,1]) {
          const w: f32[4096,2048,1,1] = splat(0.05)
          const c: f32[4096,1,1] = splat(1.0)
          a: f32[1,4096,1,1] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          y: f32[1,4096,1,1] = mul(a, c)
          return y
        }
        """
    )
    varying = Constant.of(np.arange(4096, dtype=np.float32).reshape(4096, 1, 1))
    g = replace(g, constants={**g.constants, "c": varying})
    after, log = fold(g)
    assert after is g
    assert "would take 33,554,432 bytes" in declined(log.steps, "scale_into_conv")[0]


CONVS = {
    "groups": (
        "x: f32[1,4,5,3]",
        "f32[6,2,3,3]",
        "conv({x}, w, bias, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups=2)",
        "f32[1,6,5,3]",
    ),
    "depthwise": (
        "x: f32[2,6,5,3]",
        "f32[6,1,3,3]",
        "conv({x}, w, bias, strides=[2,1], pads=[0,1,0,1], dilations=[1,1], groups=6)",
        "f32[2,6,2,3]",
    ),
    "one spatial axis": (
        "x: f32[1,4,9]",
        "f32[6,4,2]",
        "conv({x}, w, bias, strides=[2], pads=[0,1], dilations=[2])",
        "f32[1,6,4]",
    ),
    "transposed": (
        "x: f32[1,4,5,3]",
        "f32[4,6,3,2]",
        "conv_transpose({x}, w, bias, strides=[2,1], pads=[0,0,0,0], output_padding=[0,0],"
        " dilations=[1,1])",
        "f32[1,6,11,4]",
    ),
    "transposed in groups": (
        "x: f32[1,4,5,3]",
        "f32[4,3,3,2]",
        "conv_transpose({x}, w, bias, strides=[2,1], pads=[0,0,0,0], output_padding=[0,0],"
        " dilations=[1,1], groups=2)",
        "f32[1,6,11,4]",
    ),
}


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize(("x", "w", "call", "out"), CONVS.values(), ids=list(CONVS))
@pytest.mark.parametrize("scale", ["f32[6,{ones}]", "f32[]", "f32[1,6,{ones}]"])
def test_scale_and_shift_go_into_any_convolution(
    x: str, w: str, call: str, out: str, scale: str, with_bias: bool
) -> None:
    ones = ",".join("1" * (out.count(",") - 1))
    call = call.format(x="x").replace(", bias", ", bias" if with_bias else "")
    scale = scale.format(ones=ones)
    g = randomised(
        graph(
            f"""
            graph g({x}) {{
              const w: {w} = splat(0.5)
              const bias: f32[6] = splat(0.5)
              const c: {scale} = splat(1.75)
              const d: {scale} = splat(-0.75)
              a: {out} = {call}
              p: {out} = mul(c, a)
              q: {out} = add(p, d)
              return q
            }}
            """
        )
    )
    after, _ = fold(g)
    assert len(after.nodes) == 1
    assert after.nodes[0].output == "q"
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


@pytest.mark.parametrize("auto_pad", ["notset", "valid", "same_upper"])
@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_shift_before_a_convolution_is_folded_without_padding_only(
    auto_pad: str, pad: int, groups: int
) -> None:
    padded = pad if auto_pad == "notset" else int(auto_pad == "same_upper")
    rows, columns = 3 + 2 * padded, 1 + 2 * padded
    g = randomised(
        graph(
            f"""
            graph g(x: f32[1,4,5,3]) {{
              const w: f32[8,{4 // groups},3,3] = splat(0.5)
              const s: f32[4,1,1] = splat(1.75)
              const d: f32[1,4,1,1] = splat(-0.75)
              p: f32[1,4,5,3] = mul(x, s)
              q: f32[1,4,5,3] = add(p, d)
              a: f32[1,8,{rows},{columns}] = conv(q, w, strides=[1,1],
                pads=[{pad},{pad},{pad},{pad}], dilations=[1,1], groups={groups},
                auto_pad="{auto_pad}")
              return a
            }}
            """
        )
    )
    after, log = fold(g)
    assert [n.op for n in after.nodes] == (["mul", "add", "conv"] if padded else ["conv"])
    assert bool(declined(log.steps, "shift_before_conv")) == bool(padded)
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


DECLINED = {
    "other use": (
        "c: f32[4,1,1]",
        "y: f32[1,4,3,5] = mul(a, c) z: f32[1,4,3,5] = relu(a)",
        "a has 2 uses",
    ),
    "result": ("c: f32[4,1,1]", "y: f32[1,4,3,5] = mul(a, c) z: f32[1,4,3,5] = relu(y)", ""),
    "varies along an image axis": (
        "c: f32[4,3,1]",
        "y: f32[1,4,3,5] = mul(a, c) z: f32[1,4,3,5] = relu(y)",
        "varies along axis 2",
    ),
    "varies along the images": (
        "c: f32[2,4,1,1]",
        "y: f32[2,4,3,5] = mul(a, c) z: f32[2,4,3,5] = relu(y)",
        "varies along axis 0",
    ),
}


@pytest.mark.parametrize(("c", "rest", "says"), DECLINED.values(), ids=list(DECLINED))
def test_scales_that_do_not_belong_to_the_weights_are_declined(
    c: str, rest: str, says: str
) -> None:
    g = randomised(
        graph(
            f"""
            graph g(x: f32[1,3,3,5]) {{
              const w: f32[4,3,1,1] = splat(0.5)
              const {c} = splat(1.75)
              a: f32[1,4,3,5] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
              {rest}
              return z, y, {"a" if not says else "other=y"}
            }}
            """
        )
    )
    after, log = fold(g)
    assert after is g
    assert (says or "a is also a result") in declined(log.steps, "scale_into_conv")[0]


def test_weights_that_would_overflow_are_left_alone() -> None:
    g = graph(
        """
        graph g(x: f32[1,1,3]) {
          const w: f32[2,1,1] = literal(1e30,1.0)
          const c: f32[2,1] = literal(1e20,1.0)
          a: f32[1,2,3] = conv(x, w, strides=[1], pads=[0,0], dilations=[1])
          y: f32[1,2,3] = mul(a, c)
          return y
        }
        """
    )
    after, log = fold(g)
    assert after is g
    assert "overflow f32" in declined(log.steps, "scale_into_conv")[0]


def test_statistics_without_a_scale_are_left_alone() -> None:
    text = """
    graph g(x: f32[1,2,3]) {
      const s: f32[2] = literal(1.0,2.0)
      const v: f32[2] = literal(1.0,0.0)
      y: f32[1,2,3] = batch_norm(x, s, s, s, v, epsilon=%s)
      return y
    }
    """
    g = graph(text % "0.0")
    after, log = fold(g)
    assert after is g
    assert "overflow" in declined(log.steps, "batch_norm_is_affine")[0]
    assert [n.op for n in fold(graph(text % "0.001"))[0].nodes] == ["mul", "add"]


def test_parameters_computed_at_run_time_are_left_alone() -> None:
    g = graph(
        """
        graph g(x: f32[1,2,3], w: f32[4,2,1], s: f32[4,1]) {
          const v: f32[4,2,1] = splat(0.5)
          a: f32[1,4,3] = conv(x, w, strides=[1], pads=[0,0], dilations=[1])
          b: f32[1,4,3] = mul(a, s)
          c: f32[1,4,3] = conv(x, v, strides=[1], pads=[0,0], dilations=[1])
          d: f32[1,4,3] = mul(c, s)
          return b, d
        }
        """
    )
    assert fold(g)[0] is g


def test_weights_are_computed_in_double_precision_and_rounded_once() -> None:
    rng = np.random.default_rng(1)
    s, v = (rng.uniform(0.5, 2, 50).astype(np.float32) for _ in range(2))
    g = graph(
        """
        graph g(x: f32[1,50,3]) {
          const s: f32[50] = splat(1.0)
          const v: f32[50] = splat(1.0)
          const z: f32[50] = splat(0.0)
          y: f32[1,50,3] = batch_norm(x, s, z, z, v, epsilon=0.001)
          return y
        }
        """
    )
    g = replace(g, constants={**g.constants, "s": Constant.of(s), "v": Constant.of(v)})
    after, _ = fold(g)
    scale = after.constants[after.nodes[0].inputs[1]]
    once = (s.astype(np.float64) / np.sqrt(v.astype(np.float64) + 0.001)).astype(np.float32)
    np.testing.assert_array_equal(scale.array().reshape(-1), once)


def test_a_scale_behind_a_product_and_its_bias_goes_into_both() -> None:
    g = randomised(
        graph(
            """
            graph g(x: f32[2,5,3]) {
              const w: f32[3,4] = splat(0.5)
              const b: f32[4] = splat(0.5)
              const s: f32[4] = splat(0.5)
              const t: f32[3] = splat(0.5)
              x1: f32[2,5,3] = mul(x, t)
              a: f32[2,5,4] = matmul(x1, w)
              c: f32[2,5,4] = add(a, b)
              y: f32[2,5,4] = mul(s, c)
              return y
            }
            """
        )
    )
    after, log = fold(g)
    assert [n.op for n in after.nodes] == ["matmul", "add"]
    assert applied(log.steps) == ["scale_before_matmul", "scale_through_bias"]
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


def test_every_fold_is_marked_as_rounding_differently_and_says_how_much_it_saves() -> None:
    _, log = fold(randomised(graph(LIGHT)))
    steps = [s for s in log.steps if s.outcome == "applied"]
    assert steps
    assert not any(s.exact for s in steps)
    by_rule = {s.rule: s.because for s in steps}
    assert by_rule["scale_into_conv"] == (
        "8 scales folded into 216 weights; saves 1.31 kB of traffic"
    )
    assert fold(graph(LIGHT), inexact=False)[0] == graph(LIGHT)


@pytest.mark.parametrize(
    "text",
    [
        """
        graph g(x: f32[2,3,4]) {
          const s: f32[3] = literal(1.0,inf,-inf)
          const b: f32[3] = literal(0.5,1.0,-1.0)
          const m: f32[3] = literal(1.0,0.25,2.0)
          const v: f32[3] = literal(4.0,1.0,0.25)
          y: f32[2,3,4] = batch_norm(x, s, b, m, v, epsilon=0.0)
          return y
        }
        """,
        """
        graph g(x: f32[2,3]) {
          const a: f32[3] = literal(1.0,2.0,3.0)
          const b: f32[3] = literal(0.5,1.0,-1.0)
          const c: f32[3] = literal(inf,2.0,-inf)
          p: f32[2,3] = mul(x, a)
          q: f32[2,3] = add(p, b)
          r: f32[2,3] = mul(q, c)
          return r
        }
        """,
    ],
    ids=["statistics", "a scale and a shift"],
)
def test_an_infinite_scale_stays_behind_the_shift(text: str) -> None:
    g = graph(text)
    after, log = fold(g)
    assert after == g
    [step] = log.steps
    assert step.because == "the scale is not finite, so the scaled shift could be NaN"
