import math

import numpy as np

from compiler.runtime.compare import compare, difference, worst


def test_the_error_is_relative_to_the_largest_magnitude_expected() -> None:
    found = difference("y", np.array([1.0, -7.5]), np.array([1.5, -8.0]))
    assert (found.max_abs_error, found.scale, found.relative_error) == (0.5, 8.0, 0.0625)


def test_where_zeros_were_expected_the_error_stands_alone() -> None:
    assert difference("y", np.array([0.0, 1e-3]), np.zeros(2)).relative_error == 1e-3


def test_shapes_types_and_missing_outputs_are_infinitely_wrong() -> None:
    y = np.zeros((2, 3), np.float32)
    assert math.isinf(difference("y", y[0], y).relative_error)
    assert math.isinf(difference("y", y.astype(np.float64), y).relative_error)
    (missing,) = compare({}, {"y": y})
    assert math.isinf(missing.relative_error)
    assert missing.note == "missing"


def test_nan_and_infinity_must_be_in_the_same_places() -> None:
    expected = np.array([1.0, np.nan, np.inf, -np.inf])
    assert difference("y", expected.copy(), expected).relative_error == 0
    for i, wrong in ((1, 0.0), (2, -np.inf), (0, np.nan)):
        made = expected.copy()
        made[i] = wrong
        assert math.isinf(difference("y", made, expected).relative_error)


def test_sequences_texts_maps_and_absent_values_are_compared() -> None:
    a, b = np.ones(2), np.array([1.0, 1.25])
    assert difference("y", [a, b], [a, a]).relative_error == 0.25
    assert math.isinf(difference("y", [a], [a, a]).relative_error)
    words = np.array(["a", "b"], np.object_)
    assert difference("y", words.copy(), words).relative_error == 0
    assert math.isinf(difference("y", words[::-1], words).relative_error)
    assert difference("y", {"k": 1}, {"k": 1}).relative_error == 0
    assert difference("y", None, None).relative_error == 0
    assert math.isinf(difference("y", None, a).relative_error)


def test_the_worst_of_no_outputs_is_zero() -> None:
    assert worst(()) == 0
    assert worst(compare({"a": np.ones(1)}, {"a": np.full(1, 2.0)})) == 0.5
