"""Tests of piecewise functions in tables: the fit, and vectors of other lengths than tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from compiler.codegen.arithmetic.functions import Arithmetic
from compiler.codegen.arithmetic.lookup import Pieces, fitted, picked
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import Value
from compiler.ir.types import DType
from compiler.loops.text import parse_kernel
from compiler.targets.target import TARGETS
from tests.kernel_runs import Array, run_native


def evaluated(pieces: Pieces, index: int, x: float) -> float:
    distance = x - pieces.centers[index]
    total = 0.0
    for table in pieces.coefficients:
        total = total * distance + table[index]
    return total


def test_pieces_follow_the_function_from_edge_to_edge() -> None:
    edges = [0.1 * i * i for i in range(17)]
    centers = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
    pieces = fitted(math.cos, edges, centers, 12, first=5)
    for i in range(16):
        for x in np.linspace(edges[i], edges[i + 1], 7):
            assert evaluated(pieces, (i + 5) % 16, x) == pytest.approx(math.cos(x), abs=1e-6)


def test_around_zero_the_quotient_is_what_is_near() -> None:
    edges = [0.0, 0.125, *(0.25 * i for i in range(1, 16))]
    pieces = fitted(math.sin, edges, [0.0, *edges[2:]], 5, slope=1.0)
    for x in (1e-30, 1e-3, 0.07, 0.125):
        assert evaluated(pieces, 0, x) + x == pytest.approx(math.sin(x), rel=2e-9)
    assert pieces.coefficients[-1][0] == 0


@pytest.mark.parametrize(("n", "instruction"), [(16, "permvar"), (32, "vpermi2var")])
def test_a_number_is_picked_by_one_instruction(n: int, instruction: str) -> None:
    out = Emitter(32)
    found = picked(
        Arithmetic(out, TARGETS["x86-64-v4"]),
        [float(i) for i in range(n)],
        Value("%i", DType.i32, 16),
    )
    assert (found.dtype, found.lanes) == (DType.f32, 16)
    (line,) = out.scopes[0].lines
    assert instruction in line


def run_in_vectors(fn: str, x: Array, lanes: int) -> Array:
    n = len(x)
    at = f"i + {lanes}*o" if lanes else "o"
    body = f"y[{at}] = {fn}(x[{at}])"
    body = f"vector i in 0..{lanes} {{ {body} }}" if lanes else body
    kernel = parse_kernel(
        f"kernel k(x: f32[{n}] input, y: f32[{n}] output) {{"
        f" for o in 0..{n // (lanes or 1)} {{ {body} }} }}"
    )
    arrays = {"x": x, "y": np.zeros_like(x)}
    run_native(kernel, arrays)
    return arrays["y"]


@pytest.mark.parametrize("fn", ["exp", "tanh", "erf", "sigmoid", "normal_cdf", "normal_cdf_tanh"])
def test_a_number_gives_the_same_whatever_the_vector_around_it(fn: str) -> None:
    x = np.linspace(-9, 9, 240, dtype=np.float32)
    x[:3] = np.nan, np.inf, -np.inf
    expected = run_in_vectors(fn, x, 16)
    for lanes in (0, 3, 8, 12, 20, 40, 48):
        np.testing.assert_array_equal(run_in_vectors(fn, x, lanes), expected)
