"""Tests of programs with parameters as inputs: axes, pads, sizes and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import compiler
from compiler.runtime.program import MAX_PARAMETER_SETS, Program


def model(op: str, inputs: dict[str, Any], shape: list[int | str | None], **attrs: Any) -> bytes:
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in inputs.items()
    ]
    node = helper.make_node(op, list(inputs), ["y"], "n", **attrs)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "g", values, [y])
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()


def run(program: Program, inputs: dict[str, Any]) -> np.ndarray[Any, Any]:
    made = program.run(inputs)["y"]
    assert all(k.native for k in program.kernels), [k.because for k in program.kernels]
    return made


def test_a_sum_over_axes_that_the_user_gives_is_compiled_once_for_each_choice():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    data = model("ReduceSum", {"x": x, "axes": np.array([0])}, [None] * 3)
    program = compiler.compile(data)
    for axis in (1, 2, 1, -3):
        made = run(program, {"x": x, "axes": np.array([axis])})
        assert np.array_equal(made, x.sum(axis, keepdims=True))
    assert [s.parameters["axes"].tolist() for s in program.specializations] == [[1], [2], [-3]]
    assert "axes=[1]" in program.specializations[0].because


@pytest.mark.parametrize(
    ("op", "given", "wanted"),
    [
        ("Slice", {"s": [1, 0], "e": [2, -1]}, (slice(1, 2), slice(0, -1))),
        ("Tile", {"r": [2, 3]}, None),
        ("Reshape", {"s": [5, 3]}, None),
        ("Expand", {"s": [4, 3, 5]}, None),
    ],
)
def test_sizes_of_results_may_be_given(op: str, given: dict[str, Any], wanted: Any):
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    inputs = {"x": x, **{k: np.array(v, np.int64) for k, v in given.items()}}
    made = run(compiler.compile(model(op, inputs, [None] * (3 if op == "Expand" else 2))), inputs)
    expected = {
        "Slice": lambda: x[wanted],
        "Tile": lambda: np.tile(x, (2, 3)),
        "Reshape": lambda: x.reshape(5, 3),
        "Expand": lambda: np.broadcast_to(x, (4, 3, 5)),
    }[op]()
    assert np.array_equal(made, expected)


def test_data_are_no_parameters():
    x, powers = np.arange(15, dtype=np.float32).reshape(5, 3), np.array([1, 2, 0], np.int64)
    program = compiler.compile(model("Pow", {"x": x, "p": powers}, [5, 3]))
    for p in ([1, 2, 0], [3, 1, 1]):
        given = np.array(p, np.int64)
        assert np.allclose(program.run({"x": x, "p": given})["y"], x**given, rtol=1e-6)
    assert not program.specializations


def test_after_many_choices_parameters_are_data():
    x = np.arange(100, dtype=np.float32)
    inputs = {"x": x, "r": np.array([1])}
    program = compiler.compile(model("Tile", inputs, [None]), trace=False)
    for n in range(MAX_PARAMETER_SETS + 3):
        made = program.run({"x": x, "r": np.array([n])})["y"]
        assert np.array_equal(made, np.tile(x, n))
    assert "reads them as data" in program.specializations[-1].because
    assert len(program.specializations) == MAX_PARAMETER_SETS + 1
