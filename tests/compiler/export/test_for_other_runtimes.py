"""Tests of `emit("onnx")`: layers and loops stay intact, with no more nodes than level 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import compiler
from benchmarks.nodes import LEVELS, optimized_by_peer
from tests.compiler.test_quantized_models import attention_block, image_classifier, quantized
from tests.exported import (
    assert_no_more_nodes,
    op_types,
    run_peer,
)
from tests.onnx_models import BOOL, I64, model, node, stored, value
from tests.recurrent_models import GATES, inputs_of, layers
from tests.selection import few_of_all

DIRECTIONS = ("forward", "reverse", "bidirectional")


def exported(given: bytes, pipeline: str = "O3") -> bytes:
    made = compiler.compile(given, pipeline=pipeline).emit("onnx")
    assert isinstance(made, bytes)
    onnx.checker.check_model(made, full_check=True)
    return made


def assert_layers_stay(given: onnx.ModelProto, pipeline: str = "O3") -> bytes:
    """Check that the recurrent layers are unchanged, and the results equal."""
    data = given.SerializeToString()
    made = exported(data, pipeline)
    assert_no_more_nodes(made, data)
    came, left = op_types(data), op_types(made)
    assert {op: left[op] for op in GATES} == {op: came[op] for op in GATES}
    inputs = inputs_of(given)
    for found, needed in zip(run_peer(made, inputs), run_peer(data, inputs), strict=True):
        np.testing.assert_allclose(found, needed, rtol=0, atol=1e-6)
    return made


@pytest.mark.parametrize(
    ("op_type", "direction", "with_lengths", "is_open"),
    few_of_all(10, tuple(GATES), DIRECTIONS, (False, True), (False, True)),
)
def test_recurrent_layers_stay_whole(
    op_type: str, direction: str, with_lengths: bool, is_open: bool
) -> None:
    """Two layers with initial states as inputs, in every direction."""
    given = layers(
        op_type, direction, 2, with_lengths=with_lengths, with_states=True, is_open=is_open
    )
    assert_layers_stay(given)


@pytest.mark.parametrize("pipeline", ["O1", "O2", "debug", "onnxruntime"])
@pytest.mark.parametrize("op_type", GATES)
def test_layers_stay_whole_in_other_pipelines(op_type: str, pipeline: str) -> None:
    assert_layers_stay(layers(op_type, "bidirectional", with_lengths=True), pipeline)


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("RNN", {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.25]}),
        ("GRU", {"linear_before_reset": 1, "clip": 0.3}),
        ("LSTM", {"input_forget": 1, "clip": 0.4}),
    ],
)
def test_settings_of_layers_stay(op_type: str, attributes: dict[str, Any]) -> None:
    made = assert_layers_stay(layers(op_type, **attributes))
    (layer,) = [n for n in onnx.load_from_string(made).graph.node if n.op_type == op_type]
    written = {a.name: onnx.helper.get_attribute_value(a) for a in layer.attribute}
    assert written["hidden_size"] == 4
    if "activations" in attributes:
        assert [f.decode() for f in written["activations"]] == attributes["activations"]
    for name in attributes.keys() - {"activations"}:
        assert written[name] == pytest.approx(attributes[name], rel=1e-6)


def test_a_loop_of_few_steps_is_not_unrolled() -> None:
    body = onnx.helper.make_graph(
        [node("Tanh", ["s"], ["t"]), node("Add", ["t", "w"], ["u"])],
        "body",
        [value("i", [], I64), value("on", [], BOOL), value("s", [2, 3])],
        [value("on", [], BOOL), value("u", [2, 3])],
    )
    given = model(
        [node("Loop", ["n", "", "x"], ["y"], body=body)],
        initialisers=[stored("n", np.int64(3)), stored("w", np.float32([0.5, -1.0, 2.0]))],
    ).SerializeToString()
    made = exported(given)
    assert op_types(made) == {"Loop": 1}
    assert_no_more_nodes(made, given)
    unrolled = compiler.compile(given, pipeline="O3").graph
    assert sum(n.op == "onnx.Loop" for n in unrolled.nodes) == 0


def test_wide_pools_are_not_cut_by_axes() -> None:
    given = model(
        [node("MaxPool", ["x"], ["y"], kernel_shape=[5, 7], pads=[2, 3, 2, 3])],
        [value("x", [1, 2, 9, 8])],
        [value("y", [1, 2, 9, 8])],
    ).SerializeToString()
    assert op_types(exported(given)) == {"MaxPool": 1}
    assert len(compiler.compile(given, pipeline="O3").graph.nodes) == 2


def test_the_mean_of_images_keeps_its_operator() -> None:
    """ONNX Runtime has kernels for blocked and quantized images, but not for ReduceMean."""
    given = model(
        [node("GlobalAveragePool", ["x"], ["y"])],
        [value("x", [2, 3, 5, 4])],
        [value("y", [2, 3, 1, 1])],
    ).SerializeToString()
    assert op_types(exported(given)) == {"GlobalAveragePool": 1}


@pytest.mark.parametrize("kept", [0, 1])
def test_other_means_are_reductions(kept: int) -> None:
    axes = [1, 2] if kept else [2, 3]
    shape = [2, 1, 1, 4] if kept else [2, 3]
    given = model(
        [node("ReduceMean", ["x"], ["y"], axes=axes, keepdims=kept)],
        [value("x", [2, 3, 5, 4])],
        [value("y", shape)],
    ).SerializeToString()
    assert op_types(exported(given)) == {"ReduceMean": 1}


@pytest.mark.parametrize("make", [image_classifier, attention_block])
def test_the_peer_finds_its_quantized_operators(make: Any, tmp_path: Path) -> None:
    """Its second level creates the same operators from our export as from the original."""
    data = quantized(make(), tmp_path, "QDQ", "QUInt8", "QInt8", True)
    made = exported(data)
    assert_no_more_nodes(made, data)
    ours, theirs = (
        op_types(optimized_by_peer(d, LEVELS.ORT_ENABLE_EXTENDED).SerializeToString())
        for d in (made, data)
    )
    assert ours == theirs


@pytest.mark.parametrize("weights", ["QInt8", "QInt4"])
def test_quantized_models_with_short_and_long_codes_load(weights: str, tmp_path: Path) -> None:
    """A pool of 16-bit integers becomes a pool of floats, which represent all of them."""
    data = quantized(image_classifier(), tmp_path, "QDQ", "QInt16", weights, False)
    graph = compiler.compile(data, pipeline="O3").graph
    inputs = {"x": np.random.default_rng(3).normal(size=(2, 3, 12, 12)).astype(np.float32)}
    needed = run_peer(data, inputs)[0]
    for made in (compiler.to_onnx(graph), exported(data)):
        found = run_peer(made, inputs, LEVELS.ORT_ENABLE_ALL)[0]
        np.testing.assert_allclose(found, needed, rtol=0, atol=0.02 * np.abs(needed).max())


@pytest.mark.parametrize("codes", ["QUInt8", "QInt8"])
def test_operators_on_codes_come_back_one_by_one(codes: str, tmp_path: Path) -> None:
    data = quantized(image_classifier(), tmp_path, "QOperator", codes, "QInt8", True)
    made = exported(data)
    assert op_types(made) == op_types(data)
    inputs = {"x": np.random.default_rng(4).normal(size=(2, 3, 12, 12)).astype(np.float32)}
    (found,), (needed,) = (run_peer(d, inputs) for d in (made, data))
    np.testing.assert_allclose(found, needed, rtol=0, atol=0.02 * np.abs(needed).max())


def test_floats_between_codes_stay_standard(tmp_path: Path) -> None:
    """A model without ONNX Runtime's own operators is exported without them."""
    data = quantized(image_classifier(), tmp_path, "QDQ", "QUInt8", "QInt8", True)
    assert {n.domain for n in onnx.load_from_string(exported(data)).graph.node} == {""}


