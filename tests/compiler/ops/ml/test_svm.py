"""Tests of support vector machines with every kernel, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ml_models import check, one_node
from tests.onnx_nodes import normal

KERNELS = [
    ("LINEAR", [0.0, 0.0, 0.0]),
    ("POLY", [0.5, 1.5, 3.0]),
    ("POLY", [0.25, 4.0, 1.5]),
    ("RBF", [0.5, 0.0, 0.0]),
    ("SIGMOID", [0.25, -0.5, 0.0]),
]


def floats(*shape: int, seed: int = 0) -> list[float]:
    return normal(*shape, seed=seed).reshape(-1).tolist()


def by_vectors(sizes: list[int], kind: str, params: list[float], **more: Any) -> Any:
    count, n_vectors = len(sizes), sum(sizes)
    n_pairs = count * (count - 1) // 2
    return one_node(
        "SVMClassifier",
        {"x": normal(7, 4)},
        ["label_i", "scores_f"],
        kernel_type=kind,
        kernel_params=params,
        vectors_per_class=sizes,
        support_vectors=floats(n_vectors, 4, seed=1),
        coefficients=floats(count - 1, n_vectors, seed=2),
        rho=floats(n_pairs, seed=3),
        **more,
    )


@pytest.mark.parametrize(("kind", "params"), KERNELS)
def test_kernels_of_a_regression(kind: str, params: list[float]) -> None:
    x = normal(5, 4)
    for one_class in (0, 1):
        model = one_node(
            "SVMRegressor",
            {"x": x},
            ["y_f"],
            kernel_type=kind,
            kernel_params=params,
            support_vectors=floats(3, 4, seed=1),
            n_supports=3,
            coefficients=floats(3, seed=2),
            rho=[0.3],
            one_class=one_class,
        )
        check(model, {"x": x}, fallbacks=0 if one_class and kind == "POLY" else None)


def test_a_regression_without_vectors_is_linear() -> None:
    x = normal(5, 4)
    attrs: dict[str, Any] = {"kernel_type": "RBF", "kernel_params": [1.0, 2.0, 3.0]}
    model = one_node("SVMRegressor", {"x": x}, ["y_f"], coefficients=floats(4), rho=[0.5], **attrs)
    check(model, {"x": x})


@pytest.mark.parametrize(("kind", "params"), KERNELS)
@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX"])
def test_scores_of_pairs_and_the_class_with_most_votes(
    transform: str, kind: str, params: list[float]
) -> None:
    model = by_vectors(
        [2, 3, 2], kind, params, classlabels_ints=[5, -3, 8], post_transform=transform
    )
    check(model, {"x": normal(7, 4)})


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "PROBIT"])
def test_two_classes_have_two_columns(transform: str) -> None:
    model = by_vectors(
        [3, 2], *KERNELS[3], classlabels_strings=["a", "b"], post_transform=transform
    )
    model.graph.output[0].type.tensor_type.elem_type = 8
    columns = 1 if transform == "PROBIT" else None
    check(model, {"x": normal(7, 4)}, fallbacks=1 if transform == "NONE" else None, columns=columns)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_probabilities_are_coupled(count: int) -> None:
    n_pairs = count * (count - 1) // 2
    model = by_vectors(
        [2] * count,
        *KERNELS[3],
        classlabels_ints=list(range(count)),
        prob_a=[-abs(v) for v in floats(n_pairs, seed=5)],
        prob_b=floats(n_pairs, seed=6),
    )
    check(model, {"x": normal(7, 4)}, fallbacks=0 if count == 3 else None)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("count", [2, 3])
def test_classes_without_vectors_are_linear(count: int, positive: bool) -> None:
    x = normal(7, 4)
    coefficients = floats(count, 4, seed=2)
    if positive:
        coefficients = [abs(c) for c in coefficients]
    model = one_node(
        "SVMClassifier",
        {"x": x},
        ["label_i", "scores_f"],
        coefficients=coefficients,
        rho=[0.1],
        kernel_params=[0.0, 0.0, 0.0],
        classlabels_ints=[6, 2, 4][:count],
        post_transform="LOGISTIC",
    )
    check(model, {"x": x})
