"""Tests that quantized products are exported as the standard's quantized operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, numpy_helper
from onnxruntime import quantization

import compiler
from compiler.passes.pipeline.run import run_pipeline
from tests.onnx_models import F32, model, node, stored, value

U8, I8 = TensorProto.UINT8, TensorProto.INT8
CHANCE = np.random.default_rng(23)
# 7-bit weights: see `seven_bits` of tests/onnx_nodes.py.
FILTERS = CHANCE.integers(-63, 64, (5, 3, 3, 2)).astype(np.int8)
COLUMNS = CHANCE.integers(-63, 64, (6, 9)).astype(np.int8)
SCALES = [0.01, 0.02, 0.005, 0.015, 0.03]


def exported(given: onnx.ModelProto, pipeline: str = "O2") -> onnx.ModelProto:
    graph, _ = run_pipeline(compiler.load(given.SerializeToString()), pipeline)
    made = onnx.load_from_string(compiler.to_onnx(graph))
    onnx.checker.check_model(made, full_check=True)
    return made


def op_types(made: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in made.graph.node]


def stored_in(made: onnx.ModelProto) -> dict[str, Any]:
    return {t.name: numpy_helper.to_array(t) for t in made.graph.initializer}


def results(of: onnx.ModelProto, inputs: dict[str, Any]) -> list[Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = of.SerializeToString()
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    ours = compiler.reference(compiler.load(data), inputs)
    return [session.run(None, inputs)[0], next(iter(ours.values()))]


def assert_same(given: onnx.ModelProto, made: onnx.ModelProto, inputs: dict[str, Any]) -> None:
    needed = results(given, inputs)
    for found in results(made, inputs):
        np.testing.assert_array_equal(found, needed[0])
    np.testing.assert_array_equal(needed[1], needed[0])


@pytest.mark.parametrize("codes", [np.uint8, np.int8])
@pytest.mark.parametrize("each", [False, True])
def test_a_convolution_of_codes_has_its_zero_point_and_bias_back(codes: Any, each: bool) -> None:
    kind, bias = (U8 if codes is np.uint8 else I8), CHANCE.integers(-500, 500, 5)
    given = model(
        [node("QLinearConv", list("xazwbvcud"), ["y"], pads=[1, 0, 2, 1])],
        inputs=[value("x", (2, 3, 7, 5), kind)],
        outputs=[value("y", (2, 5, 8, 5), kind)],
        initialisers=[
            stored("a", 0.05, np.float32),
            stored("z", 37, codes),
            stored("w", FILTERS, np.int8),
            stored("b", SCALES if each else 0.02, np.float32),
            stored("v", 0, np.int8),
            stored("c", 0.5, np.float32),
            stored("u", 11, codes),
            stored("d", bias, np.int32),
        ],
    )
    made = exported(given)
    assert op_types(made) == ["QLinearConv"]
    (only,) = made.graph.node
    arrays = stored_in(made)
    assert arrays[only.input[2]] == 37
    np.testing.assert_array_equal(arrays[only.input[8]], bias)
    ends = np.iinfo(codes)
    x = CHANCE.integers(ends.min, ends.max, (2, 3, 7, 5)).astype(codes)
    assert_same(given, made, {"x": x})


@pytest.mark.parametrize("codes", [np.uint8, np.int8])
@pytest.mark.parametrize("each", [False, True])
def test_a_matrix_product_of_codes_has_its_zero_point_back(codes: Any, each: bool) -> None:
    kind = U8 if codes is np.uint8 else I8
    scales = CHANCE.uniform(0.01, 0.03, 9)
    given = model(
        [node("QLinearMatMul", ["x", "a", "z", "w", "b", "v", "c", "u"], ["y"])],
        inputs=[value("x", (2, 4, 6), kind)],
        outputs=[value("y", (2, 4, 9), kind)],
        initialisers=[
            stored("a", 0.05, np.float32),
            stored("z", -3 if codes is np.int8 else 130, codes),
            stored("w", COLUMNS, np.int8),
            stored("b", scales if each else 0.02, np.float32),
            stored("v", np.zeros(9) if each else 0, np.int8),
            stored("c", 0.5, np.float32),
            stored("u", 11, codes),
        ],
    )
    made = exported(given)
    assert op_types(made) == ["QLinearMatMul"]
    ends = np.iinfo(codes)
    x = CHANCE.integers(ends.min, ends.max, (2, 4, 6)).astype(codes)
    assert_same(given, made, {"x": x})


def chain(codes: Any, each: bool) -> onnx.ModelProto:
    """Return quantize, conv, relu, conv, as pairs of QuantizeLinear and DequantizeLinear."""
    nodes: list[Any] = []
    for k, x in enumerate(("x", "r", "y")):
        nodes += [
            node("QuantizeLinear", [x, f"s{k}", f"z{k}"], [f"q{k}"]),
            node("DequantizeLinear", [f"q{k}", f"s{k}", f"z{k}"], [f"d{k}" if k < 2 else "out"]),
        ]
        if k < 2:
            nodes += [
                node("DequantizeLinear", [f"w{k}", f"t{k}"], [f"f{k}"], axis=0),
                node("Conv", [f"d{k}", f"f{k}", f"b{k}"][: 3 - k], [("c", "y")[k]], pads=[1] * 4),
            ]
        if k == 0:
            nodes.append(node("Relu", ["c"], ["r"]))
    weights = [FILTERS, CHANCE.integers(-63, 64, (4, 5, 3, 3))]
    constants: list[Any] = [stored("b0", CHANCE.normal(size=5), np.float32)]
    for k in range(3):
        constants.append(stored(f"s{k}", (0.02, 0.05, 0.2)[k], np.float32))
        constants.append(stored(f"z{k}", (3, -128, 5)[k] + 128 * (codes is np.uint8), codes))
    for k, w in enumerate(weights):
        constants.append(stored(f"w{k}", w, np.int8))
        constants.append(stored(f"t{k}", SCALES[: len(w)] if each else 0.02, np.float32))
    return model(
        nodes, [value("x", (1, 3, 7, 5), F32)], [value("out", (1, 4, 7, 6), F32)], constants
    )


@pytest.mark.parametrize("pipeline", ["O2", "O3"])
@pytest.mark.parametrize("codes", [np.uint8, np.int8])
@pytest.mark.parametrize("each", [False, True])
def test_pairs_round_floats_once_and_sums_of_codes_are_one_node(
    codes: Any, each: bool, pipeline: str
) -> None:
    given = chain(codes, each)
    made = exported(given, pipeline)
    found = op_types(made)
    assert found.count("QLinearConv") == 1, "a product without a floating-point bias"
    assert not {"Cast", "ReduceSum", "Conv"} & set(found)
    assert len(found) < len(given.graph.node)
    x = CHANCE.normal(size=(1, 3, 7, 5)).astype(np.float32)
    needed, _ = results(given, {"x": x})
    for array in results(made, {"x": x}):
        np.testing.assert_allclose(array, needed, rtol=0, atol=0.201)


@pytest.mark.parametrize("kind", [quantization.QuantType.QInt8, quantization.QuantType.QUInt8])
@pytest.mark.parametrize("each", [False, True])
def test_a_zero_point_that_a_run_tells_is_an_operand_again(
    each: bool, kind: Any, tmp_path: Path
) -> None:
    plain = model(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", (4, 6), F32)],
        [value("y", (4, 9), F32)],
        [stored("w", CHANCE.uniform(-1, 1.1, size=(6, 9)), np.float32)],
    )
    onnx.save(plain, tmp_path / "plain.onnx")
    quantization.quantize_dynamic(
        tmp_path / "plain.onnx",
        tmp_path / "quantized.onnx",
        weight_type=kind,
        per_channel=each,
        reduce_range=True,
    )
    given = onnx.load(tmp_path / "quantized.onnx")
    made = exported(given)
    assert len(made.graph.node) <= len(given.graph.node)
    (product,) = [n for n in made.graph.node if n.op_type == "MatMulInteger"]
    assert product.input[2], "the operator has the zero point again"
    x = CHANCE.normal(size=(4, 6)).astype(np.float32)
    needed, _ = results(given, {"x": x})
    for array in results(made, {"x": x}):
        np.testing.assert_allclose(array, needed, rtol=1e-6, atol=1e-6)
