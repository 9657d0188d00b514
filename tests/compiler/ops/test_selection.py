"""Operators whose places are data: node cases as generated code, positions outside, orders."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.conformance.cases import Case, collect
from compiler.conformance.outcome import outcome_of
from compiler.errors import CompileError
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.text import parse_graph
from compiler.ir.types import tensor

NATIVE = {
    "gather": 10,
    "scatter": 16,
    "onehot|one_hot": 4,
    "cum(sum|prod)": 18,
    "top_k": 7,
    "gridsample": 18,
    "maxunpool": 2,
    "reversesequence": 2,
    "tensorscatter": 3,
    "det": 2,
    "roialign": 3,
    ".*deform_conv": 4,
    "col2im": 5,
    "tfidf": 7,
    "eyelike": 3,
    "ai_onnx_ml_array_feature": 1,
}
"""Node cases by a pattern of their names, and how many of them there are at least."""


@cache
def node_cases() -> tuple[Case, ...]:
    return collect("node")


@pytest.mark.parametrize("pattern", NATIVE)
def test_the_cases_of_the_standard_run_as_generated_code(pattern: str) -> None:
    named = [c for c in node_cases() if re.search(f"^test_({pattern})", c.name)]
    assert len(named) >= NATIVE[pattern]
    outcomes = {c.name: outcome_of(c) for c in named}
    assert {n: o.why for n, o in outcomes.items() if o.kind != "native"} == {}


def run(text: str, **feeds: Any) -> np.ndarray[Any, Any]:
    (made,) = compiler.compile(parse_graph(text), trace=False).run(feeds).values()
    return made


def test_generated_code_stays_inside_when_positions_do_not() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    rows = np.array([7, -9, 1, -1])
    made = run(
        "graph g(x: f32[4,3], n: i64[4]) { y: f32[4,3] = gather(x, n, axis=0)\n return y }",
        x=x, n=rows,
    )  # fmt: skip
    assert np.array_equal(made, x[[3, 0, 1, 3]])
    made = run(
        "graph g(x: f32[4,3], n: i64[4,1], u: f32[4,3]) {"
        ' y: f32[4,3] = scatter_nd(x, n, u, reduction="none")\n return y }',
        x=x, n=rows[:, None], u=-x - 1,
    )  # fmt: skip
    needed = x.copy()
    needed[[1, 3]] = -x[2:] - 1
    assert np.array_equal(made, needed)


@pytest.mark.parametrize("n", [1, 55, 56, 57, 64, 100])
@pytest.mark.parametrize("largest", [True, False])
def test_top_k_keeps_equal_elements_in_their_order(n: int, largest: bool) -> None:
    x = np.random.default_rng(n).integers(0, 9, (3, 100)).astype(np.float32)
    text = (
        f"graph g(x: f32[3,100]) {{ const n: i64[1] = literal({n})\n"
        f"y: f32[3,{n}], p: i64[3,{n}] = top_k(x, n, axis=-1, largest={str(largest).lower()})\n"
        "return y, p }"
    )
    values, places = compiler.compile(parse_graph(text), trace=False).run({"x": x}).values()
    order = np.argsort(-x if largest else x, axis=-1, kind="stable")[:, :n]
    assert np.array_equal(places, order)
    assert np.array_equal(values, np.take_along_axis(x, order, -1))


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "needed"),
    [
        ("gather_elements", ["f32[N,8]", "i64[K,2]"], {}, "f32[K,2]"),
        ("gather_nd", ["f32[N,M,8]", "i64[N,K,1]"], {"batch_dims": 1}, "f32[N,K,8]"),
        ("scatter_nd", ["f32[N,8]", "i64[K,1]", "f32[K,8]"], {}, "f32[N,8]"),
        ("scatter_elements", ["f32[N,8]", "i64[K,8]", "f32[K,8]"], {}, "f32[N,8]"),
        ("argmax", ["f32[N,8,M]"], {"axis": 1, "keepdims": False}, "i64[N,M]"),
        ("one_hot", ["i64[N]", "i64[]", "f32[2]"], {"axis": 0}, "f32[x1_d0,N]"),
        ("top_k", ["f32[N,8]", "i64[1]"], {"axis": 0}, "f32[x1_d0,8] i64[x1_d0,8]"),
    ],
)
def test_open_sizes(name: str, operands: list[str], attrs: dict[str, Any], needed: str) -> None:
    operator = OPERATORS[name]
    tensors = [Tensor(f"x{i}", tensor(o)) for i, o in enumerate(operands)]
    assert " ".join(map(str, operator.infer(tensors, operator.bind(attrs)))) == needed


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "code"),
    [
        ("gather_elements", ["f32[2,3]", "i64[3,1]"], {"axis": 1}, "E-OP-SHAPE"),
        ("gather_elements", ["f32[2,3]", "f32[2,3]"], {}, "E-OP-DTYPE"),
        ("gather_nd", ["f32[2,3]", "i64[2,3]"], {}, "E-OP-SHAPE"),
        ("gather_nd", ["f32[2,3]", "i64[3,1]"], {"batch_dims": 1}, "E-OP-SHAPE"),
        ("gather_nd", ["f32[2,3]", "i64[2,1]"], {"batch_dims": 2}, "E-OP-ATTRIBUTE"),
        ("scatter_nd", ["f32[2,3]", "i64[4,1]", "f32[4,2]"], {}, "E-OP-SHAPE"),
        ("scatter_elements", ["f32[2]", "i64[4]", "f64[4]"], {}, "E-OP-DTYPE"),
        ("scatter_elements", ["f32[2]", "i64[4]", "f32[4]"], {"reduction": "x"}, "E-OP-ATTRIBUTE"),
        ("scatter_elements", ["bool[2]", "i64[4]", "bool[4]"], {"reduction": "add"}, "E-OP-DTYPE"),
        ("one_hot", ["i64[2]", "i64[]", "f32[3]"], {}, "E-OP-SHAPE"),
        ("eye_like", ["f32[2]"], {}, "E-OP-SHAPE"),
    ],
)
def test_refusals(name: str, operands: list[str], attrs: dict[str, Any], code: str) -> None:
    operator = OPERATORS[name]
    tensors = [Tensor(f"x{i}", tensor(o)) for i, o in enumerate(operands)]
    with pytest.raises(CompileError) as found:
        operator.infer(tensors, operator.bind(attrs))
    assert found.value.code == code
