"""Tests of operators with data-dependent indices: native cases, indices out of range, orders."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import compiler
from compiler.conformance.cases import Case, collect
from compiler.conformance.outcome import outcome_of
from compiler.errors import CompileError
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.text import parse_graph
from compiler.ir.types import tensor
from tests.onnx_models import model, node, stored, value

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
    "nonmaxsuppression": 10,
    "nonzero": 1,
    "compress": 5,
    "unique": 7,
    "eyelike": 3,
    "ai_onnx_ml_array_feature": 1,
}
"""Node cases by a pattern of their names, with the minimum number of matches."""


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
        ("one_hot", ["i64[N]", "i64[]", "f32[2]"], {"axis": 0}, "f32[x1_r0,N]"),
        ("top_k", ["f32[N,8]", "i64[1]"], {"axis": 0}, "f32[x1_r0,8] i64[x1_r0,8]"),
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


def model_of(op_type: str, inputs: list[Any], n_outputs: int = 1, **attrs: Any) -> onnx.ModelProto:
    """Return a model of one node, whose operands except the first two are constants."""
    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [f"y{i}" for i in range(n_outputs)]
    node = helper.make_node(op_type, names, outputs, **attrs)
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names[:2], inputs[:2], strict=False)
    ]
    results = [helper.make_tensor_value_info(o, 0, None) for o in outputs]
    constants = [numpy_helper.from_array(a, n) for n, a in zip(names[2:], inputs[2:], strict=True)]
    graph = helper.make_graph([node], "one", given, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])


def check_native(op_type: str, inputs: list[Any], n_outputs: int = 1, **attrs: Any) -> None:
    model = model_of(op_type, inputs, n_outputs, **attrs)
    feeds = {f"x{i}": a for i, a in enumerate(inputs[:2])}
    program = compiler.compile(model.SerializeToString(), trace=False)
    made = list(program.run(feeds).values())
    assert all(k.native for k in program.kernels)
    for found, needed in zip(made, ReferenceEvaluator(model).run(None, feeds), strict=True):
        assert np.array_equal(found, needed, equal_nan=found.dtype.kind == "f")


def test_boxes_are_kept_as_the_standard_says() -> None:
    rng = np.random.default_rng(3)
    boxes = rng.uniform(0, 4, (2, 60, 4)).astype(np.float32)
    scores = rng.integers(0, 30, (2, 3, 60)).astype(np.float32)
    share, least = np.array([0.3], np.float32), np.array([4.0], np.float32)
    for centered in (0, 1):
        data = [boxes, scores, np.array([12]), share, least]
        check_native("NonMaxSuppression", data, center_point_box=centered)


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("axis", [None, 0])
def test_different_rows(is_sorted: int, axis: int | None) -> None:
    x = np.random.default_rng(2).integers(0, 3, (40, 3)).astype(np.float32)
    given = {} if axis is None else {"axis": axis}
    if axis is None and not is_sorted:
        x = x.reshape(-1)
    check_native("Unique", [x], 4, sorted=is_sorted, **given)


def test_what_is_selected_may_be_nothing() -> None:
    x = np.zeros((3, 4), np.float32)
    check_native("NonZero", [x])
    check_native("Compress", [x, np.zeros(3, np.bool_)], axis=0)
    check_native("Compress", [x, np.array([False, True])], axis=1)
    check_native("NonZero", [np.arange(60).reshape(3, 4, 5) % 3])


def test_what_follows_a_size_that_data_tell_is_generated_code_too() -> None:
    program = compiler.compile(
        parse_graph("""
        graph g(x: f32[30,40]) {
          p: i64[2,1200], n: i64[] = nonzero_places(x)
          i: i64[2,k] = leading(p, n, axis=1)
          t: i64[k,2] = transpose(i, perm=[1,0])
          y: f32[k] = gather_nd(x, t, batch_dims=0)
          z: f32[k] = neg(y)
          return z, t
        }
        """),
        trace=False,
    )
    rng = np.random.default_rng(0)
    for most in (3, 1, 9, 3):
        x = rng.integers(0, most, (30, 40)).astype(np.float32)
        z, t = program.run({"x": x}).values()
        assert np.array_equal(z, -x[x != 0])
        assert np.array_equal(t, np.argwhere(x))
        assert all(k.native for k in program.kernels)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rows", [-1, [-1], [[-1]], [[[-3]]], [[2]], [[-1, 1], [0, -2]]])
def test_known_rows_of_an_open_axis_count_from_its_end(axis: int, rows: Any) -> None:
    sizes: list[int | str] = [3, 5]
    sizes[axis] = "N"
    made = model(
        [node("Gather", ["x", "rows"], ["y"], axis=axis)],
        [value("x", sizes)],
        [value("y", None)],
        [stored("rows", rows, np.int64)],
    )
    x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)
    for pipeline in ("O0", "default"):
        got = compiler.compile(made.SerializeToString(), pipeline=pipeline).run({"x": x})["y"]
        np.testing.assert_array_equal(got, np.take(x, np.array(rows), axis))
