"""Tests of softmax over rows with NaN, infinities or only masked elements, in generated code."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
import compiler.ops
from compiler.ir.text import parse_graph

assert compiler.ops.__doc__

LEAST = np.finfo(np.float32).min


def rows(n: int) -> np.ndarray:
    """Return rows of scores with special numbers, first NaN of both signs."""
    x = np.random.default_rng(0).standard_normal((8, n)).astype(np.float32)
    x[0, 3], x[1, 0] = np.nan, -np.float32(np.nan)
    x[2, 2] = np.inf
    x[3] = -np.inf
    x[4, 1:] = -np.inf
    x[5] = LEAST
    x[6, 2:] = LEAST
    x[7] *= 1e30
    return x


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("n", [7, 77])
def test_special_rows_come_out_as_the_reference_has_them(op: str, n: int) -> None:
    graph = parse_graph(f"graph g(x: f32[8,{n}]) {{ y: f32[8,{n}] = {op}(x, axis=-1)\n return y }}")
    x = rows(n)
    with np.errstate(all="ignore"):
        expected = compiler.reference(graph, {"x": x})["y"]
    found = compiler.compile(graph, trace=False).run({"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, equal_nan=True)
    assert np.isnan(found[:4]).all(), "the result of these rows is NaN"
    assert np.isfinite(found[4:]).all() or op == "log_softmax"


def test_open_rows_keep_their_exponentials() -> None:
    """As with known sizes, each exponential is computed once, and not again for the quotient."""
    graph = parse_graph("""
    graph g(x: f32[B,S]) {
      y: f32[B,S] = softmax(x, axis=1)
      return y
    }
    """)
    program = compiler.compile(graph)
    for shape in ((1, 1), (3, 7), (5, 33), (6, 1030)):
        x = np.random.default_rng(1).standard_normal(shape, np.float32)
        expected = compiler.reference(graph, {"x": x})["y"]
        np.testing.assert_allclose(program.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-7)
    loops = str(program.emit("loops"))
    assert "= decay(" in loops
    assert "mul(decay(" not in loops
