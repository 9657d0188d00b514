"""Tests of comparisons, where and clip: open sizes, special numbers, older opsets."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.infer import evaluate_known
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.types import DType, tensor
from compiler.ops.elementwise.compare import clip, where
from tests.onnx_nodes import computed, expected, imported, normal

N = affine.symbol("N")


def one(value: object) -> np.ndarray:
    made = np.empty(1, np.object_)
    made[0] = value
    return made


@pytest.mark.parametrize(
    ("name", "a", "b", "needed"),
    [
        ("equal", N, N, [True]),
        ("equal", N, -1, [False]),
        ("equal", N, N + 2, [False]),
        ("equal", N, 3, None),
        ("less", N, N + 1, [True]),
        ("less", N, 0, [False]),
        ("less", N, 5, None),
        ("less_equal", 0, N, [True]),
        ("greater", N, -1, [True]),
        ("greater", N, 1, None),
        ("greater_equal", N, 0, [True]),
        ("greater_equal", N, N + 1, [False]),
    ],
)
def test_a_symbol_is_compared_only_where_every_size_gives_the_same(
    name: str, a: object, b: object, needed: list[bool] | None
) -> None:
    found = evaluate_known(OPERATORS[name], [one(a), one(b)], {})
    assert [f.tolist() for f in found] == ([needed] if needed else [])
    assert all(f.dtype == np.bool_ for f in found)


def test_where_chooses_among_symbols() -> None:
    found = evaluate_known(where, [np.array([True]), one(N * 2), np.array([7])], {})
    assert found[0].tolist() == [N * 2]


def test_nan_equals_nothing_and_is_not_ordered() -> None:
    nan, numbers = np.array([np.nan], np.float32), np.array([0.0, np.nan, np.inf], np.float32)
    for op_type in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        assert not computed(op_type, nan, numbers, opset=16).any()
        assert not computed(op_type, nan, numbers, opset=16, by="lowering").any()


def test_comparing_strings_is_left_to_the_reference() -> None:
    assert imported("Equal", "string[2]", "string[2]", opset=19) is None
    assert imported("Where", "bool[2]", "string[2]", "string[2]", opset=16) is None


def test_a_condition_is_bool() -> None:
    with pytest.raises(CompileError, match="where takes bool, got f32") as e:
        where(*(Tensor("", tensor("f32[2]")) for _ in range(3))).types()
    assert e.value.code == "E-OP-DTYPE"


@pytest.mark.parametrize("opset", [6, 11, 13])
@pytest.mark.parametrize("given", [(-0.5, 0.5), (None, 0.5), (-0.5, None), (None, None)])
@pytest.mark.parametrize("by", ["reference", "lowering"])
def test_clip_takes_attributes_before_opset_11_and_operands_after(
    opset: int, given: tuple[float | None, float | None], by: str
) -> None:
    x = normal(2, 3, 4)
    x[0, 0, :2] = np.inf, -np.inf
    lo, hi = given
    needed = np.clip(x, -np.inf if lo is None else lo, np.inf if hi is None else hi)
    if opset < 11:
        attrs = {k: v for k, v in (("min", lo), ("max", hi)) if v is not None}
        got = computed("Clip", x, opset=opset, by=by, **attrs)
    else:
        bounds = [None if b is None else np.asarray(b, np.float32) for b in given]
        got = computed("Clip", x, *bounds, opset=opset, by=by)
    np.testing.assert_array_equal(got, needed)


def test_the_upper_bound_wins() -> None:
    x, lo, hi = normal(5), np.asarray(1, np.float32), np.asarray(-1, np.float32)
    np.testing.assert_array_equal(computed("Clip", x, lo, hi, opset=13), [-1] * 5)
    np.testing.assert_array_equal(expected("Clip", x, lo, hi, opset=13), [-1] * 5)


def test_bounds_are_single_numbers_of_the_same_type() -> None:
    x = Tensor("x", tensor("f32[2,3]"))
    with pytest.raises(CompileError, match=r"one element, got f32\[3\]") as e:
        clip(x, Tensor("lo", tensor("f32[3]"))).types()
    assert e.value.code == "E-OP-SHAPE"
    with pytest.raises(CompileError, match="f32 and f64") as e:
        clip(x, None, Tensor("hi", tensor("f64[]"))).types()
    assert e.value.code == "E-OP-DTYPE"


@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("positive", [0, 1])
def test_infinities_are_found_by_sign(negative: int, positive: int) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0, 1e30], np.float32)
    attrs = {"detect_negative": negative, "detect_positive": positive}
    needed = [bool(positive), bool(negative), False, False, False]
    for by in ("reference", "lowering"):
        got = computed("IsInf", x, opset=20, by=by, **attrs)
        assert got.tolist() == needed
        assert got.dtype == DType.bool.numpy
