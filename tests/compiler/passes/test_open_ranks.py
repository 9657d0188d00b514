"""Tests that rules comparing shapes skip tensors of open rank: equal texts may differ in shape."""

from __future__ import annotations

import numpy as np

from compiler.passes import PASSES
from compiler.reference import reference
from compiler.trace import Log
from tests.compiler.passes.numbers import graph


def test_a_reshape_between_open_ranks_stays() -> None:
    g = graph("""
    graph g(x: f32[...], s: i64[rank]) {
      a: f32[...] = relu(x)
      b: f32[...] = reshape(a, s)
      y: f32[...] = exp(b)
      return y
    }
    """)
    after = PASSES["simplify"].run(g, Log())
    assert [n.op for n in after.nodes] == ["relu", "reshape", "exp"]
    inputs = {"x": np.zeros((2, 3), np.float32), "s": np.array([3, 1, 2])}
    assert reference(after, inputs)["y"].shape == (3, 1, 2)


def test_a_sum_behind_a_reshape_to_an_open_rank_stays() -> None:
    g = graph("""
    graph g(x: f32[2,3], s: i64[rank]) {
      b: f32[...] = reshape(x, s)
      y: f32[...] = reduce_sum(b, axes=[0], keepdims=false)
      z: f32[...] = exp(y)
      return z
    }
    """)
    assert PASSES["simplify"].run(g, Log()) is g
