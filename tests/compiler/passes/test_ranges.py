"""Tests that inferred ranges and integrality hold for all elements, including special numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiler.ir.editor import Editor
from compiler.passes.engine.ranges import MODEST, NOT_NEGATIVE, is_whole, range_of
from compiler.reference import reference
from tests.compiler.passes.numbers import graph, random_inputs, special_inputs

INF = math.inf

RANGES = {
    "z: f32[2,3] = exp(x)": (0, INF),
    "z: f32[2,3] = sigmoid(x)": (0, 1),
    "z: f32[2,3] = mul(x, x)": (0, INF),
    "z: f32[2,3] = mul(x, y)": (-INF, INF),
    "z: f32[2,3] = add(x, y)": (-INF, INF),
    "a: f32[2,3] = tanh(x) z: f32[2,3] = neg(a)": (-1, 1),
    "a: f32[2,3] = tanh(x) b: f32[3] = sin(y) z: f32[2,3] = add(a, b)": (-2, 2),
    "a: f32[2,3] = tanh(x) b: f32[3] = exp(y) z: f32[2,3] = mul(a, b)": (-INF, INF),
    "a: f32[2,3] = abs(x) b: f32[3] = exp(y) z: f32[2,3] = mul(a, b)": (0, INF),
    "a: f32[2,3] = abs(x) b: f32[3] = exp(y) z: f32[2,3] = div(a, b)": (-INF, INF),
    "a: f32[2,3] = relu(x) z: f32[2] = reduce_mean(a, axes=[1], keepdims=false)": (0, INF),
    "a: f32[2,3] = relu(x) z: f32[2] = reduce_sum(a, axes=[1], keepdims=false)": (0, INF),
    "a: f32[2,3] = abs(x) z: f32[3,2] = transpose(a, perm=[1,0])": (0, INF),
    "a: f32[2,3] = abs(x) b: f32[2,3] = neg(a) z: f32[2,3] = relu(b)": (0, 0),
    "const c: f32[3] = literal(-2.0,1.0,7.0) a: f32[2,3] = sin(x) z: f32[2,3] = add(a, c)": (-3, 8),
    "const c: f32[] = literal(2.5) a: f32[2,3] = abs(x) z: f32[2,3] = add(a, c)": (2.5, INF),
    "const c: f32[] = literal(-2.5) z: f32[2,3] = max(x, c)": (-2.5, INF),
    "const c: f32[] = literal(-2.5) z: f32[2,3] = min(x, c)": (-INF, -2.5),
    "const l: f32[] = literal(-2.5) const h: f32[] = literal(4.0) z: f32[2,3] = clip(x, l, h)": (
        -2.5,
        4,
    ),
    "const h: f32[] = literal(4.0) z: f32[2,3] = clip(x, _, h)": (-INF, 4),
    "const n: f32[] = literal(inf) a: f32[2,3] = neg(x) z: f32[2,3] = add(a, n)": (-INF, INF),
    "a: bool[2,3] = isnan(x) z: f32[2,3] = cast(a, to=f32)": (0, INF),
    "a: bool[2,3] = isnan(x) b: f32[2,3] = exp(x) z: f32[2,3] = where(a, b, y)": (-INF, INF),
}  # fmt: skip


@pytest.mark.parametrize("body", RANGES, ids=list(RANGES))
def test_the_range_is_told_and_holds(body: str) -> None:
    g = graph(f"graph g(x: f32[2,3], y: f32[3]) {{ {body} return z }}")
    low, high = range_of(Editor(g), "z")
    assert (low, high) == RANGES[body]
    for seed in range(4):
        for inputs in (random_inputs(g, seed), special_inputs(g, seed)):
            z = reference(g, inputs)["z"]
            assert (np.isnan(z) | ((z >= low) & (z <= high))).all()


def test_a_long_way_up_is_not_gone() -> None:
    steps = "".join(f"a{i + 1}: f32[2,3] = identity(a{i}) " for i in range(9))
    g = graph(f"graph g(x: f32[2,3]) {{ a0: f32[2,3] = exp(x) {steps} return a9 }}")
    assert NOT_NEGATIVE.holds(Editor(g), "a5")
    assert not NOT_NEGATIVE.holds(Editor(g), "a9")


def test_a_constant_with_nan_has_no_range() -> None:
    g = graph(
        'graph g(x: f32[2]) { const c: f32[2] = literal(hex("0000c07f0000803f")) '
        "z: f32[2] = add(x, c) return z }"
    )
    assert not MODEST.holds(Editor(g), "c")


@pytest.mark.parametrize(
    ("body", "whole"),
    [
        ("z: f32[2,3] = floor(x)", True),
        ("a: i64[2,3] = cast(x, to=i64) z: f32[2,3] = cast(a, to=f32)", True),
        ("a: f32[2,3] = round(x) z: f32[2,3] = relu(a)", True),
        ("a: f32[2,3] = sign(x) z: f32[3,2] = transpose(a, perm=[1,0])", True),
        ("a: f32[2,3] = ceil(x) b: f32[2,3] = sign(x) z: f32[2,3] = mul(a, b)", True),
        ("a: f32[2,3] = ceil(x) z: f32[2,3] = add(a, x)", False),
        ("z: f32[2,3] = relu(x)", False),
    ],
)
def test_whole_numbers_are_known(body: str, whole: bool) -> None:
    g = graph(f"graph g(x: f32[2,3]) {{ {body} return z }}")
    assert is_whole(Editor(g), "z") is whole
