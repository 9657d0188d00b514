"""Tests of encoders of numeric and string categories, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from tests.ml_models import check, one_node

WORDS = np.array([["b", "a"], ["zebra", "c"]], np.object_)


def words(op_type: str, inputs: dict[str, Any], output: str, strings: bool, **attrs: Any) -> Any:
    made = one_node(op_type, inputs, [output], strings=[output] if strings else [], **attrs)
    for i in made.graph.input:
        if inputs[i.name].dtype == np.object_:
            i.type.tensor_type.elem_type = 8
    return made


@pytest.mark.parametrize("values", [{"values_int64s": [5, 0, -2]}, {"values_floats": [0.5, 2, -1]}])
@pytest.mark.parametrize(("keys", "opset"), [("int64s", 2), ("floats", 2), ("floats", 4)])
def test_numbers_become_numbers(keys: str, opset: int, values: dict[str, Any]) -> None:
    """NaN is an ordinary key since opset 4."""
    x = np.array([[3, 1, 2], [7, 3, 1]])
    attrs: dict[str, Any] = {"keys_int64s": [3, 1, 7]}
    if keys == "floats":
        x = np.array([[3, 1, 2], [np.nan, 0.5, 1]], np.float32)
        attrs = {"keys_floats": [3.0, float("nan"), 0.5]}
    output = "y_i" if "values_int64s" in values else "y_f"
    model = one_node("LabelEncoder", {"x": x}, [output], opset=opset, **attrs, **values)
    check(model, {"x": x}, fallbacks=0)


def test_tables_may_be_tensors() -> None:
    x = np.array([[3, 1, 2], [7, 3, 1]])
    model = one_node(
        "LabelEncoder",
        {"x": x},
        ["y_d"],
        opset=4,
        keys_tensor=numpy_helper.from_array(np.array([7, 3])),
        values_tensor=numpy_helper.from_array(np.array([0.1, 0.7])),
        default_tensor=numpy_helper.from_array(np.array([-0.5])),
    )
    check(model, {"x": x})


@pytest.mark.parametrize("opset", [1, 2])
def test_words_become_numbers_and_numbers_words(opset: int) -> None:
    names = ["a", "b", "c"]
    whole = np.array([[2, 0], [1, 9]])
    there: dict[str, Any] = {"classes_strings": names}
    back = there
    if opset == 2:
        there = {"keys_strings": names, "values_int64s": [4, 5, 6], "default_int64": -7}
        back = {"keys_int64s": [0, 1, 2], "values_strings": names, "default_string": "?"}
    model = words("LabelEncoder", {"x": WORDS}, "y_i", False, opset=opset, **there)
    check(model, {"x": WORDS}, fallbacks=1)
    model = words("LabelEncoder", {"x": whole}, "y_i", True, opset=opset, **back)
    check(model, {"x": whole}, fallbacks=1)


def test_categories_become_words_and_back() -> None:
    attrs: dict[str, Any] = {"cats_strings": ["b", "a"], "cats_int64s": [9, 4]}
    whole = np.array([[4, 9], [1, 4]])
    check(words("CategoryMapper", {"x": WORDS}, "y_i", False, **attrs), {"x": WORDS}, fallbacks=1)
    check(words("CategoryMapper", {"x": whole}, "y_i", True, **attrs), {"x": whole}, fallbacks=1)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_one_at_the_place_of_a_category(dtype: Any) -> None:
    x = np.array([[3, 1], [7, 3]]).astype(dtype)
    attrs: dict[str, Any] = {"cats_int64s": [1, 3, 5], "zeros": 1}
    check(one_node("OneHotEncoder", {"x": x}, ["y_f"], **attrs), {"x": x})


def test_one_at_the_place_of_a_word() -> None:
    attrs: dict[str, Any] = {"cats_strings": ["a", "zebra"], "zeros": 1}
    model = words("OneHotEncoder", {"x": WORDS}, "y_f", False, **attrs)
    check(model, {"x": WORDS}, fallbacks=1)


def test_features_side_by_side() -> None:
    a = np.array([[15, -2, 3], [4, 5, -6]])
    b = np.array([[7], [8]])
    model = one_node("FeatureVectorizer", {"a": a, "b": b}, ["y_f"], inputdimensions=[3, 1])
    check(model, {"a": a, "b": b})


@pytest.mark.parametrize("shape", [(2, 4), (3, 2, 4), (4,)])
def test_chosen_features(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape).astype(np.float32)
    chosen = np.array([2, 0, 2])
    model = one_node("ArrayFeatureExtractor", {"x": x, "i": chosen}, ["y_f"])
    check(model, {"x": x, "i": chosen})
