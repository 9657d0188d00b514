"""Tests that single numbers, such as a product of two scales, are fused into their readers."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ir.types import TensorType
from compiler.passes import PASSES
from compiler.reference import reference
from tests.compiler.passes.numbers import graph

PRODUCT = """
graph g(a: u8[5,7], zero: u8[], s: f32[], b: f32[9], w: i8[7,9], v: i8[7,3]) {
  const none: i8[] = literal(0)
  const factor: f32[] = literal(0.25)
  t: f32[] = mul(s, factor)
  p: i32[5,9] = matmul_integer(a, w, zero, none)
  c: f32[5,9] = cast(p, to=f32)
  m: f32[5,9] = mul(c, t)
  y: f32[5,9] = add(m, b)
  q: i32[5,3] = matmul_integer(a, v, zero, none)
  d: f32[5,3] = cast(q, to=f32)
  z: f32[5,3] = mul(d, OTHER)
  return y, z
}
"""
SUM = """
graph g(a: f32[5,7], s: f32[1], w: f32[]) {
  t: f32[1] = mul(s, w)
  u: f32[1] = neg(t)
  r: f32[5,7] = mul(a, u)
  q: f32[5] = reduce_sum(r, axes=[1], keepdims=false)
  z: f32[5] = abs(q)
  return z
}
"""


@pytest.mark.parametrize(
    ("text", "n_kernels"),
    [(PRODUCT.replace("OTHER", "s"), 2), (PRODUCT.replace("OTHER", "t"), 2), (SUM, 1)],
)
def test_a_number_is_computed_in_each_kernel_that_reads_it(text: str, n_kernels: int) -> None:
    given = graph(text)
    fused = PASSES["fuse"].run(given)
    assert len(fused.nodes) == n_kernels
    chance = np.random.default_rng(3)
    types = {v.name: v.type for v in given.inputs if isinstance(v.type, TensorType)}
    feeds = {
        name: (chance.normal(size=t.static_shape) * 40).astype(t.dtype.numpy)
        for name, t in types.items()
    }
    needed, made = reference(given, feeds), compiler.compile(fused, pipeline="none").run(feeds)
    for name, expected in needed.items():
        np.testing.assert_allclose(made[name], expected, rtol=1e-5, atol=1e-4)


def test_a_number_that_is_dear_or_a_result_or_feeds_the_anchor_stays_alone() -> None:
    dear = SUM.replace("neg(t)", "exp(t)")
    result = SUM.replace("return z", "return z, u")
    zero = """
    graph g(a: u8[5,7], zero: u8[], w: i8[7,9]) {
      const none: i8[] = literal(0)
      const one: u8[] = literal(1)
      t: u8[] = add(zero, one)
      p: i32[5,9] = matmul_integer(a, w, t, none)
      y: f32[5,9] = cast(p, to=f32)
      return y
    }
    """
    for text in (dear, result, zero):
        assert len(PASSES["fuse"].run(graph(text)).nodes) == 2
