"""Tests that logarithms of saturating functions stay finite if their operand underflows."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

X = np.array([-300, -104, -88.5, -17, -0.5, 0, 0.5, 16, 21, 89, 300], np.float32)

LOGARITHMS = {
    "s: f32[11] = sigmoid(x)\n y: f32[11] = log(s)": lambda x: -np.logaddexp(0, -x),
    "const one: f32[] = literal(1.0)\n s: f32[11] = sigmoid(x)\n d: f32[11] = sub(one, s)\n"
    "y: f32[11] = log(d)": lambda x: -np.logaddexp(0, x),
    "s: f32[11] = softmax(x, axis=0)\n y: f32[11] = log(s)": lambda x: x - np.logaddexp.reduce(x),
}


@pytest.mark.parametrize("body", LOGARITHMS)
def test_logarithms_of_saturated_functions_are_finite(body: str) -> None:
    graph = compiler.parse(f"graph g(x: f32[11]) {{ {body}\n return y }}")
    made = compiler.compile(graph).run({"x": X})["y"]
    needed = LOGARITHMS[body](X.astype(np.float64))
    np.testing.assert_allclose(made, needed, rtol=1e-5, atol=1e-7)
