"""Tests of LSTMs with quantized weights: native, with the results of ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import compiler
from compiler.ir.graph import all_nodes
from tests.kernel_runs import Array

STEPS, BATCH, INPUTS, HIDDEN = 7, 3, 5, 4


def quantized(values: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return weights [D, I, 4H] as 7-bit i8, and scales that are shared along `axes`."""
    scale = np.abs(values).max(axis=axes, keepdims=True) / 63
    return np.rint(values / scale).astype(np.int8), np.squeeze(scale, axes).astype(np.float32)


def model_of(direction: str, per_column: bool) -> bytes:
    n = 2 if direction == "bidirectional" else 1
    chance = np.random.default_rng(3)
    axes = (1,) if per_column else (1, 2)
    w, w_scale = quantized(chance.normal(size=(n, INPUTS, 4 * HIDDEN)), axes)
    r, r_scale = quantized(chance.normal(size=(n, HIDDEN, 4 * HIDDEN)), axes)
    weights = {
        "w": w, "r": r, "b": chance.normal(size=(n, 8 * HIDDEN)).astype(np.float32),
        "h": chance.normal(size=(n, BATCH, HIDDEN)).astype(np.float32) / 4,
        "c": chance.normal(size=(n, BATCH, HIDDEN)).astype(np.float32),
        "ws": w_scale, "wz": np.zeros(w_scale.shape, np.int8),
        "rs": r_scale, "rz": np.zeros(r_scale.shape, np.int8),
    }  # fmt: skip
    operands = ["x", "w", "r", "b", "", "h", "c", "", "ws", "wz", "rs", "rz"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", operands, ["y", "yh", "yc"], domain="com.microsoft",
        hidden_size=HIDDEN, direction=direction,
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "lstm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["t", BATCH, INPUTS])],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in ("y", "yh", "yc")],
        [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("per_column", [False, True])
def test_it_gives_what_onnx_runtime_gives(direction: str, per_column: bool) -> None:
    model = model_of(direction, per_column)
    x = np.random.default_rng(0).normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32)
    options = onnxruntime.SessionOptions()
    # Threads that share the batch would each choose a scale for their own part of the state.
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    expected = dict(zip(("y", "yh", "yc"), session.run(None, {"x": x}), strict=True))
    program = compiler.compile(compiler.load(model))
    made = program.run({"x": x})
    for name, given in expected.items():
        value = np.asarray(given)
        assert made[name].shape == value.shape
        apart = np.abs(made[name] - value) / np.abs(value).max()
        assert apart.max() < 1e-3, "a quantized state may differ by one step, 1/255"
        assert (apart > 1e-5).mean() < 0.1, "but few do"
    assert all(k.native for k in program.kernels)
    products = [n.op for n in all_nodes(program.graph) if "matmul" in n.op]
    assert set(products) == {"matmul_integer"}
