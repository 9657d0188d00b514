"""Tests of independence proofs: iterations in any order, and examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from compiler.compute.run_statements import run_statements
from compiler.compute.statements import Loop, substitute_statements
from compiler.loops.independence import are_apart, why_dependent
from compiler.loops.nodes import Kernel
from compiler.loops.text import parse_kernel

INDEPENDENT = {
    "one axis each": "for i in 0..3 { for j in 0..4 { y[j, i] = x[i, j] } }",
    "tiles of an axis": "for i in 0..2 { for k in 0..2 { y[2*i+k, 0] = x[0, k] } }",
    "a row in memory": "for i in 0..6 { for j in 0..3 { y[i//2, 3*(i%2)+j] = x[0, j] } }",
    "columns in memory": "for i in 0..3 { for j in 0..4 { y[j, 2*i] = x[0, j] } }",
    "in place": "for i in 0..4 { y[i, 1] = add(y[i, 1], x[0, i]) }",
    "a register of its own": "for i in 0..4 { r[0] = x[0, i] y[i, 0] = r[0] }",
    "lanes": "for i in 0..3 { vector j in 0..4 { y[j, i] = x[i, j] } }",
    "backwards": "for i in 0..4 { y[3-i, 0] = x[0, i] }",
}

DEPENDENT = {
    "one element": "for i in 0..4 { y[0, 0] = x[0, i] }",
    "overlapping tiles": "for i in 0..3 { for k in 0..2 { y[i+k, 0] = x[i, k] } }",
    "the element before": "for i in 0..3 { y[i+1, 0] = y[i, 0] }",
    "a sum": "for i in 0..4 { y[0, 0] = add(y[0, 0], x[0, i]) }",
    "a register": "for i in 0..4 { r[0] = add(r[0], x[0, i]) y[i, 0] = r[0] }",
    "two at once": "for i in 0..2 { for j in 0..2 { y[i+j, 0] = x[i, j] } }",
    "a computed place": "for i in 0..4 { scatter y(to_i64(x[0, i]), i64(0)) = x[0, i] }",
    "wraps round": "for i in 0..4 { y[i%2, 0] = x[0, i] }",
}


def kernel(body: str) -> Kernel:
    return parse_kernel(
        f"kernel k(x: f32[4,6] input, y: f32[4,6] output) {{ register r: f32[1] {body} }}"
    )


@pytest.mark.parametrize("name", INDEPENDENT)
def test_turns_that_are_independent_give_the_same_in_every_order(name: str):
    k = kernel(INDEPENDENT[name])
    (loop,) = k.body
    assert isinstance(loop, Loop)
    assert why_dependent(loop, k.buffers, {}) == ""
    x = np.random.default_rng(3).normal(size=(4, 6)).astype(np.float32)
    found = []
    for order in itertools.islice(itertools.permutations(range(loop.extent)), 24):
        memory = {"x": x, "y": np.ones((4, 6), np.float32), "r": np.zeros(1, np.float32)}
        for iteration in order:
            run_statements(substitute_statements(loop.body, {loop.var: iteration}), memory)
        found.append(memory["y"])
    assert all(np.array_equal(found[0], f) for f in found)


@pytest.mark.parametrize("name", DEPENDENT)
def test_turns_that_meet_are_not_independent(name: str):
    k = kernel(DEPENDENT[name])
    (loop,) = k.body
    assert isinstance(loop, Loop)
    assert why_dependent(loop, k.buffers, {})


def test_a_reason_names_what_is_shared():
    (loop,) = kernel(DEPENDENT["a register"]).body
    assert isinstance(loop, Loop)
    reason = why_dependent(loop, kernel("").buffers, {})
    assert reason == "the register r is carried from iteration to iteration"
    (loop,) = kernel(DEPENDENT["one element"]).body
    assert isinstance(loop, Loop)
    assert "element of y" in why_dependent(loop, kernel("").buffers, {})


PAIRS = {
    "parts of an axis": ("for i in 0..2 { y[i, 0] = x[i, 0] }", "y[2, 0] = x[0, 0]", True),
    "parts in memory": ("for i in 0..6 { y[0, i] = x[0, i] }", "y[1, 0] = x[0, 0]", True),
    "the same element": ("for i in 0..3 { y[i, 0] = x[i, 0] }", "y[2, 0] = x[0, 0]", False),
    "what the other reads": ("y[0, 0] = x[0, 0]", "y[1, 0] = y[0, 0]", False),
    "only reads in common": ("y[0, 0] = x[0, 0]", "y[1, 0] = x[0, 0]", True),
    "a register from before": ("y[0, 0] = x[0, 0]", "y[1, 0] = r[0]", False),
}


@pytest.mark.parametrize("name", PAIRS)
def test_statements_are_apart_when_they_touch_different_elements(name: str):
    first, second, expected = PAIRS[name]
    a, b = kernel(first), kernel(second)
    assert are_apart(a.body, b.body, a.buffers, {}) is expected
    assert are_apart(b.body, a.body, a.buffers, {}) is expected


def test_open_rows_are_independent_whatever_the_sizes_are():
    k = parse_kernel(
        "kernel k[N](x: f32[N,8] input, y: f32[N,8] output) {"
        " for i in 0..N { vector j in 0..8 { y[i, j] = x[i, j] } } }"
    )
    (loop,) = k.body
    assert isinstance(loop, Loop)
    assert why_dependent(loop, k.buffers, {}) == ""
