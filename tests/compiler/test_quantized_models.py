"""Tests of models from ONNX Runtime's quantizer, in all forms: native, within one step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as runtime
import pytest
from onnx import helper, numpy_helper
from onnxruntime import quantization

import compiler
from tests.kernel_runs import Array

FORMS = [
    ("QDQ", "QUInt8", "QInt8", True),
    ("QDQ", "QInt16", "QInt4", False),
    ("QOperator", "QUInt8", "QInt8", True),
    ("QOperator", "QInt8", "QInt8", False),
    ("dynamic", "QUInt8", "QUInt8", False),
]


class Builder:
    """A model, built node by node."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *shape: int, around: float = 0.0, size: float = 0.2) -> str:
        return self.constant(around + size * self.chance.normal(size=shape).astype(np.float32))

    def constant(self, values: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, op_type: str, *inputs: str, to: str = "", **attrs: Any) -> str:
        made = to or f"{op_type}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [made], **attrs))
        return made

    def model(self, shape: list[int], result: list[int]) -> onnx.ModelProto:
        def value(name: str, dims: list[int]) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)

        graph = helper.make_graph(
            self.nodes, "g", [value("x", shape)], [value("y", result)], self.weights
        )
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def image_classifier() -> onnx.ModelProto:
    b = Builder(1)
    pads = [1, 1, 1, 1]
    first = b.add("Conv", "x", b.weight(16, 3, 3, 3), b.weight(16), pads=pads)
    first = b.add("MaxPool", b.add("Relu", first), kernel_shape=[2, 2], strides=[2, 2])
    deep = b.add("Conv", first, b.weight(16, 1, 3, 3), b.weight(16), pads=pads, group=16)
    made = b.add("Add", b.add("Conv", b.add("Relu", deep), b.weight(16, 16, 1, 1)), first)
    made = b.add("Mul", made, b.add("Sigmoid", made))
    made = b.add("AveragePool", made, kernel_shape=[2, 2], strides=[2, 2])
    made = b.add("Concat", made, b.add("LeakyRelu", made, alpha=0.1), axis=1)
    made = b.add("Flatten", b.add("GlobalAveragePool", made))
    b.add("Gemm", made, b.weight(7, 32), b.weight(7), transB=1, to="y")
    return b.model([2, 3, 12, 12], [2, 7])


def attention_block() -> onnx.ModelProto:
    b, size, heads = Builder(2), 24, 3

    def projected(x: str, n: int, perm: list[int] | None = None) -> str:
        made = b.add("Add", b.add("MatMul", x, b.weight(size, n)), b.weight(n))
        if perm is None:
            return made
        split = b.add("Reshape", made, b.constant(np.array([0, 0, heads, size // heads])))
        return b.add("Transpose", split, perm=perm)

    x = b.add("LayerNormalization", "x", b.weight(size, around=1.0), b.weight(size), axis=-1)
    q, k, v = (projected(x, size, p) for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    weights = b.add("Softmax", b.add("MatMul", q, k), axis=-1)
    mixed = b.add("Transpose", b.add("MatMul", weights, v), perm=[0, 2, 1, 3])
    mixed = b.add("Reshape", mixed, b.constant(np.array([0, 0, size])))
    b.add("Add", projected(mixed, size), "x", to="y")
    return b.model([2, 5, size], [2, 5, size])


def numbers(model: onnx.ModelProto, seed: int) -> Array:
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def quantized(
    model: onnx.ModelProto, folder: Path, form: str, activations: str, weights: str, each: bool
) -> bytes:
    plain, made = folder / "plain.onnx", folder / "quantized.onnx"
    onnx.save(model, plain)
    # 7-bit weights: see `seven_bits` of tests/onnx_nodes.py.
    kinds = {
        "weight_type": quantization.QuantType[weights],
        "per_channel": each,
        "reduce_range": weights in ("QInt8", "QUInt8"),
    }
    if form == "dynamic":
        quantization.quantize_dynamic(plain, made, **kinds)
        return made.read_bytes()

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.given: Iterator[dict[str, Array]] = iter(
                [{"x": numbers(model, seed)} for seed in range(4)]
            )

        def get_next(self) -> dict[str, Array] | None:
            return next(self.given, None)

    quantization.quantize_static(
        plain,
        made,
        Reader(),
        quant_format=quantization.QuantFormat[form],
        activation_type=quantization.QuantType[activations],
        extra_options={"UseQDQContribOps": weights == "QInt4"},
        **kinds,
    )
    return made.read_bytes()


@pytest.mark.parametrize(("form", "activations", "weights", "each"), FORMS)
@pytest.mark.parametrize("make", [image_classifier, attention_block])
def test_a_quantized_model_is_right_and_native(
    make: Any, form: str, activations: str, weights: str, each: bool, tmp_path: Path
) -> None:
    model = make()
    data = quantized(model, tmp_path, form, activations, weights, each)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    x = numbers(model, 3)
    (needed,) = session.run(None, {"x": x})
    program = compiler.compile(compiler.load(data))
    assert [(k.op, k.because) for k in program.kernels if not k.native] == []
    errors = np.abs(program.run({"x": x})["y"] - needed)
    step = np.ptp(needed) / 255
    assert errors.max() <= 1.01 * step
    assert np.count_nonzero(errors > 0.01 * step) <= 0.2 * errors.size
