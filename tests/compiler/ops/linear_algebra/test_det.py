"""Tests of determinants: singular matrices, infinities and NaN."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ops.evaluation.meaning import evaluate_graph

INF, NAN = float("inf"), float("nan")
GRAPH = "graph g(x: f32[1,3,3]) {\n  d: f32[1] = det(x)\n  return d\n}"


@pytest.mark.parametrize(
    ("matrix", "wanted"),
    [
        ([[0, 1, 2], [0, 3, 4], [0, 5, 7]], 0.0),
        ([[0, 2, 1], [3, 0, 0], [0, 0, 4]], -24.0),  # the first pivot is in the second row
        ([[0, 1, 2], [0, INF, 3], [0, 4, 5]], NAN),  # 0 times the infinity
        ([[1, 0, 0], [0, INF, 0], [0, 0, 2]], INF),
        ([[NAN, 1, 2], [3, 4, 5], [6, 7, 9]], NAN),
        ([[2, 1, 0], [NAN, 1, 0], [4, 0, 1]], NAN),
    ],
)
def test_code_and_reference_agree(matrix: list[list[float]], wanted: float) -> None:
    graph = compiler.parse(GRAPH)
    x = np.array([matrix], np.float32)
    expected = np.array([wanted], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(evaluate_graph(graph, {"x": x})["d"], expected)
    np.testing.assert_allclose(compiler.compile(graph, "none").run({"x": x})["d"], expected)


def test_the_reference_is_right_for_many_matrices() -> None:
    x = np.random.default_rng(3).normal(size=(2, 50, 7, 7))
    text = "graph g(x: f64[2,50,7,7]) {\n  d: f64[2,50] = det(x)\n  return d\n}"
    found = evaluate_graph(compiler.parse(text), {"x": x})["d"]
    np.testing.assert_allclose(found, np.linalg.det(x), rtol=1e-9)
