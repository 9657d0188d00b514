"""Accuracy of vector mathematics in units of the last place, and what happens at the edges."""

import math

import numpy as np
import pytest

from compiler.loops.text import parse_kernel
from tests.kernel_runs import Array, run_native

N = 1 << 15
SPECIAL = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-39, 3e38, -3e38, 1, -1, 88.7, 88.8, -87.4,
     -103.9, -104, 150, -150, 0.625, 9.1, -9.1, 3.99, 4.01],
    np.float32,
)  # fmt: skip
RANGES = {
    "exp": ([(-104, 88.7), (-1, 1)], 1.1),
    "log": ([(0.5, 2), (1e-38, 1e-30), (1, 1e9)], 1.1),
    "tanh": ([(-10, 10), (-1, 1), (-1e-3, 1e-3)], 1.6),
    "sigmoid": ([(-100, 100), (-8, 8)], 2.5),
    "erf": ([(-5, 5), (-1, 1), (-1e-3, 1e-3)], 1.3),
}


def exact(fn: str, x: Array) -> Array:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        if fn == "sigmoid":
            e = np.exp(-np.abs(wide))
            return np.where(wide < 0, e, 1) / (1 + e)
        if fn == "erf":
            return np.array([math.erf(v) for v in wide])
        return getattr(np, fn)(wide)


def evaluate(fn: str, x: Array, kind: str = "vector") -> Array:
    kernel = parse_kernel(
        f"kernel k(x: f32[{len(x)}] input, y: f32[{len(x)}] output) {{"
        f" {kind} i in 0..{len(x)} {{ y[i] = {fn}(x[i]) }} }}"
    )
    arrays = {"x": x, "y": np.zeros_like(x)}
    run_native(kernel, arrays)
    return arrays["y"]


def errors_in_ulp(found: Array, expected: Array) -> Array:
    rounded = expected.astype(np.float32)
    return np.abs(found.astype(np.float64) - expected) / np.spacing(np.abs(rounded))


@pytest.mark.parametrize("fn", RANGES)
def test_functions_are_accurate_to_the_last_places(fn: str):
    ranges, limit = RANGES[fn]
    for low, high in ranges:
        x = np.linspace(low, high, N).astype(np.float32)
        worst = errors_in_ulp(evaluate(fn, x), exact(fn, x)).max()
        assert worst <= limit, f"{fn} on [{low}, {high}] is off by {worst} units"


@pytest.mark.parametrize("kind", ["vector", "for"])
@pytest.mark.parametrize("fn", RANGES)
def test_special_numbers_come_out_as_they_should(fn: str, kind: str):
    found = evaluate(fn, SPECIAL, kind)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = exact(fn, SPECIAL).astype(np.float32)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    np.testing.assert_allclose(found[finite], expected[finite], rtol=3e-7, atol=1e-45)
