"""Tests that code is generated for tensors without elements."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from tests.compiler.passes.numbers import graph

CASES = [
    ("f64[0,3]", "i64[0,1] = argmin(x, axis=1, keepdims=true, last=false)"),
    ("f32[0,40]", "i64[0,1] = argmax(x, axis=1, keepdims=true, last=false)"),
    ("f32[0,3]", "f32[0] = reduce_log_sum_exp(x, axes=[1], keepdims=false)"),
    ("f64[4,0,3]", "f64[4,0] = reduce_max(x, axes=[2], keepdims=false)"),
    ("f64[0,3]", "f64[3] = reduce_sum(x, axes=[0], keepdims=false)"),
    ("f64[0,17]", "f64[0,17] = softmax(x, axis=-1)"),
]


@pytest.mark.parametrize(("of", "what"), CASES)
@pytest.mark.parametrize("pipeline", ["O0", "O2"])
def test_nothing_is_computed_by_generated_code(of: str, what: str, pipeline: str) -> None:
    g = graph(f"graph g(x: {of}) {{\n  y: {what}\n  return y\n}}")
    program = compiler.compile(g, pipeline)
    (result,) = g.outputs
    shape = tuple(map(int, of[of.index("[") + 1 : -1].split(",")))
    x = np.zeros(shape, {"f64": np.float64, "f32": np.float32}[of[:3]])
    made = program.run({"x": x})[result.name]
    expected = compiler.reference(g, {"x": x})[result.name]
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(made, expected)
    assert [k.because for k in program.kernels if not k.native] == []


CONSTANTS = [
    ("x: f32[5,3]", "const w: f32[3,0] = literal()", "f32[5,0] = matmul(x, w)"),
    ("x: f32[5,0]", "const w: f32[0,4] = literal()", "f32[5,4] = matmul(x, w)"),
    ("x: f32[0,5]", "const w: f32[5,0] = literal()", "f32[0,0] = matmul(x, w)"),
    ("x: f32[5,0,2]", "const w: f32[0,1] = literal()", "f32[5,0,2] = mul(x, w)"),
    ("x: f32[2,3]", "const w: f32[0,3] = literal()", "f32[2,3] = concat(w, x, axis=0)"),
    (
        "x: f32[2,0,3]",
        "const w: f32[0] = literal()",
        "i8[2,0,3] = quantize(x, w, to=i8, precision=f32, axis=1)",
    ),
]


@pytest.mark.parametrize(("given", "constant", "what"), CONSTANTS)
@pytest.mark.parametrize("pipeline", ["O0", "default"])
def test_constants_without_elements_are_packed(
    given: str, constant: str, what: str, pipeline: str
) -> None:
    g = graph(f"graph g({given}) {{\n  {constant}\n  y: {what}\n  return y\n}}")
    (x,) = g.inputs
    inputs = {"x": np.ones(x.type.static_shape, np.float32)}
    made = compiler.compile(g, pipeline).run(inputs)["y"]
    np.testing.assert_array_equal(made, compiler.reference(g, inputs)["y"])