@pytest.mark.parametrize("op_type", ["Sum", "Max", "Min"])
def test_operators_of_many_operands_come_back(op_type: str) -> None:
    names = ["a", "b", "c", "d"]
    inputs = [value(n, [3] if n == "b" else [2, 3]) for n in names]
    given = model([node(op_type, names, ["y"])], inputs).SerializeToString()
    made = exported(given)
    assert op_types(made) == {op_type: 1}
    chance = np.random.default_rng(7)
    feeds = {n: chance.normal(size=3 if n == "b" else (2, 3)).astype(np.float32) for n in names}
    np.testing.assert_array_equal(run_peer(made, feeds)[0], run_peer(given, feeds)[0])


def test_a_chain_of_several_nodes_stays_one() -> None:
    inputs = [value(n) for n in "abc"]
    nodes = [node("Add", ["a", "b"], ["s"]), node("Add", ["s", "c"], ["y"])]
    assert op_types(exported(model(nodes, inputs).SerializeToString())) == {"Add": 2}


def test_a_scan_over_a_batch_loads() -> None:
    """Only version 8 of Scan had a batch axis."""
    body = onnx.helper.make_graph(
        [node("Add", ["s", "r"], ["t"]), node("Identity", ["t"], ["o"])],
        "body",
        [value("s", [3]), value("r", [3])],
        [value("t", [3]), value("o", [3])],
    )
    given = model(
        [node("Scan", ["", "start", "x"], ["end", "y"], body=body, num_scan_inputs=1)],
        [value("start", [2, 3]), value("x", [2, 4, 3])],
        [value("end", [2, 3]), value("y", [2, 4, 3])],
        opset=8,
    ).SerializeToString()
    chance = np.random.default_rng(8)
    start, x = (chance.normal(size=s).astype(np.float32) for s in ((2, 3), (2, 4, 3)))
    end, y = run_peer(exported(given), {"start": start, "x": x})
    needed = np.cumsum(np.concatenate([start[:, None], x], axis=1), axis=1)[:, 1:]
    np.testing.assert_allclose(y, needed, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(end, y[:, -1])
