"""Rules that compare shapes leave tensors of open rank alone: equal texts are not equal shapes."""

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
