"""Tests of combining products of one operand: combined and separate products, with reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.passes import PASSES
from compiler.passes.engine.rule import ROUNDINGS
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
)


def merge(g: Graph, **options: object) -> tuple[Graph, Log]:
    log = Log()
    return PASSES["combine_parallel_contractions"].run(g, log, **options), log


def ops(g: Graph) -> list[str]:
    return [n.op for n in g.nodes]


QUERY_KEY_VALUE = """
graph g(x: f32[1,3,8]) {
  const a: f32[8,6] = splat(0.25)
  const b: f32[8,6] = splat(-0.5)
  const c: f32[8,4] = splat(0.125)
  const p: f32[6] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
  const q: f32[6] = literal(-1.0,-2.0,-3.0,-4.0,-5.0,-6.0)
  const r: f32[1,1,4] = literal(0.5,1.5,2.5,3.5)
  const heads: i64[4] = literal(1,3,2,3)
  const few: i64[4] = literal(1,3,2,2)
  k: f32[1,3,6] = matmul(x, a)
  l: f32[1,3,6] = matmul(x, b)
  m: f32[1,3,4] = matmul(x, c)
  k1: f32[1,3,6] = add(k, p)
  l1: f32[1,3,6] = add(q, l)
  m1: f32[1,3,4] = add(m, r)
  k2: f32[1,3,2,3] = reshape(k1, heads)
  l2: f32[1,3,2,3] = reshape(l1, heads)
  m2: f32[1,3,2,2] = reshape(m1, few)
  k3: f32[1,2,3,3] = transpose(k2, perm=[0,2,1,3])
  l3: f32[1,2,3,3] = transpose(l2, perm=[0,2,1,3])
  m3: f32[1,2,3,2] = transpose(m2, perm=[0,2,1,3])
  s: f32[1,2,3,3] = matmul(k3, l3, transpose_b=true)
  t: f32[1,2,3,3] = softmax(s)
  y: f32[1,2,3,2] = matmul(t, m3)
  return y
}
"""


def test_queries_keys_and_values_are_one_product_with_one_bias() -> None:
    g = graph(QUERY_KEY_VALUE)
    after, log = merge(g)
    assert applied(log.steps) == ["combine_parallel_contractions"]
    assert ops(after)[:2] == ["matmul", "add"]
    assert ops(after).count("matmul") == 3
    assert ops(after).count("add") == 1
    assert ops(after).count("slice") == 3
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=ROUNDINGS)


def test_the_step_counts_what_is_read_less() -> None:
    _, log = merge(graph(QUERY_KEY_VALUE))
    (step,) = [s for s in log.steps if s.outcome == "applied"]
    assert "3 products read x" in step.because
    assert step.cost_before is not None
    assert step.cost_after is not None
    assert step.cost_before.bytes_read - step.cost_after.bytes_read == 2 * 3 * 8 * 4
    assert {"k", "l", "m", "k1", "l1", "m1"} <= set(step.took)


CONVOLUTIONS = """
graph g(x: f32[1,3,5,4]) {
  const a: f32[2,3,1,1] = literal(1.0,2.0,3.0,-1.0,-2.0,-3.0)
  const b: f32[1,3,1,1] = literal(0.5,0.25,0.125)
  const c: f32[2] = literal(1.0,-1.0)
  const d: f32[1] = literal(2.0)
  const six: f32[] = literal(6.0)
  const two: f32[2,1,1] = literal(2.0,3.0)
  k: f32[1,2,5,4] = conv(x, a, c, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  l: f32[1,1,5,4] = conv(x, b, d, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
  k1: f32[1,2,5,4] = relu(k)
  l1: f32[1,1,5,4] = relu(l)
  k2: f32[1,2,5,4] = sub(k1, two)
  l2: f32[1,1,5,4] = sub(l1, six)
  k3: f32[1,2,4,5] = transpose(k2, perm=[0,1,3,2])
  l3: f32[1,1,4,5] = transpose(l2, perm=[0,1,3,2])
  return k3, l3
}
"""


def test_convolutions_take_biases_and_activations_along() -> None:
    g = graph(CONVOLUTIONS)
    after, _ = merge(g)
    assert ops(after) == ["conv", "relu", "sub", "slice", "slice", "transpose", "transpose"]
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=ROUNDINGS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sub(l1, six)", "sub(six, l1)"),
        ("l1: f32[1,1,5,4] = relu(l)", "l1: f32[1,1,5,4] = exp(l)"),
    ],
)
def test_what_differs_between_the_branches_needs_copies_of_the_parts(old: str, new: str) -> None:
    after, log = merge(g := graph(CONVOLUTIONS.replace(old, new)))
    assert after is g
    (reason,) = declined(log.steps, "combine_parallel_contractions")
    assert "480 bytes to copy" in reason


def test_what_differs_behind_a_transpose_does_not() -> None:
    text = QUERY_KEY_VALUE.replace("s: f32[1,2,3,3] = matmul(k3,", "k4: f32[1,2,3,3] = exp(k3) $")
    g = graph(text.replace("$", "s: f32[1,2,3,3] = matmul(k4,"))
    after, _ = merge(g)
    assert ops(after).count("add") == 1
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


def test_other_geometry_is_declined_with_both() -> None:
    g = graph(
        """
        graph g(x: f32[1,3,5,4]) {
          const a: f32[2,3,1,1] = splat(0.5)
          const b: f32[1,3,3,3] = splat(0.25)
          k: f32[1,2,5,4] = conv(x, a, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          l: f32[1,1,5,4] = conv(x, b, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
          return k, l
        }
        """
    )
    after, log = merge(g)
    assert after is g
    first, second = declined(log.steps, "combine_parallel_contractions")
    assert "kernel [1, 1]" in first
    assert "kernel [3, 3]" in first
    assert "kernel [1, 1]" in second


def test_weights_that_are_no_constants_are_declined() -> None:
    g = graph(
        """
        graph g(x: f32[3,4], v: f32[4,2]) {
          const w: f32[4,5] = splat(0.5)
          a: f32[3,5] = matmul(x, w)
          b: f32[3,2] = matmul(x, v)
          return a, b
        }
        """
    )
    after, log = merge(g)
    assert after is g
    assert any(
        "v is not constant" in r for r in declined(log.steps, "combine_parallel_contractions")
    )


SHARED = """
graph g(x: f32[3,40], z: f32[2,40]) {
  const w: f32[40,50] = splat(0.5)
  const v: f32[40,20] = splat(0.25)
  a: f32[3,50] = matmul(x, w)
  b: f32[3,20] = matmul(x, v)
  c: f32[2,50] = matmul(z, w)
  d: f32[20,3] = transpose(b, perm=[1,0])
  e: f32[50,3] = transpose(a, perm=[1,0])
  return e, d, c
}
"""


def test_large_weights_that_others_read_are_declined() -> None:
    g = graph(SHARED)
    values = Constant.of(np.arange(2000, dtype=np.float32).reshape(40, 50))
    g = replace(g, constants={**g.constants, "w": values})
    after, log = merge(g)
    assert after is g
    assert any("w has 2 readers" in r for r in declined(log.steps, "combine_parallel_contractions"))


def test_small_weights_may_be_stored_twice() -> None:
    g = graph(SHARED)
    after, log = merge(g)
    assert applied(log.steps) == ["combine_parallel_contractions"]
    assert ops(after).count("matmul") == 2
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


def test_copies_of_the_parts_may_cost_more_than_they_save() -> None:
    g = graph(
        """
        graph g(x: f32[1,8,90,80]) {
          const a: f32[2,8,1,1] = splat(0.5)
          const b: f32[3,8,1,1] = splat(0.25)
          k: f32[1,2,90,80] = conv(x, a, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          l: f32[1,3,90,80] = conv(x, b, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          return k, l
        }
        """
    )
    after, log = merge(g)
    assert after is g
    (reason,) = declined(log.steps, "combine_parallel_contractions")
    assert "288,000 bytes to copy" in reason
    assert applied(merge(g, least=0.0)[1].steps) == []


def test_open_sizes_are_declined() -> None:
    g = graph(
        """
        graph g(x: f32[N,4]) {
          const w: f32[4,5] = splat(0.5)
          const v: f32[4,2] = splat(0.25)
          a: f32[N,5] = matmul(x, w)
          b: f32[N,2] = matmul(x, v)
          c: f32[5,N] = transpose(a, perm=[1,0])
          d: f32[2,N] = transpose(b, perm=[1,0])
          return c, d
        }
        """
    )
    after, log = merge(g)
    assert after is g
    assert declined(log.steps, "combine_parallel_contractions") == [
        "sizes are open, so no cost can be estimated"
    ]


def test_a_value_inside_a_branch_that_is_a_result_ends_the_branch() -> None:
    g = graph(QUERY_KEY_VALUE.replace("return y", "return y, k"))
    after, _ = merge(g)
    assert ops(after).count("add") == 3
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


def test_branches_that_meet_in_one_node_end_before_it() -> None:
    g = graph(
        """
        graph g(x: f32[3,4]) {
          const w: f32[5,4] = splat(0.5)
          const v: f32[5,4] = splat(0.25)
          a: f32[3,5] = matmul(x, w, transpose_b=true)
          b: f32[3,5] = matmul(x, v, transpose_b=true)
          c: f32[3,5] = swish(a)
          y: f32[3,5] = mul(c, b)
          return y
        }
        """
    )
    after, log = merge(g)
    assert after is g
    assert "240 bytes to copy" in declined(log.steps, "combine_parallel_contractions")[0]


def test_a_square_of_a_product_is_no_pointwise_function_of_a_constant() -> None:
    g = graph(
        """
        graph g(x: f32[3,4]) {
          const w: f32[4,5] = splat(0.5)
          const v: f32[4,5] = splat(0.25)
          a: f32[3,5] = matmul(x, w)
          b: f32[3,5] = matmul(x, v)
          c: f32[3,5] = mul(a, a)
          d: f32[3,5] = mul(b, b)
          y: f32[5,3] = transpose(c, perm=[1,0])
          z: f32[5,3] = transpose(d, perm=[1,0])
          return y, z
        }
        """
    )
    after, _ = merge(g, least=0.0)
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)
