"""Tests of removing tensors without elements, with unchanged results of their readers."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import applied, assert_same_results, graph, random_inputs

REMOVE_EMPTY = PASSES["remove_empty_tensors"]

EMPTY = {
    "elementwise": ("x: f32[0,3], y: f32[3]", "z: f32[0,3] = add(x, y)", []),
    "several results": (
        "x: f32[2,3]",
        "a: f32[2,0], b: f32[2,3] = split(x, axis=1, sizes=[0,3]) z: f32[2,0] = exp(a)",
        ["split"],
    ),
    "sum over nothing": (
        "x: f32[2,0]",
        "z: f32[2] = reduce_sum(x, axes=[1], keepdims=false)",
        [],
    ),
    "maximum of nothing": (
        "x: f32[2,0]",
        "z: f32[2] = reduce_max(x, axes=[1], keepdims=false)",
        [],
    ),
    "product over nothing": ("x: f32[2,0], y: f32[0,3]", "z: f32[2,3] = matmul(x, y)", []),
    "an open size beside": ("x: f32[N,0], y: f32[N,3]", "z = concat(x, y, axis=1)", []),
    "something beside": ("x: f32[2,0], y: f32[0,3], w: f32[3]",
        "a: f32[2,3] = matmul(x, y) z: f32[2,3] = add(a, w)", ["add"]),
    "all empty": ("x: f32[0,2], y: f32[0,3]", "z: f32[0,5] = concat(x, y, axis=1)", []),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "body", "left"), EMPTY.values(), ids=list(EMPTY))
def test_what_has_no_elements_goes(inputs: str, body: str, left: list[str]) -> None:
    body = body.replace("z = concat", "z: f32[N,3] = concat")
    results = "z, b" if "b:" in body else "z"
    g = graph(f"graph g({inputs}) {{ {body} return {results} }}")
    after = REMOVE_EMPTY.run(g)
    assert [n.op for n in after.nodes] == left
    assert REMOVE_EMPTY.run(after) is after
    assert_same_results(g, after, random_inputs(g), error=0)


KEPT = {
    "open size": "graph g(x: f32[N,3]) { z: f32[N,3] = exp(x) return z }",
    "one result of two": """
        graph g(x: f32[2,3]) {
          a: f32[2,0], b: f32[2,3] = split(x, axis=1, sizes=[0,3])
          return a, b
        }""",
    "a large constant": """
        graph g(x: f32[300,0]) {
          const y: f32[0,300] = splat(0.0)
          z: f32[300,300] = matmul(x, y)
          return z
        }""",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=list(KEPT))
def test_what_has_elements_or_may_have_some_stays(text: str) -> None:
    g = graph(text)
    log = Log()
    assert REMOVE_EMPTY.run(g, log) is g
    assert not applied(log.steps)


def test_a_constant_of_the_right_type_stands_for_it() -> None:
    g = graph("graph g(x: f16[0,3]) { z: bool[0,3] = isnan(x) return z }")
    after = REMOVE_EMPTY.run(g)
    (made,) = after.constants.values()
    assert made.array().dtype == np.bool_
    assert made.array().shape == (0, 3)
