"""Tests of importing real and generated models, without losing any information."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import compiler
from compiler.errors import CompileError
from compiler.frontend import load
from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Splat
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.types import tensor
from compiler.ir.verify import verify
from compiler.reference import reference
from tests.models import OCR_MODELS, light_model, ocr_model
from tests.onnx_models import BOOL, I64, STRING, graph, model, node, stored, value

LIGHT = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)


def checked(made: onnx.ModelProto | bytes | Path) -> Graph:
    """Return a loaded, verified graph, which equals the parsed form of its text."""
    source = made.SerializeToString() if isinstance(made, onnx.ModelProto) else made
    g = load(source)
    verify(g)
    assert compiler.parse(str(g)) == g
    return g


@pytest.mark.parametrize("name", LIGHT)
def test_a_light_model_becomes_operators_of_ours_and_its_text_parses_back(name: str) -> None:
    path = light_model(name)
    g = checked(path)
    proto = onnx.load(path)
    assert not [n.op for n in g.nodes if n.op.startswith("onnx.")]
    assert [v.type for v in g.inputs] == [tensor("f32[1,3,224,224]")]
    assert len(g.nodes) >= len(proto.graph.node)
    # IR version 3 lists stored tensors among the inputs; they are constants here.
    assert len(proto.graph.input) > len(g.inputs)
    assert all(n.origins for n in g.nodes)
    assert sum(c.stored_bytes for c in g.constants.values()) < 100_000


@pytest.mark.parametrize("name", OCR_MODELS)
def test_an_ocr_model_becomes_operators_of_ours_and_its_text_parses_back(name: str) -> None:
    g = checked(ocr_model(name))
    assert not [n.op for n in g.nodes if n.op.startswith("onnx.")]
    assert max(c.stored_bytes for c in g.constants.values()) < 64 << 10


def test_open_sizes_of_an_ocr_model_have_names() -> None:
    (x,) = load(ocr_model("ch_PP-OCRv4_det_infer")).inputs
    assert (
        str(x.type) == "f32[p2o_DynamicDimension_0,3,p2o_DynamicDimension_1,p2o_DynamicDimension_2]"
    )
    (x,) = load(ocr_model("ch_ppocr_mobile_v2.0_cls_infer")).inputs
    assert str(x.type) == "f32[x_d0,3,x_d2,x_d3]"


def test_weights_read_from_the_file_are_those_of_the_bytes() -> None:
    path = ocr_model("ch_PP-OCRv4_det_infer")
    by_path, by_bytes = load(path), load(path.read_bytes())
    large = [k for k, c in by_path.constants.items() if isinstance(c.storage, FileRange)]
    assert large
    proto = onnx.load(path)
    stored_there = {
        o: onnx.numpy_helper.to_array(n.attribute[0].t)
        for n in proto.graph.node
        if n.op_type == "Constant"
        for o in n.output
    }
    for k in large:
        assert isinstance(by_bytes.constants[k].storage, Bytes)
        np.testing.assert_array_equal(by_path.constants[k].array(), stored_there[k])
        np.testing.assert_array_equal(by_bytes.constants[k].array(), stored_there[k])


def test_an_ocr_model_gives_what_onnxruntime_gives() -> None:
    import onnxruntime as runtime

    path = ocr_model("ch_ppocr_mobile_v2.0_cls_infer")
    x = np.random.default_rng(0).normal(size=(1, 3, 48, 192)).astype(np.float32)
    (got,) = reference(load(path), {"x": x}).values()
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (needed,) = session.run(None, {"x": x})
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-6)


# Names and origins


def test_names_are_kept_and_nameless_nodes_are_called_after_their_place() -> None:
    nodes = [
        node("Relu", ["x"], ["a"], name="act"),
        node("Neg", ["a"], ["b"]),
        node("Abs", ["b"], ["c"], name="act"),
        node("Exp", ["c"], ["y"], name="Neg_1"),
    ]
    g = checked(model(nodes))
    assert [n.name for n in g.nodes] == ["act", "Neg_1_2", "act_2", "Neg_1"]
    assert [n.output for n in g.nodes] == ["a", "b", "c", "y"]
    assert all(n.origins == (n.name,) for n in g.nodes)


def test_nodes_in_any_order_are_sorted() -> None:
    nodes = [node("Neg", ["b"], ["y"]), node("Relu", ["x"], ["a"]), node("Abs", ["a"], ["b"])]
    g = checked(model(nodes))
    assert [n.op for n in g.nodes] == ["relu", "abs", "neg"]
    assert [n.name for n in g.nodes] == ["Relu_1", "Abs_2", "Neg_0"]


def test_names_of_sizes_become_words_and_equal_names_stay_equal() -> None:
    inputs = [
        value("x", ("batch size", "if", None)),
        value("z", ("batch size", "batch.size", 3)),
    ]
    g = checked(model([node("Relu", ["x"], ["y"])], inputs, [value("y", None)]))
    assert [str(v.type) for v in g.inputs] == [
        "f32[batch_size,if_,x_d2]",
        "f32[batch_size,batch_size_2,3]",
    ]


def test_an_unread_mask_does_not_keep_dropout_from_being_an_identity() -> None:
    g = checked(model([node("Dropout", ["x"], ["y", "mask"])], opset=13))
    assert [n.op for n in g.nodes] == ["identity"]
    outputs = [value("y"), value("mask", dtype=BOOL)]
    g = checked(model([node("Dropout", ["x"], ["y", "mask"])], outputs=outputs, opset=13))
    assert [n.op for n in g.nodes] == ["identity", "shape", "fill"]


def test_an_input_or_a_stored_tensor_can_be_a_result() -> None:
    c = np.arange(6, dtype=np.float32).reshape(2, 3)
    g = checked(model([], outputs=[value("x"), value("w")], initialisers=[stored("w", c)]))
    x = np.ones((2, 3), np.float32)
    got = reference(g, {"x": x})
    np.testing.assert_array_equal(got["x"], x)
    np.testing.assert_array_equal(got["w"], c)


def test_what_the_model_records_closes_types_that_inference_leaves_open() -> None:
    inputs = [value("x", (2, 3)), value("s", (2,), I64)]
    made = model([node("Reshape", ["x", "s"], ["y"])], inputs, [value("y", (3, 2))])
    assert str(checked(made).outputs[0].type) == "f32[3,2]"
    # Recorded sizes that depend on inputs may come from other inputs.
    made = model([node("Relu", ["x"], ["y"])], [value("x", ("N", 3))], [value("y", (1, 3))])
    assert str(checked(made).outputs[0].type) == "f32[N,3]"


def test_sizes_that_would_grow_for_ever_get_names_of_their_own() -> None:
    n = 400
    inputs = [value("v0", ("A",)), *(value(f"p{i}", (f"S{i}",)) for i in range(n))]
    broadcast = [node("Add", [f"v{i}", f"p{i}"], [f"v{i + 1}"]) for i in range(n)]
    doubled = [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0) for i in range(n)]
    for nodes in (broadcast, doubled):
        g = checked(model(nodes, inputs, [value(f"v{n}", None)]))
        assert max(len(str(m.type)) for m in g.nodes) < 2000


# Constants


def test_constants_are_stored_in_the_cheapest_way() -> None:
    chance = np.random.default_rng(0)
    arrays = {
        "small": np.arange(3, dtype=np.float32),
        "same": np.full((7, 30), 2.5, np.float32),
        "zeros": np.zeros((7, 30), np.float32),
        "mixed": np.where(np.arange(210).reshape(7, 30) % 2, np.float32(-0.0), np.float32(0.0)),
        "large": chance.normal(size=(7, 30)).astype(np.float32),
    }
    nodes = [node("Mul", ["x", name], [f"y_{name}"]) for name in arrays]
    outputs = [value(f"y_{name}", None) for name in arrays]
    initialisers = [stored(k, a if k != "small" else a[:1]) for k, a in arrays.items()]
    g = checked(model(nodes, [value("x", (7, 30))], outputs, initialisers))
    kinds = {k: type(c.storage) for k, c in g.constants.items()}
    assert kinds == {
        "small": Literal,
        "same": Splat,
        "zeros": Splat,
        "mixed": Bytes,
        "large": Bytes,
    }


@pytest.mark.parametrize(
    ("key", "given", "needed"),
    [
        ("value_float", 1.5, np.array(1.5, np.float32)),
        ("value_floats", [1.5, -2.0], np.array([1.5, -2.0], np.float32)),
        ("value_int", 7, np.array(7)),
        ("value_ints", [7, -8], np.array([7, -8])),
        ("value_string", "word", np.array("word", object)),
        ("value_strings", ["a", "b"], np.array(["a", "b"], object)),
        ("value", stored("", [[1, 2]], np.int32), np.array([[1, 2]], np.int32)),
    ],
)
def test_constant_nodes_of_every_kind_become_constants(key: str, given: Any, needed: Any) -> None:
    n = node("Constant", [], ["y"], name="one", **{key: given})
    made = model([n])
    made.graph.output[0].type.Clear()
    g = checked(made)
    assert g.nodes == ()
    assert g.constants["y"].origins == ("one",)
    got = reference(g, {"x": np.zeros((2, 3), np.float32)})["y"]
    assert got.dtype == needed.dtype
    np.testing.assert_array_equal(got, needed)


def test_sparse_tensors_become_dense_constants() -> None:
    for places in (np.array([1, 5]), np.array([[0, 1], [1, 2]])):
        sparse = onnx.SparseTensorProto(dims=[2, 3])
        sparse.values.CopyFrom(stored("w", [4.0, 5.0], np.float32))
        sparse.indices.CopyFrom(stored("i", places, np.int64))
        made = model([node("Identity", ["w"], ["y"])])
        made.graph.sparse_initializer.append(sparse)
        got = reference(checked(made), {"x": np.zeros((2, 3), np.float32)})["y"]
        np.testing.assert_array_equal(got, [[0, 4, 0], [0, 0, 5]])


def test_every_element_type_is_read_from_bytes_and_from_fields() -> None:
    skipped = {"UNDEFINED", "STRING", "FLOAT6E2M3", "FLOAT6E3M2"}
    for name, number in onnx.TensorProto.DataType.items():
        if name in skipped:
            continue
        dtype = helper.tensor_dtype_to_np_dtype(number)
        array = np.array([0, 1, 1, 0, 1], np.float32).astype(dtype)
        raw = onnx.numpy_helper.from_array(array, "w")
        fields = helper.make_tensor("w", number, [5], array)
        for t in (raw, fields):
            made = model([node("Identity", ["w"], ["y"])], outputs=[value("y", None, number)])
            made.graph.initializer.append(t)
            got = reference(checked(made), {"x": np.zeros((2, 3), np.float32)})["y"]
            assert got.dtype == dtype, name
            np.testing.assert_array_equal(got.astype(np.complex64), array.astype(np.complex64))


def test_a_constant_of_a_huge_shape_is_never_made() -> None:
    shape = stored("s", [1 << 30, 1 << 30], np.int64)
    made = model([node("ConstantOfShape", ["s"], ["y"])], [], [value("y", None)], [shape])
    g = checked(made)
    assert [n.op for n in g.nodes] == ["fill"]
    assert str(g.outputs[0].type) == "f32[1073741824,1073741824]"


def test_a_model_that_has_gone_is_missed_only_when_its_weights_are_read(tmp_path: Path) -> None:
    w = np.random.default_rng(0).normal(size=(200, 100)).astype(np.float32)
    path = tmp_path / "m.onnx"
    made = model(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", (1, 200))],
        [value("y", (1, 100))],
        [stored("w", w)],
    )
    path.write_bytes(made.SerializeToString())
    g = load(path)
    np.testing.assert_array_equal(g.constants["w"].array(), w)
    path.unlink()
    fresh = Constant(g.constants["w"].type, FileRange(str(path), 10, w.nbytes))
    with pytest.raises(CompileError) as caught:
        fresh.array()
    assert caught.value.code == "E-MODEL-FILE"


# Every opset


@pytest.mark.parametrize("opset", range(1, onnx.defs.onnx_opset_version() + 1))
def test_a_model_of_every_opset_is_read_and_run(opset: int) -> None:
    old = opset < 13
    unsqueeze = (
        node("Unsqueeze", ["r"], ["u"], axes=[0])
        if old
        else node("Unsqueeze", ["r", "zero"], ["u"])
    )
    reshape = (
        node("Reshape", ["a"], ["r"], shape=[3, 2])
        if opset < 5
        else node("Reshape", ["a", "shape"], ["r"])
    )
    add = node("Add", ["x", "x"], ["a"])
    nodes = [add, reshape, unsqueeze, node("Transpose", ["u"], ["y"], perm=[2, 0, 1])]
    initialisers = [stored("zero", [0], np.int64), stored("shape", [-1, 2], np.int64)]
    made = model(nodes, outputs=[value("y", (2, 1, 3))], initialisers=initialisers, opset=opset)
    g = checked(made)
    assert not [n.op for n in g.nodes if n.op.startswith("onnx.")]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    needed = (2 * x).reshape(3, 2)[None].transpose(2, 0, 1)
    np.testing.assert_array_equal(reference(g, {"x": x})["y"], needed)


def test_the_first_opset_is_meant_by_early_files_that_name_none() -> None:
    made = model([node("Relu", ["x"], ["y"])])
    made.ClearField("opset_import")
    made.ir_version = 2
    assert [n.op for n in checked(made).nodes] == ["relu"]


# Strings, sequences, optionals


def test_strings_pass_through() -> None:
    words = stored("w", np.array(["a", "b"], object))
    nodes = [
        node("StringConcat", ["s", "w"], ["t"]),
        node("Identity", ["t"], ["y"]),
    ]
    made = model(nodes, [value("s", (2,), STRING)], [value("y", (2,), STRING)], [words], opset=20)
    got = reference(checked(made), {"s": np.array(["x", "y"], object)})["y"]
    assert got.tolist() == ["xa", "yb"]


def test_sequences_and_optionals_pass_through() -> None:
    nodes = [
        node("SequenceConstruct", ["x", "x"], ["s"]),
        node("SequenceInsert", ["s", "x"], ["t"]),
        node("SequenceLength", ["t"], ["n"]),
        node("SequenceAt", ["t", "n0"], ["e"]),
        node("Optional", ["e"], ["o"]),
        node("OptionalGetElement", ["o"], ["y"]),
        node("OptionalHasElement", ["o"], ["has"]),
    ]
    outputs = [value("y"), value("n", (), I64), value("has", (), BOOL)]
    made = model(nodes, outputs=outputs, initialisers=[stored("n0", 2, np.int64)], opset=18)
    made.graph.output.append(onnx.ValueInfoProto(name="t"))
    x = np.ones((2, 3), np.float32)
    got = reference(checked(made), {"x": x})
    assert int(got["n"]) == 3
    assert bool(got["has"])
    assert [a.shape for a in got["t"]] == [(2, 3)] * 3
    np.testing.assert_array_equal(got["y"], x)


def test_a_generated_model_whose_places_are_data_gives_what_onnx_gives() -> None:
    nodes = [
        node("TopK", ["x", "k"], ["v", "i"], axis=1),
        node("CumSum", ["v", "one"], ["c"]),
        node("NonZero", ["c"], ["z"]),
        node("ScatterElements", ["x", "i", "c"], ["y"], axis=1),
    ]
    initialisers = [stored("k", [2], np.int64), stored("one", 1, np.int64)]
    outputs = [value("y"), value("z", None, I64)]
    made = model(nodes, outputs=outputs, initialisers=initialisers)
    g = checked(made)
    assert {n.op for n in all_nodes(g)} >= {"top_k", "cumsum", "nonzero_places", "leading"}
    x = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
    needed = ReferenceEvaluator(made).run(None, {"x": x})
    for a, b in zip(reference(g, {"x": x}).values(), needed, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_subgraph_of_an_operator_that_is_no_control_flow_stays_foreign_whole() -> None:
    nodes = onnx.helper.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview")
    scale = graph(
        [node("Mul", ["s", "half"], ["t"])],
        [value("s", None)],
        [value("t", None)],
        [stored("half", 0.5, np.float32)],
    )
    nodes.attribute.append(helper.make_attribute("score_mod", scale))
    shape = (1, 2, 3, 4)
    made = model(
        [nodes],
        [value(n, shape) for n in "qkv"],
        [value("y", shape)],
        opset=onnx.defs.onnx_opset_version(),
        domains=["ai.onnx.preview"],
    )
    chance = np.random.default_rng(2)
    feeds = {n: chance.normal(size=shape).astype(np.float32) for n in "qkv"}
    got = reference(checked(made), feeds)["y"]
    np.testing.assert_allclose(got, ReferenceEvaluator(made).run(None, feeds)[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "graph g(x: f32[2]) { return x }",
            "a file with a graph in text form needs a name that ends in .ir",
        ),
        ('{"nodes": []}', "save the model as binary .onnx, not as text or JSON"),
    ],
)
def test_a_text_file_with_another_extension_gets_a_hint(
    text: str, hint: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.txt"
    path.write_text(text)
    with pytest.raises(CompileError) as refused:
        load(path)
    assert (refused.value.code, refused.value.hint) == ("E-MODEL-PROTOBUF", hint)
