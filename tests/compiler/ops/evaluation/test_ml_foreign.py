"""Tests of ai.onnx.ml operators on maps, and of operators declared once operands are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import compiler
from compiler.errors import CompileError
from tests.ml_models import by_peer, one_node, same

FLOAT, DOUBLE, INT64, STRING = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.INT64,
    onnx.TensorProto.STRING,
)

SCORES = np.array([[0.25, 0.5, 0.25], [0.125, 0, 0.875]], np.float32)


def on_map(op_type: str, key: int, held: int, made: int, **attrs: Any) -> onnx.ModelProto:
    given = helper.make_map_type_proto(key, helper.make_tensor_type_proto(held, []))
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"], domain="ai.onnx.ml", **attrs)],
        "one",
        [helper.make_value_info("x", given)],
        [helper.make_tensor_value_info("y", made, None)],
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def ran(model: onnx.ModelProto, x: Any) -> Any:
    got = compiler.compile(model.SerializeToString()).run({"x": x})["y"]
    meant = compiler.reference(compiler.load(model.SerializeToString()), {"x": x})["y"]
    assert repr(got) == repr(meant)
    return got


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("scores", [SCORES, SCORES[1], SCORES[:0]])
def test_scores_become_maps_from_labels(scores: Any, words: bool) -> None:
    attrs: dict[str, Any] = {"classlabels_int64s": [7, -1, 2]}
    if words:
        attrs = {"classlabels_strings": ["ant", "bee", "cat"]}
    key = STRING if words else INT64
    made = helper.make_map_type_proto(key, helper.make_tensor_type_proto(FLOAT, []))
    model = one_node("ZipMap", {"x": scores}, ["y_f"], opset=1, **attrs)
    model.graph.output[0].type.CopyFrom(helper.make_sequence_type_proto(made))
    got = compiler.compile(model.SerializeToString()).run({"x": scores})["y_f"]
    assert got == by_peer(model, {"x": scores})["y_f"]


def test_equal_maps_are_lists_of_their_own() -> None:
    made = helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, []))
    model = one_node("ZipMap", {"x": SCORES}, ["y_f"], opset=1, classlabels_int64s=[7, -1, 2])
    again = model.graph.node.add()
    again.CopyFrom(model.graph.node[0])
    again.output[0] = "again"
    model.graph.output.add().name = "again"
    for output in model.graph.output:
        output.type.CopyFrom(helper.make_sequence_type_proto(made))
    got = compiler.compile(model.SerializeToString()).run({"x": SCORES})
    assert got["again"] == got["y_f"]
    assert got["again"] is not got["y_f"]


def test_labels_and_scores_that_do_not_match_are_told() -> None:
    model = one_node("ZipMap", {"x": SCORES}, ["y_f"], opset=1, classlabels_int64s=[1, 2])
    with pytest.raises(CompileError, match="2 labels"):
        compiler.reference(compiler.load(model.SerializeToString()), {"x": SCORES})


def test_maps_become_rows_in_the_order_of_a_vocabulary() -> None:
    x = {"ant": 1.5, "cat": 2.0}
    model = on_map("DictVectorizer", STRING, FLOAT, FLOAT, string_vocabulary=["bee", "ant", "cat"])
    same(ran(model, x), by_peer(model, {"x": x})["y"])
    model = on_map("DictVectorizer", INT64, DOUBLE, DOUBLE, int64_vocabulary=[3, 9])
    same(ran(model, {9: 0.1}), np.array([[0, 0.1]]))
    model = on_map("DictVectorizer", INT64, STRING, STRING, int64_vocabulary=[3, 9])
    assert ran(model, {9: "x"}).tolist() == [["", "x"]]


@pytest.mark.parametrize(
    ("made", "attrs"),
    [
        (FLOAT, {}),
        (FLOAT, {"map_form": "SPARSE", "max_map": 5}),
        (STRING, {"cast_to": "TO_STRING", "map_form": "SPARSE", "max_map": 3}),
        (INT64, {"cast_to": "TO_INT64"}),
    ],
)
def test_maps_become_rows_by_their_keys(made: int, attrs: dict[str, Any]) -> None:
    x = {3: 5.75, 1: -2.75}
    model = on_map("CastMap", INT64, FLOAT, made, **attrs)
    same(ran(model, x), by_peer(model, {"x": x})["y"])


def test_operands_of_unknown_rank_are_computed_by_the_declaration_all_the_same() -> None:
    x = SCORES
    model = one_node("Normalizer", {"x": x}, ["y_f"], norm="L1")
    needed = by_peer(model, {"x": x})["y_f"]
    model.graph.input[0].type.tensor_type.ClearField("shape")
    program = compiler.compile(model.SerializeToString())
    same(program.run({"x": x})["y_f"], needed)
    meant = compiler.reference(compiler.load(model.SerializeToString()), {"x": x})["y_f"]
    same(meant, needed)
