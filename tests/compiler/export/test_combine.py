"""Tests that the exporter recombines nodes that the importer decomposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnxruntime import quantization

import compiler
from compiler.ir.text import parse_graph
from compiler.passes.pipeline.run import run_pipeline
from compiler.reference import reference
from tests.exported import run_peer
from tests.onnx_models import F32, I64, model, node, stored, value


def there_and_back(given: onnx.ModelProto, pipeline: str = "none") -> onnx.ModelProto:
    graph, _ = run_pipeline(compiler.load(given.SerializeToString()), pipeline)
    made = onnx.load_from_string(compiler.to_onnx(graph))
    onnx.checker.check_model(made, full_check=True)
    return made


def op_types(made: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in made.graph.node]


def assert_same(given: onnx.ModelProto, made: onnx.ModelProto, inputs: dict[str, Any]) -> None:
    needed = compiler.reference(compiler.load(given.SerializeToString()), inputs)
    found = compiler.reference(compiler.load(made.SerializeToString()), inputs)
    assert list(found) == list(needed)
    for name, array in needed.items():
        np.testing.assert_array_equal(found[name], array)


RNG = np.random.default_rng(7)
W = stored("w", RNG.normal(size=(5, 3)), np.float32)
X = RNG.normal(size=(2, 3)).astype(np.float32)


@pytest.mark.parametrize("shape", [(5,), (2, 1), (1, 5), (2, 5), ()])
def test_a_product_of_matrices_and_a_sum_are_a_gemm(shape: tuple[int, ...]) -> None:
    bias = stored("b", RNG.normal(size=shape), np.float32)
    given = model(
        [node("Gemm", ["x", "w", "b"], ["y"], "dense", transB=1)],
        outputs=[value("y", (2, 5))],
        initialisers=[W, bias],
    )
    made = there_and_back(given)
    assert [(n.op_type, n.name, list(n.output)) for n in made.graph.node] == [
        ("Gemm", "dense", ["y"])
    ]
    assert_same(given, made, {"x": X})


def test_a_sum_that_makes_the_product_larger_is_no_gemm() -> None:
    bias = stored("b", RNG.normal(size=(4, 1, 5)), np.float32)
    nodes = [node("Gemm", ["x", "w"], ["p"], transB=1), node("Add", ["b", "p"], ["y"])]
    given = model(nodes, outputs=[value("y", (4, 2, 5))], initialisers=[W, bias])
    made = there_and_back(given)
    assert op_types(made) == ["Gemm", "Add"]
    assert_same(given, made, {"x": X})


def test_a_product_that_is_read_twice_stays_by_itself() -> None:
    bias = stored("b", RNG.normal(size=(5,)), np.float32)
    nodes = [
        node("Gemm", ["x", "w"], ["p"], transB=1),
        node("Add", ["p", "b"], ["q"]),
        node("Mul", ["p", "q"], ["y"]),
    ]
    given = model(nodes, outputs=[value("y", (2, 5))], initialisers=[W, bias])
    made = there_and_back(given)
    assert op_types(made) == ["Gemm", "Add", "Mul"]
    assert_same(given, made, {"x": X})


def test_a_product_added_to_itself_stays_by_itself() -> None:
    nodes = [node("Gemm", ["x", "w"], ["p"], transB=1), node("Add", ["p", "p"], ["y"])]
    given = model(nodes, outputs=[value("y", (2, 5))], initialisers=[W])
    made = there_and_back(given)
    assert op_types(made) == ["Gemm", "Add"]
    assert_same(given, made, {"x": X})


def test_a_gemm_in_a_branch_reads_weights_from_around() -> None:
    def branch(name: str, op_type: str) -> onnx.GraphProto:
        nodes = [
            node("Gemm", ["x", "w", "b"], [f"{name}_p"], transB=1),
            node(op_type, [f"{name}_p"], [f"{name}_y"]),
        ]
        return helper.make_graph(nodes, name, [], [value(f"{name}_y", (2, 5))])

    bias = stored("b", RNG.normal(size=(5,)), np.float32)
    choose = node(
        "If", ["c"], ["y"], then_branch=branch("t", "Relu"), else_branch=branch("e", "Neg")
    )
    given = model(
        [choose],
        inputs=[value("x"), value("c", (), TensorProto.BOOL)],
        outputs=[value("y", (2, 5))],
        initialisers=[W, bias],
    )
    made = there_and_back(given)
    (only,) = made.graph.node
    branches = {a.name: [n.op_type for n in a.g.node] for a in only.attribute}
    assert branches == {"then_branch": ["Gemm", "Relu"], "else_branch": ["Gemm", "Neg"]}
    for flag in (True, False):
        assert_same(given, made, {"x": X, "c": np.array(flag)})


def test_searches_have_results_of_the_size_that_they_find() -> None:
    boxes = np.array([[[0, 0, 2, 1], [0, 0, 2, 1.1], [0, 3, 2, 5]]], np.float32)
    scores = np.array([[[0.5, 0.75, 0.25]]], np.float32)
    given = model(
        [
            node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["kept"]),
            node("NonZero", ["x"], ["places"]),
            node("Unique", ["x"], ["rows", "", "inverse", "counts"], axis=1),
        ],
        inputs=[value("boxes", (1, 3, 4)), value("scores", (1, 1, 3)), value("x", (2, 3), I64)],
        outputs=[
            value("kept", (None, 3), I64),
            value("places", (2, None), I64),
            value("rows", (2, None), I64),
            value("inverse", (3,), I64),
            value("counts", (None,), I64),
        ],
        initialisers=[stored("most", [2]), stored("overlap", [0.5], np.float32)],
    )
    made = there_and_back(given)
    assert op_types(made) == ["NonMaxSuppression", "NonZero", "Unique"]
    x = np.array([[3, 0, 3], [5, 1, 5]])
    assert_same(given, made, {"boxes": boxes, "scores": scores, "x": x})


@pytest.mark.parametrize("pipeline", ["O0", "O2", "O3"])
def test_quantized_products_are_one_node(pipeline: str) -> None:
    chance = np.random.default_rng(11)
    constants = [
        stored("x_scale", 0.05, np.float32),
        stored("x_zero", 12, np.uint8),
        stored("w", chance.integers(-9, 9, (4, 2, 3, 1)), np.int8),
        stored("w_scale", [0.1, 0.02, 0.3, 0.04], np.float32),
        stored("w_zero", 0, np.int8),
        stored("y_scale", 0.25, np.float32),
        stored("y_zero", 100, np.uint8),
        stored("bias", chance.integers(-50, 50, 4), np.int32),
        stored("m", chance.integers(-9, 9, (5, 6)), np.int8),
        stored("m_scale", 0.125, np.float32),
    ]
    convolution = [
        "q", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias",
    ]  # fmt: skip
    product = ["c", "y_scale", "y_zero", "m", "m_scale", "w_zero", "x_scale", "x_zero"]
    given = model(
        [
            node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["q"]),
            node("QLinearConv", convolution, ["c"], "conv", pads=[1, 0, 0, 1], strides=[2, 1]),
            node("QLinearMatMul", product, ["p"], "product"),
            node("DequantizeLinear", ["p", "x_scale", "x_zero"], ["y"]),
        ],
        inputs=[value("x", (1, 2, 6, 4), F32)],
        outputs=[value("y", (1, 4, 3, 6))],
        initialisers=constants,
    )
    made = there_and_back(given, pipeline)
    assert op_types(made) == ["QuantizeLinear", "QLinearConv", "QLinearMatMul", "DequantizeLinear"]
    x = chance.normal(size=(1, 2, 6, 4)).astype(np.float32)
    assert_same(given, made, {"x": x})


@pytest.mark.parametrize("pipeline", ["O0", "portable", "portable,fuse"])
@pytest.mark.parametrize("each", [False, True])
def test_a_quantized_lstm_is_the_one_that_was_read(
    each: bool, pipeline: str, tmp_path: Path
) -> None:
    chance = np.random.default_rng(13)
    weights = [
        stored("w", chance.normal(size=(2, 768, 40)) / 9, np.float32),
        stored("r", chance.normal(size=(2, 768, 192)) / 9, np.float32),
        stored("b", chance.normal(size=(2, 1536)) / 9, np.float32),
    ]
    layer = node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=192, direction="bidirectional")
    plain = model(
        [layer], [value("x", (4, 2, 40))], [value("y", (4, 2, 2, 192))], weights, opset=17
    )
    onnx.save(plain, tmp_path / "plain.onnx")
    quantization.quantize_dynamic(
        tmp_path / "plain.onnx", tmp_path / "quantized.onnx", per_channel=each
    )
    data = (tmp_path / "quantized.onnx").read_bytes()
    graph, _ = run_pipeline(compiler.load(data), pipeline)
    exported = compiler.to_onnx(graph)
    (made,) = onnx.load_from_string(exported).graph.node
    assert (made.domain, made.op_type) == ("com.microsoft", "DynamicQuantizeLSTM")
    x = chance.normal(size=(4, 2, 40)).astype(np.float32)
    results: list[Any] = [
        ort.InferenceSession(m, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for m in (data, exported)
    ]
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=1e-6)


def test_a_mask_of_attention_has_a_row_for_each_query() -> None:
    """Runtimes broadcast only batches and heads; two layers share one larger mask."""
    given = parse_graph("""
    graph g(q: f32[2,3,5,4], k: f32[2,3,7,4], v: f32[2,3,7,4], mask: f32[2,1,1,7]) {
      a: f32[2,3,5,4] = attention(q, k, v, mask, scale=0.5)
      b: f32[2,3,5,4] = attention(a, k, v, mask, scale=0.5)
      return b
    }
    """)
    made = onnx.load_from_string(compiler.to_onnx(given))
    assert op_types(made) == ["Expand", "Attention", "Attention"]
    onnx.checker.check_model(made, full_check=True)
    chance = np.random.default_rng(5)
    shapes = {"q": (2, 3, 5, 4), "k": (2, 3, 7, 4), "v": (2, 3, 7, 4), "mask": (2, 1, 1, 7)}
    feeds = {name: chance.normal(size=shape).astype("f") for name, shape in shapes.items()}
    session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    found: Any = session.run(None, feeds)[0]
    np.testing.assert_allclose(found, reference(given, feeds)["b"], rtol=1e-5, atol=1e-6)


def test_the_class_of_a_forest_is_found_by_one_node_where_no_score_is_nan() -> None:
    def forest(weight: float) -> onnx.ModelProto:
        trees = helper.make_node(
            "TreeEnsembleClassifier",
            ["x"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            nodes_treeids=[0, 0, 0],
            nodes_nodeids=[0, 1, 2],
            nodes_featureids=[1, 0, 0],
            nodes_values=[0.5, 0.0, 0.0],
            nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
            nodes_truenodeids=[1, 0, 0],
            nodes_falsenodeids=[2, 0, 0],
            class_treeids=[0] * 6,
            class_nodeids=[1, 1, 1, 2, 2, 2],
            class_ids=[0, 1, 2, 0, 1, 2],
            class_weights=[0.25, 0.5, 0.25, weight, 0.125, 0.75],
            classlabels_int64s=[0, 1, 2],
        )
        graph = helper.make_graph(
            [trees],
            "g",
            [helper.make_tensor_value_info("x", F32, [4, 2])],
            [
                helper.make_tensor_value_info("label", I64, [4]),
                helper.make_tensor_value_info("scores", F32, [4, 3]),
            ],
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    given = forest(0.125)
    made = there_and_back(given, "portable")
    assert op_types(made) == ["TreeEnsemble", "ArgMax"]
    x = np.array([[0, 0.25], [1, 2], [np.nan, np.nan], [3, 0.5]], np.float32)
    assert_same(given, made, {"x": x})
    assert "IsNaN" in op_types(there_and_back(forest(np.nan), "portable"))


def test_a_scale_and_a_shift_of_channels_are_one_normalisation() -> None:
    """With operands in either order, and a number per channel or a single number."""
    scale = stored("s", RNG.normal(size=(3, 1, 1)), np.float32)
    shift = stored("b", RNG.normal(size=(1, 1, 1, 1)), np.float32)
    given = model(
        [node("Mul", ["s", "x"], ["m"]), node("Add", ["b", "m"], ["y"])],
        [value("x", [2, 3, 5, 4])],
        [value("y", [2, 3, 5, 4])],
        [scale, shift],
    )
    made = there_and_back(given)
    assert op_types(made) == ["BatchNormalization"]
    inputs = {"x": RNG.normal(size=(2, 3, 5, 4)).astype(np.float32)}
    (needed,) = run_peer(given.SerializeToString(), inputs)
    (found,) = run_peer(made.SerializeToString(), inputs)
    np.testing.assert_allclose(found, needed, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "scale"),
    [((2, 3, 5, 4), (4,)), ((2, 3, 5, 4), (2, 1, 1, 1)), ((2, 3), (1, 3)), ((2, 1, 4), (1, 1))],
)
def test_other_scales_and_shifts_stay_two_nodes(
    shape: tuple[int, ...], scale: tuple[int, ...]
) -> None:
    """Along another axis, for images without spatial axes, or with one channel."""
    numbers = stored("s", RNG.normal(size=scale), np.float32)
    given = model(
        [node("Mul", ["x", "s"], ["m"]), node("Add", ["m", "s"], ["y"])],
        [value("x", shape)],
        [value("y", shape)],
        [numbers],
    )
    assert op_types(there_and_back(given)) == ["Mul", "Add"]


def test_a_scaled_image_that_is_read_twice_stays() -> None:
    scale = stored("s", RNG.normal(size=(3, 1)), np.float32)
    given = model(
        [node("Mul", ["x", "s"], ["m"]), node("Add", ["m", "s"], ["y"]), node("Exp", ["m"], ["e"])],
        [value("x", [2, 3, 4])],
        [value("y", [2, 3, 4]), value("e", [2, 3, 4])],
        [scale],
    )
    assert op_types(there_and_back(given)) == ["Mul", "Add", "Exp"]
