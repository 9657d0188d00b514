"""Tests of scales and shifts after sums, concats, pools and activations: absorbed, or declined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.ir.verify import verify
from compiler.passes import PASSES, run_pipeline
from compiler.passes.engine.rule import ROUNDINGS
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
    special_inputs,
)

ONE = "strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"


def randomised(g: Graph) -> Graph:
    """Replace constants of more than one element by random positive numbers."""
    rng = np.random.default_rng(0)
    return replace(
        g,
        constants={
            k: Constant.of(rng.uniform(0.2, 2, c.type.static_shape), c.type.dtype)
            if c.type.dtype.is_float and c.type.n_elements > 1
            else c
            for k, c in g.constants.items()
        },
    )


def ran(g: Graph) -> tuple[Graph, Log]:
    log = Log()
    after = PASSES["absorb_affine"].run(g, log)
    verify(after)
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=ROUNDINGS)
        assert_same_results(g, after, special_inputs(g, seed), error=ROUNDINGS)
    return after, log


def two(
    between: str, root: str, *, c: str = "f32[4,1,1]", value: str = "", rest: str = ""
) -> Graph:
    """Return two convolutions, an operator that combines them, and a scale or shift."""
    number = f"literal({value})" if value else "splat(1.5)"
    return randomised(
        graph(
            f"""
            graph g(x: f32[2,3,7,6], y: f32[2,5,7,6]) {{
              const v: f32[4,3,1,1] = splat(0.5)
              const w: f32[4,5,1,1] = splat(0.5)
              const u: f32[2,5,1,1] = splat(0.5)
              const b: f32[4] = splat(0.25)
              const c: {c} = {number}
              const k: f32[4,1,1] = splat(0.75)
              a: f32[2,4,7,6] = conv(x, v, b, {ONE})
              d: f32[2,4,7,6] = conv(y, w, {ONE})
              e: f32[2,2,7,6] = conv(y, u, {ONE})
              {between}
              z: f32[...] = {root}(r, c)
              return z{rest}
            }}
            """
        )
    )


POOL = "kernel=[3,2], strides=[2,2], pads=[1,0,0,0], dilations=[1,1]"
UP = {
    "a residual": ("r: f32[...] = add(a, d)", "mul", {}),
    "a difference": ("r: f32[...] = sub(a, d)", "mul", {}),
    "a shift of a residual": ("r: f32[...] = add(a, d)", "add", {}),
    "a shift of a difference": ("r: f32[...] = sub(a, d)", "add", {}),
    "a concatenation": ("r: f32[...] = concat(a, e, axis=1)", "mul", {"c": "f32[6,1,1]"}),
    "a shifted concatenation": ("r: f32[...] = concat(e, d, axis=-3)", "add", {"c": "f32[6,1,1]"}),
    "another axis": ("r: f32[...] = concat(a, d, axis=2)", "mul", {}),
    "one number": ("r: f32[...] = concat(a, e, axis=1)", "mul", {"c": "f32[]", "value": "-2.0"}),
    "a relu": ("r: f32[...] = relu(a)", "mul", {}),
    "a relu in a sum": ("s: f32[...] = relu(a) r: f32[...] = add(s, d)", "mul", {}),
    "a maximum": (f"r: f32[...] = max_pool(a, {POOL})", "mul", {}),
    "a shifted maximum": (f"r: f32[...] = max_pool(a, {POOL})", "add", {}),
    "a mean": (f"r: f32[...] = average_pool(a, {POOL})", "mul", {}),
    "a shifted mean": (f"r: f32[...] = average_pool(a, {POOL})", "add", {}),
    "all of an image": ("r: f32[...] = reduce_mean(a, axes=[2,3])", "add", {}),
    "without its axes": (
        "r: f32[2,4] = reduce_sum(a, axes=[2,3], keepdims=false)",
        "mul",
        {"c": "f32[4]"},
    ),
    "a transpose": ("r: f32[...] = transpose(a, perm=[0,2,3,1])", "mul", {"c": "f32[4]"}),
    "another shift": ("s: f32[...] = add(a, d) r: f32[...] = add(s, k)", "mul", {}),
}


@pytest.mark.parametrize(("between", "root", "more"), UP.values(), ids=list(UP))
def test_it_becomes_part_of_weights_and_biases(
    between: str, root: str, more: dict[str, str]
) -> None:
    g = two(between, root, **more)
    after, log = ran(g)
    assert "z" not in after.producers
    assert applied(log.steps)[-1] == ("absorb_scale" if root == "mul" else "absorb_shift")
    assert PASSES["absorb_affine"].run(after) is after


STAYS = {
    "an operand without weights": (
        "q: f32[2,4,7,6] = exp(d) r: f32[...] = add(a, q)",
        "mul",
        {},
        "before exp",
    ),
    "read as it is": ("r: f32[...] = add(a, d)", "mul", {"rest": ", a"}, "other readers"),
    "twice the same": ("r: f32[...] = add(a, a)", "mul", {}, "twice"),
    "along the image": (
        "r: f32[...] = add(a, d)",
        "mul",
        {"c": "f32[7,1]"},
        "not the channel axis of conv",
    ),
    "two axes": ("r: f32[...] = add(a, d)", "mul", {"c": "f32[4,7,1]"}, "varies along 2 axes"),
    "a negative scale": (
        "r: f32[...] = relu(a)",
        "mul",
        {"c": "f32[]", "value": "-1.5"},
        "only positive",
    ),
    "a shifted relu": ("r: f32[...] = relu(a)", "add", {}, "only positive"),
    "zeros that count": (
        f"r: f32[...] = average_pool(a, {POOL}, count_include_pad=true)",
        "add",
        {},
        "the shift does not apply",
    ),
    "a shifted sum": ("r: f32[...] = reduce_sum(a, axes=[2,3])", "add", {}, "several times"),
    "the axis that is summed": (
        "r: f32[2,1,7,6] = reduce_sum(a, axes=[1])",
        "mul",
        {"c": "f32[7,1]"},
        "not the channel axis of conv",
    ),
    "broadcast": (
        "m: f32[2,4,1,1] = reduce_mean(d, axes=[2,3]) r: f32[...] = add(a, m)",
        "mul",
        {},
        "is broadcast",
    ),
    "infinite": ("r: f32[...] = add(a, d)", "mul", {"c": "f32[]", "value": "inf"}, "infinities"),
    "shared weights": (
        "o: f32[2,4,7,6] = conv(x, v, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])"
        " r: f32[...] = add(a, d)",
        "mul",
        {"rest": ", o"},
        "v, an operand of a, has other readers",
    ),
}


@pytest.mark.parametrize(("between", "root", "more", "says"), STAYS.values(), ids=list(STAYS))
def test_it_stays_where_some_way_up_ends_before(
    between: str, root: str, more: dict[str, str], says: str
) -> None:
    g = two(between, root, **more)
    after, log = ran(g)
    assert after is g
    assert says in declined(log.steps, "absorb_scale" if root == "mul" else "absorb_shift")[0]


def test_a_normalisation_behind_a_residual_goes_into_both_sides() -> None:
    g = randomised(
        graph(
            f"""
            graph g(x: f32[2,3,7,6], y: f32[2,5,7,6]) {{
              const v: f32[4,3,1,1] = splat(0.5)
              const w: f32[4,5,1,1] = splat(0.5)
              const p: f32[4] = splat(0.5)
              a: f32[2,4,7,6] = conv(x, v, {ONE})
              d: f32[2,4,7,6] = conv(y, w, {ONE})
              s: f32[2,4,7,6] = add(a, d)
              n: f32[2,4,7,6] = batch_norm(s, p, p, p, p)
              return n
            }}
            """
        )
    )
    after, _ = run_pipeline(g, "fold_affine,absorb_affine,dead_code_elimination")
    assert [n.op for n in after.nodes] == ["conv", "conv", "add"]
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


def test_products_of_matrices_take_scales_up() -> None:
    g = randomised(
        graph(
            """
            graph g(x: f32[5,3]) {
              const v: f32[3,4] = splat(0.5)
              const w: f32[2,3] = splat(0.5)
              const b: f32[4] = splat(0.5)
              const c: f32[6] = splat(0.5)
              p: f32[5,4] = matmul(x, v)
              q: f32[5,4] = add(p, b)
              r: f32[5,2] = matmul(x, w, transpose_b=true)
              s: f32[5,6] = concat(q, r, axis=1)
              z: f32[5,6] = mul(s, c)
              return z
            }
            """
        )
    )
    after, log = ran(g)
    assert [n.op for n in after.nodes] == ["matmul", "add", "matmul", "concat"]
    assert "p, q, r absorb the constant" in log.steps[-1].because


ATTENTION = """
graph g(x: f32[2,5,6]) {
  const q: f32[6,8] = splat(0.5)
  const k: f32[6,8] = splat(0.5)
  const b: f32[8] = splat(0.5)
  const heads: i64[4] = literal(2,5,2,4)
  const c: f32[] = literal(NUMBER)
  p: f32[2,5,8] = matmul(x, q)
  r: f32[2,5,8] = add(p, b)
  s: f32[2,5,2,4] = reshape(r, heads)
  t: f32[2,2,5,4] = transpose(s, perm=[0,2,1,3])
  l: f32[2,5,8] = matmul(x, k)
  m: f32[2,5,2,4] = reshape(l, heads)
  n: f32[2,2,4,5] = transpose(m, perm=[0,2,3,1])
  w: f32[2,2,5,5] = matmul(t, n)
  y: f32[2,2,5,5] = mul(w, c)
  z: f32[2,2,5,5] = softmax(y)
  return z
}
"""


def test_the_scale_of_attention_goes_into_the_queries() -> None:
    g = randomised(graph(ATTENTION.replace("NUMBER", "0.3")))
    log = Log()
    after = PASSES["absorb_affine"].run(g, log)
    assert "p, r absorb the constant" in log.steps[-1].because
    assert len(after.nodes) == len(g.nodes) - 1
    for seed in range(3):
        assert_same_results(g, after, random_inputs(g, seed), error=1e-5)


@pytest.mark.parametrize(("old", "new"), [("NUMBER", "3.0"), ("c: f32[] = literal(NUMBER)",
    "c: f32[2,1,1] = literal(0.5,0.25)")])  # fmt: skip
def test_other_scales_of_products_stay(old: str, new: str) -> None:
    g = randomised(graph(ATTENTION.replace(old, new)))
    assert ran(g)[0] is g
