from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.conformance.judge import objection

RTOL, ATOL = 1e-3, 1e-7


def says(made: Any, expected: Any, **rest: Any) -> str:
    return objection(made, expected, RTOL, ATOL, **rest)


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    "value",
    [
        f32(1, np.nan, -np.inf, 0),
        np.array(3, np.int64),
        np.zeros((2, 0, 3), np.float64),
        np.array([[True, False, True]]),
        np.array(["a", "ü"], np.object_),
        np.array([1 + 2j, complex(np.nan, 0)], np.complex64),
        np.array([1.5, -2], ml_dtypes.float8_e4m3fn),
        np.array([7, -8, 1], ml_dtypes.int4),
        [f32(1, 2), f32()],
        [],
        None,
    ],
    ids=str,
)
def test_nothing_is_wrong_with_what_is_expected(value: Any) -> None:
    assert says(value, value) == ""


def test_floats_may_be_off_by_the_tolerances_element_by_element() -> None:
    assert says(f32(100.05, 1e-8), f32(100, 0)) == ""
    # 0.05 is small relative to the other element, and too large relative to its own.
    assert "1 of 2 elements differ, the worst at [1]: 1.05 instead of 1.0" in says(
        f32(100, 1.05), f32(100, 1)
    )
    assert "2 of 3 elements differ, the worst at [2]" in says(f32(1.1, 5, 2), f32(1, 5, 3))
    assert "1 of 1 elements differ, the worst: 2.0 instead of 3.0" in says(
        np.float32(2), np.float32(3)
    )


def test_bf16_may_be_off_by_two_of_its_steps() -> None:
    bf16 = ml_dtypes.bfloat16
    assert says(np.array([1.01], bf16), np.array([1], bf16)) == ""
    assert says(np.array([1.03], bf16), np.array([1], bf16)) != ""
    assert says(f32(1.01), f32(1)) != ""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (f32(np.nan, 1), f32(0, 1)),
        (f32(0, 1), f32(np.nan, 1)),
        (f32(np.inf), f32(-np.inf)),
        (f32(3e38), f32(np.inf)),
    ],
    ids=str,
)
def test_nan_and_infinities_stand_at_the_same_places(made: Any, expected: Any) -> None:
    assert "elements differ, the worst at [0]" in says(made, expected)


def test_integers_truth_values_and_texts_are_exact() -> None:
    large = 2**62
    assert says(np.array([large + 1]), np.array([large])) != ""
    assert says(np.array([0, 255], np.uint8), np.array([1, 255], np.uint8)) != ""
    assert says(np.array([True]), np.array([False])) != ""
    texts = np.array(["a", "b"], np.object_)
    assert "worst at [1]: B instead of b" in says(np.array(["a", "B"], np.object_), texts)


def test_shape_and_element_type_are_exact_also_where_numbers_are_random() -> None:
    for is_random in (False, True):
        wide = says(np.ones(2), f32(1, 1), is_random=is_random)
        assert wide == "element type float64 instead of float32"
        long = says(np.ones((1, 2), np.float32), f32(1, 1), is_random=is_random)
        assert long == "shape [1, 2] instead of [2]"
    assert says(f32(5, 6), f32(1, 1), is_random=True) == ""
    assert says([f32(5)], [f32(1)], is_random=True) == ""


def test_sequences_are_compared_element_by_element() -> None:
    expected = [f32(1, 2), f32(3)]
    assert says([f32(1, 2), f32(4)], expected).startswith("element 1 of the sequence: 1 of 1")
    assert says([f32(1, 2)], expected) == "a sequence of 1 instead of a sequence of 2"
    assert says(f32(1), expected) == "a tensor instead of a sequence of 2"
    assert says(expected, f32(1)) == "a sequence of 2 instead of a tensor"


def test_an_optional_that_is_absent_is_no_tensor() -> None:
    assert says(None, f32(1)) == "nothing instead of a tensor"
    assert says(f32(1), None) == "a tensor instead of nothing"
