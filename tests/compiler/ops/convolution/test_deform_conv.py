"""Tests of deformable convolutions with NaN among the offsets."""

from __future__ import annotations

import numpy as np

import compiler
from compiler.runtime.compare import compare, worst
from tests.compiler.passes.numbers import graph

MOVED = """
    graph g(x: f32[1,1,3,4], w: f32[1,1,1,2], offset: f32[1,4,3,3]) {
      y: f32[1,1,3,3] = deform_conv(x, w, offset, strides=[1,1], pads=[0,0,0,0],
        dilations=[1,1], groups=1, offset_groups=1)
      return y
    }
"""


def test_a_tap_moved_to_nowhere_adds_nothing() -> None:
    chance = np.random.default_rng(0)
    inputs = {
        "x": chance.normal(size=(1, 1, 3, 4)).astype(np.float32),
        "w": np.array([[[[2.0, -1.0]]]], np.float32),
        "offset": np.zeros((1, 4, 3, 3), np.float32),
    }
    inputs["offset"][0, 1, 0, :] = (np.nan, np.inf, -np.inf)
    expected = compiler.reference(graph(MOVED), inputs)
    np.testing.assert_allclose(expected["y"][0, 0, 0], -inputs["x"][0, 0, 0, 1:], rtol=1e-6)
    assert worst(compare(compiler.compile(graph(MOVED)).run(inputs), expected)) < 1e-6
