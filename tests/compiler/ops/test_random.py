"""Tests of random numbers: distribution, seeds, and equal numbers in generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
import compiler.ops
from compiler.ir.operator import ONNX, OnnxCall, Tensor
from compiler.ir.types import DType, tensor
from tests.operator_samples import value_of

assert compiler.ops.__doc__

SHAPE = (200, 500)


def drawn(op_type: str, **attrs: Any) -> np.ndarray:
    made = ONNX[op_type](OnnxCall(op_type, "", 22, (), {"shape": SHAPE, **attrs}, 1))
    return np.asarray(value_of(made, {}))


@pytest.mark.parametrize("dtype", [DType.f32, DType.f64])
def test_uniform_numbers_fill_their_range_evenly(dtype: DType) -> None:
    x = drawn("RandomUniform", low=-1.0, high=3.0, seed=4.0, dtype=dtype.onnx)
    assert x.dtype == dtype.numpy
    assert x.shape == SHAPE
    assert -1 <= x.min() < -0.999
    assert 2.999 < x.max() <= 3
    counts, _ = np.histogram(x, 50, (-1, 3))
    # 2000 in each bin, with a deviation of 44.
    assert np.abs(counts - 2000).max() < 4.5 * 44


def test_normal_numbers_have_the_moments_of_the_bell() -> None:
    x = (drawn("RandomNormal", mean=5.0, scale=2.0, seed=1.0).astype(np.float64) - 5) / 2
    assert abs(x.mean()) < 0.015
    assert abs(x.var() - 1) < 0.02
    assert abs((x**3).mean()) < 0.04
    assert abs((x**4).mean() - 3) < 0.12


def test_neighbours_and_seeds_are_independent() -> None:
    x, y = drawn("RandomUniform", seed=1.0), drawn("RandomUniform", seed=2.0)
    for a, b in [(x, y), (x[:, 1:], x[:, :-1]), (x[1:], x[:-1]), (x[:, ::2], x[:, 1::2])]:
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.02


def test_a_seed_fixes_the_numbers_and_none_does_not() -> None:
    np.testing.assert_array_equal(drawn("RandomNormal", seed=3.5), drawn("RandomNormal", seed=3.5))
    assert (drawn("RandomNormal") != drawn("RandomNormal")).any()


def test_samples_of_classes_follow_their_weights() -> None:
    x = np.log(np.array([[1, 2, 0, 5], [1, 1, 1, 0]], np.float64) + 1e-30).astype(np.float32)
    operand = Tensor("x", tensor("f32[2,4]"))
    attrs = {"sample_size": 20000, "seed": 3.0}
    made = ONNX["Multinomial"](OnnxCall("Multinomial", "", 22, (operand,), attrs, 1))
    got = np.asarray(value_of(made, {"x": x}))
    assert got.dtype == np.int32
    share = np.stack([np.bincount(row, minlength=4) for row in got]) / 20000
    np.testing.assert_allclose(
        share, [[1 / 8, 2 / 8, 0, 5 / 8], [1 / 3, 1 / 3, 1 / 3, 0]], atol=0.02
    )


def test_generated_code_draws_the_same_numbers() -> None:
    text = """
    graph g(x: f32[7,9]) {
      s: i64[2] = shape(x)
      r: f32[7,9] = random_normal(s, seed=12)
      y: f32[7,9] = add(x, r)
      return y
    }
    """
    graph = compiler.parse(text)
    x = np.zeros((7, 9), np.float32)
    program = compiler.compile(graph, pipeline="none")
    assert all(k.native for k in program.kernels)
    needed = compiler.reference(graph, {"x": x})["y"]
    np.testing.assert_allclose(program.run({"x": x})["y"], needed, rtol=1e-4, atol=1e-5)
