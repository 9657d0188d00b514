"""Tests of the oracle on computations with results written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.compute import evaluate as oracle
from compiler.compute.builder import Lowering
from compiler.compute.evaluate import evaluate
from compiler.compute.numbers import FUNCTIONS, convert, divide, erf, neutral
from compiler.compute.scalar import FUNCTIONS as SCALAR_FUNCTIONS
from compiler.ir import affine
from compiler.ir.types import DType, tensor


def test_every_function_of_scalars_has_a_meaning() -> None:
    assert set(FUNCTIONS) == set(SCALAR_FUNCTIONS)


def test_a_stage_is_evaluated_at_every_point() -> None:
    k = Lowering("t")
    x = k.input("x", tensor("f32[2,3]"))
    y = k.output("y", tensor("f32[3,2]"))
    i, j = k.axes((2, 3))
    k.assign(y[j, i], x[i, j] * 2.0)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(evaluate(k.computation(), {"x": given})["y"], given.T * 2)


def test_several_stages_fill_one_target_and_feed_each_other() -> None:
    k = Lowering("t")
    x = k.input("x", tensor("i64[3]"))
    y = k.output("y", tensor("i64[6]"))
    t = k.temporary((3,), DType.i64)
    i = k.axis(3)
    k.assign(t[i], x[i] + 1)
    k.assign(y[i], t[i])
    k.assign(y[i + 3], t[i] * 10)
    got = evaluate(k.computation(), {"x": np.array([1, 2, 3])})["y"]
    np.testing.assert_array_equal(got, [2, 3, 4, 20, 30, 40])


def test_a_guarded_read_outside_gives_the_other_value() -> None:
    k = Lowering("t")
    x = k.input("x", tensor("f32[3]"))
    y = k.output("y", tensor("f32[5]"))
    i = k.axis(5)
    k.assign(y[i], x.padded([i - 1], -7.0))
    got = evaluate(k.computation(), {"x": np.array([1, 2, 3], np.float32)})["y"]
    np.testing.assert_array_equal(got, [-7, 1, 2, 3, -7])


def test_an_unguarded_read_outside_is_a_bug() -> None:
    k = Lowering("t")
    x = k.input("x", tensor("f32[3]"))
    y = k.output("y", tensor("f32[3]"))
    i = k.axis(3)
    k.assign(y[i], x[i - 1])
    with pytest.raises(AssertionError, match="out of bounds of an axis of size 3"):
        evaluate(k.computation(), {"x": np.zeros(3, np.float32)})


def test_a_guard_on_one_axis_does_not_excuse_another() -> None:
    k = Lowering("t")
    x = k.input("x", tensor("f32[3,3]"))
    y = k.output("y", tensor("f32[3]"))
    i = k.axis(3)
    k.assign(y[i], k.inside([(i - 1, 3)], x[i - 1, i + 1], 0))
    with pytest.raises(AssertionError, match="out of bounds of an axis"):
        evaluate(k.computation(), {"x": np.zeros((3, 3), np.float32)})


@pytest.mark.parametrize(("combine", "needed"), [("add", 12), ("mul", 60), ("max", 5), ("min", 3)])
def test_reductions_combine_all_points(combine: str, needed: int) -> None:
    k = Lowering("t")
    x = k.input("x", tensor("i32[3]"))
    y = k.output("y", tensor("i32[]"))
    r = k.axis(3, "r")
    k.assign(y[()], k.reduce(combine, x[r], over=r))
    got = evaluate(k.computation(), {"x": np.array([3, 4, 5], np.int32)})["y"]
    assert got == needed
    assert got.dtype == np.int32


@pytest.mark.parametrize("combine", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["f32", "i8", "u8"])
def test_a_reduction_over_nothing_gives_the_neutral_element(combine: str, dtype: str) -> None:
    k = Lowering("t")
    x = k.input("x", tensor(f"{dtype}[0]"))
    y = k.output("y", tensor(f"{dtype}[2]"))
    i, r = k.axis(2), k.axis(0, "r")
    k.assign(y[i], k.reduce(combine, x[r], over=r))
    d = DType.parse(dtype)
    got = evaluate(k.computation(), {"x": np.zeros(0, d.numpy)})["y"]
    np.testing.assert_array_equal(got, [neutral(combine, d)] * 2)


def test_a_reduced_axis_that_the_body_does_not_mention_still_counts() -> None:
    k = Lowering("t")
    x = k.input("x", tensor("f32[2]"))
    y = k.output("y", tensor("f32[2]"))
    i, r = k.axis(2), k.axis(4, "r")
    k.assign(y[i], k.sum(x[i], over=r) + 1.0)
    got = evaluate(k.computation(), {"x": np.array([1, 2], np.float32)})["y"]
    np.testing.assert_array_equal(got, [5, 9])


def test_index_arithmetic_rounds_towards_minus_infinity() -> None:
    k = Lowering("t")
    y = k.output("y", tensor("i64[4,2]"))
    i = k.axis(4)
    k.assign(y[i, 0], k.index(affine.floordiv(i - 2, 2)))
    k.assign(y[i, 1], k.index(affine.mod(i - 2, 3)))
    got = evaluate(k.computation(), {})["y"]
    np.testing.assert_array_equal(got, [[-1, 1], [-1, 2], [0, 0], [0, 1]])


def test_slices_of_a_large_domain_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    k = Lowering("t")
    x = k.input("x", tensor("f32[5,7,3]"))
    y = k.output("y", tensor("f32[5,7]"))
    i, j = k.axes((5, 7))
    r = k.axis(3, "r")
    k.assign(y[i, j], k.sum(x[i, j, r], over=r) * k.index(i + j, DType.f32))
    given = {"x": np.arange(105, dtype=np.float32).reshape(5, 7, 3)}
    whole = evaluate(k.computation(), given)["y"]
    monkeypatch.setattr(oracle, "CHUNK_POINTS", 10)
    np.testing.assert_array_equal(evaluate(k.computation(), given)["y"], whole)


def test_inputs_must_have_the_declared_type() -> None:
    k = Lowering("t")
    x = k.input("x", tensor("f32[3]"))
    y = k.output("y", tensor("f32[3]"))
    i = k.axis(3)
    k.assign(y[i], x[i])
    with pytest.raises(AssertionError, match="got the shape"):
        evaluate(k.computation(), {"x": np.zeros(4, np.float32)})
    with pytest.raises(AssertionError, match="got float64"):
        evaluate(k.computation(), {"x": np.zeros(3)})


def test_integer_division_is_cut_off_and_survives_zero() -> None:
    with np.errstate(all="ignore"):
        got = divide(np.array([7, -7, 7, -7, 5]), np.array([2, 2, -2, -2, 0]))
    np.testing.assert_array_equal(got, [3, -3, -3, 3, 0])


def test_conversion_cuts_floats_off_and_bool_is_not_zero() -> None:
    given = np.array([-2.7, 0.5, 0.0], np.float32)
    np.testing.assert_array_equal(convert(given, DType.i32), [-2, 0, 0])
    np.testing.assert_array_equal(convert(given, DType.bool), [True, True, False])


def test_erf_keeps_shape_and_type() -> None:
    got = erf(np.array([[0.0, 1.0], [-1.0, np.inf]], np.float32))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, [[0, 0.8427008], [-0.8427008, 1]], rtol=1e-6)
    assert erf(np.float64(0.5)).shape == ()
