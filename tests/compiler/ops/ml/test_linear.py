"""Tests of linear models and feature scaling, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ml_models import check, one_node
from tests.onnx_nodes import normal

TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]


def floats(*shape: int, seed: int = 0) -> list[float]:
    return normal(*shape, seed=seed).reshape(-1).tolist()


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("intercepts", [False, True])
def test_targets_of_a_linear_model(n_targets: int, intercepts: bool) -> None:
    x = normal(5, 4)
    attrs = {"intercepts": floats(n_targets, seed=1)} if intercepts else {}
    model = one_node(
        "LinearRegressor",
        {"x": x},
        ["y_f"],
        coefficients=floats(n_targets, 4, seed=2),
        targets=n_targets,
        **attrs,
    )
    check(model, {"x": x})


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("words", [False, True])
def test_classes_of_a_linear_model(words: bool, transform: str) -> None:
    x = normal(6, 4)
    labels = {"classlabels_strings": list("abc")} if words else {"classlabels_ints": [7, -1, 3]}
    model = one_node(
        "LinearClassifier",
        {"x": x},
        ["label_i", "scores_f"],
        strings=["label_i"] if words else [],
        coefficients=floats(3, 4, seed=2),
        intercepts=floats(3, seed=3),
        post_transform=transform,
        **labels,
    )
    check(model, {"x": x}, fallbacks=int(words) if transform == "SOFTMAX" else None)


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
def test_one_row_of_coefficients_speaks_for_the_second_class(transform: str) -> None:
    x = normal(6, 4)
    model = one_node(
        "LinearClassifier",
        {"x": x},
        ["label_i", "scores_f"],
        coefficients=floats(4, seed=2),
        intercepts=[0.25],
        classlabels_ints=[4, 9],
        post_transform=transform,
    )
    check(model, {"x": x})


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32])
def test_features_of_other_types(dtype: Any) -> None:
    x = (normal(5, 4) * 3).astype(dtype)
    attrs: dict[str, Any] = {"coefficients": floats(2, 4), "intercepts": [0.5, -0.5]}
    model = one_node(
        "LinearClassifier", {"x": x}, ["label_i", "scores_f"], classlabels_ints=[0, 1], **attrs
    )
    check(model, {"x": x})
    model = one_node("Scaler", {"x": x}, ["y_f"], offset=floats(4), scale=floats(4, seed=4))
    check(model, {"x": x})
    for norm in ("MAX", "L1", "L2"):
        fallbacks = 0 if dtype is np.int64 else None
        check(one_node("Normalizer", {"x": x}, ["y_f"], norm=norm), {"x": x}, fallbacks=fallbacks)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_rows_of_zeros_keep_their_elements(norm: str) -> None:
    x = normal(4, 3)
    x[1], x[2] = 0, -np.abs(x[2])
    check(one_node("Normalizer", {"x": x}, ["y_f"], norm=norm), {"x": x})


@pytest.mark.parametrize("gone", [np.nan, 2.0])
@pytest.mark.parametrize("values", [[0.5], [0.5, -1.0, 4.0]])
def test_what_is_missing_is_imputed(values: list[float], gone: float) -> None:
    x = np.array([[1, np.nan, 2], [np.nan, 2, 0]], np.float32)
    model = one_node(
        "Imputer", {"x": x}, ["y_f"], imputed_value_floats=values, replaced_value_float=gone
    )
    check(model, {"x": x})
    whole = np.array([[1, 2, 3], [2, 2, 0]])
    model = one_node(
        "Imputer", {"x": whole}, ["y_i"], imputed_value_int64s=[9, 8, 7], replaced_value_int64=2
    )
    check(model, {"x": whole})


def test_numbers_above_a_threshold() -> None:
    x = np.array([[0.5, 0.25, 0], [-1, 3, 0.5]], np.float32)
    check(one_node("Binarizer", {"x": x}, ["y_f"], threshold=0.25), {"x": x}, fallbacks=0)
