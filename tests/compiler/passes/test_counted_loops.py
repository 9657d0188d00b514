"""Tests of loops with their own counter: inferred trip counts, and their execution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import compiler
from benchmarks.while_loops import Layer, WhileModel, diacritizer

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 8 - 1
Inner = Callable[["Body"], str]


class Body:
    """The body of a Loop with a counter `k`, a state `s`, and further nodes."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, op: str, *inputs: Any, n_outputs: int = 1, **attributes: Any) -> str:
        """Add a node; operands that are not names become constants."""
        name = f"{op}{len(self.nodes)}"
        outputs = [name, *(f"{name}_{i}" for i in range(1, n_outputs))]
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(op, names, outputs, **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Add a constant to the body."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def counted(
    condition: Inner,
    step: Any = 1,
    start: Any = 0,
    limit: int | None = None,
    go: bool | str | None = True,
    row: str = "k",
    inputs: Sequence[onnx.ValueInfoProto] = (),
    dtype: Any = np.int64,
    op: str = "Add",
) -> bytes:
    """Return a loop of s += x[row] with a changing counter: the counter, s, and s by iteration."""
    b = Body()
    r = b.add("Gather", "x", row, axis=0)
    s = b.add("Add", "s", r)
    b.add(op, "k", np.array(step, dtype))
    b.nodes[-1].output[0] = "k1"
    cond = b.add("Identity", condition(b))
    piece = b.add("Mul", s, np.float32(2))
    value, f32 = helper.make_tensor_value_info, TensorProto.FLOAT
    whole = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    body = helper.make_graph(
        b.nodes,
        "body",
        [value("n", TensorProto.INT64, ()), value("on", TensorProto.BOOL, ()),
         value("k", whole, ()), value("s", f32, (3,))],
        [value(cond, TensorProto.BOOL, ()), value("k1", whole, ()), value(s, f32, (3,)),
         value(piece, f32, (3,))],
        b.weights,
    )  # fmt: skip
    stored = [numpy_helper.from_array(np.array(start, dtype), "k0"),
              numpy_helper.from_array(np.zeros(3, np.float32), "s0")]  # fmt: skip
    given = ["", "", "k0", "s0"]
    if limit is not None:
        stored.append(numpy_helper.from_array(np.array(limit, np.int64), "limit"))
        given[0] = "limit"
    if isinstance(go, str):
        given[1] = go
    elif go is not None:
        stored.append(numpy_helper.from_array(np.array(go), "go"))
        given[1] = "go"
    loop = helper.make_node("Loop", given, ["k_end", "y", "z"], body=body)
    last = helper.make_node("Add", ["z", "z"], ["zz"])
    outputs = [value("k_end", whole, ()), value("y", f32, (3,)), value("zz", f32, (None, 3))]
    g = helper.make_graph([loop, last], "counted", [value("x", f32, (8, 3)), *inputs], outputs,
                          stored)  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(g, opset_imports=opsets, ir_version=9).SerializeToString()


def expected(model: bytes, inputs: dict[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, inputs))


def agrees(model: bytes, inputs: dict[str, Any], level: str = "O2") -> compiler.Program:
    """Return the program, whose results equal those of ONNX Runtime."""
    program = compiler.compile(model, threads=1, pipeline=level)
    made = program.run(inputs)
    for a, b in zip(made.values(), expected(model, inputs), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return program


def from_python(program: compiler.Program) -> list[str]:
    """Return the loops without generated code."""
    return [k.name for k in program.kernels if "Loop" in k.name and k.because]


I64 = helper.make_tensor_value_info("end", TensorProto.INT64, ())

CASES: dict[str, dict[str, Any]] = {
    "less": {"condition": lambda b: b.add("Less", "k1", np.int64(6))},
    "less_or_equal": {"condition": lambda b: b.add("LessOrEqual", "k1", np.int64(6))},
    "not_greater_or_equal": {
        "condition": lambda b: b.add("Not", b.add("GreaterOrEqual", "k1", np.int64(5)))
    },
    "step_2": {"condition": lambda b: b.add("Less", "k1", np.int64(7)), "step": 2},
    "step_3_from_1": {"condition": lambda b: b.add("Less", "k", np.int64(4)), "step": 3,
                      "start": 1},
    "down": {"condition": lambda b: b.add("Greater", "k1", np.int64(1)), "step": -2, "start": 7},
    "down_by_sub": {"condition": lambda b: b.add("LessOrEqual", np.int64(0), "k1"), "step": 1,
                    "start": 6, "op": "Sub"},
    "not_equal": {"condition": lambda b: b.add("Not", b.add("Equal", "k1", np.int64(4)))},
    "by_step_number": {"condition": lambda b: b.add("Less", "n", np.int64(4)), "row": "n"},
    "and": {"condition": lambda b: b.add("And", b.add("Less", "k1", np.int64(7)),
                                         b.add("Less", "n", np.int64(2)))},
    "or": {"condition": lambda b: b.add("Or", b.add("Less", "k1", np.int64(3)),
                                        b.add("Less", "n", np.int64(4)))},
    "with_own": {"condition": lambda b: b.add("And", "on", b.add("Less", "k1", np.int64(3)))},
    "limited": {"condition": lambda b: b.add("Less", "k1", np.int64(7)), "limit": 3},
    "limit_above": {"condition": lambda b: b.add("Less", "k1", np.int64(2)), "limit": 1 << 62},
    "no_steps": {"condition": lambda b: b.add("Less", "k1", np.int64(7)), "limit": 0},
    "never_starts": {"condition": lambda b: b.add("Less", "k1", np.int64(7)), "go": False},
    "i32": {"condition": lambda b: b.add("Less", "k1", np.int32(5)), "dtype": np.int32},
    "no_condition": {"condition": lambda b: b.add("Less", "k1", np.int64(3)), "go": None},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_counter_tells_the_number_of_steps(name: str) -> None:
    program = agrees(counted(**CASES[name]), {"x": X})
    assert not from_python(program)


@pytest.mark.parametrize("end", [0, 1, 5, 8])
def test_a_bound_may_be_an_input(end: int) -> None:
    model = counted(lambda b: b.add("Less", "k1", "end"), inputs=[I64])
    program = agrees(model, {"x": X, "end": np.array(end)})
    assert not from_python(program)


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("shape", [(2, 7), ("N", "T")])
def test_layers_of_keras_are_scans(is_masked: bool, shape: tuple[Any, Any]) -> None:
    model = diacritizer(5, 6, 11, shape, is_masked)
    letters = np.array([[1, 0, 4, 9, 2, 0, 0], [3, 3, 0, 7, 10, 1, 2]], np.int32)
    program = agrees(model, {"x": letters})
    assert all("Loop" not in k.name for k in program.kernels)
    if shape == ("N", "T"):
        for n, t in ((1, 1), (3, 4)):
            x = np.ones((n, t), np.int32)
            for a, b in zip(program.run({"x": x}).values(), expected(model, {"x": x}), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_backward", [False, True])
def test_a_sequence_may_have_no_steps(is_backward: bool) -> None:
    m = WhileModel()
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", "T", 3))
    y = m.lstm("x", 3, Layer(4, is_backward=is_backward))
    program = compiler.compile(m.model([x], [y]), threads=1)
    assert program.run({"x": np.zeros((2, 0, 3), np.float32)})[y].shape == (2, 0, 4)
