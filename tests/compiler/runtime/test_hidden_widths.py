"""Tests of quantized networks whose hidden width leaves one element for the last vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import compiler
from benchmarks.nodes import LEVELS, quiet_options
from tests.onnx_models import node, value

ROWS, WIDTH_IN, WIDTH_OUT = 7, 33, 11
CODES = {"u8": (np.uint8, TensorProto.UINT8, 128), "i8": (np.int8, TensorProto.INT8, 3)}


def network(hidden: int, codes: str) -> onnx.ModelProto:
    """Return two quantized products with a Relu between; its quantized result is an output."""
    dtype, elem, zero = CODES[codes]
    rng = np.random.default_rng(hidden)
    stored: dict[str, Any] = {
        "s": np.float32(0.02),
        "z": dtype(zero),
        "ws": np.float32(0.01),
        "wz": np.int8(0),
        "hs": np.float32(0.05),
        "w1": rng.integers(-100, 100, (WIDTH_IN, hidden)).astype(np.int8),
        "w2": rng.integers(-100, 100, (hidden, WIDTH_OUT)).astype(np.int8),
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
        node("DequantizeLinear", ["w1", "ws", "wz"], ["w1d"]),
        node("MatMul", ["xd", "w1d"], ["m"]),
        node("Relu", ["m"], ["r"]),
        node("QuantizeLinear", ["r", "hs", "z"], ["codes"]),
        node("DequantizeLinear", ["codes", "hs", "z"], ["rd"]),
        node("DequantizeLinear", ["w2", "ws", "wz"], ["w2d"]),
        node("MatMul", ["rd", "w2d"], ["y"]),
    ]
    results = [value("y", [ROWS, WIDTH_OUT]), value("codes", [ROWS, hidden], elem)]
    constants = [numpy_helper.from_array(np.asarray(a), n) for n, a in stored.items()]
    graph = helper.make_graph(nodes, "g", [value("x", [ROWS, WIDTH_IN])], results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("hidden", [9, 15, 17, 33, 129, 257])
def test_codes_are_those_of_onnx_runtime_for_each_number_of_threads(
    hidden: int, codes: str
) -> None:
    model = network(hidden, codes).SerializeToString()
    x = np.random.default_rng(1).normal(size=(ROWS, WIDTH_IN)).astype(np.float32)
    session = ort.InferenceSession(model, quiet_options(LEVELS.ORT_DISABLE_ALL))
    y, between = session.run(None, {"x": x})
    one, two = (
        compiler.compile(compiler.load(model), threads=n, trace=False).run({"x": x}) for n in (1, 2)
    )
    assert np.abs(one["codes"].astype(int) - between.astype(int)).max() <= 1
    np.testing.assert_allclose(one["y"], y, atol=0.02 * np.abs(y).max())
    for name in ("y", "codes"):
        np.testing.assert_array_equal(one[name], two[name])
