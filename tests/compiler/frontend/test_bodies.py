"""Tests that undeclared operators are replaced by the function body in the standard."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.reference
import pytest
from onnx import TensorProto, helper

import compiler
from compiler.frontend import load
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.verify import verify
from tests.onnx_models import node, value

INT64 = TensorProto.INT64


def loaded(nodes: list[Any], inputs: list[Any], opset: int) -> tuple[onnx.ModelProto, Graph]:
    g = helper.make_graph(nodes, "g", inputs, [value("y", None)])
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)])
    made = load(m.SerializeToString())
    verify(made)
    return m, made


def attention(**attrs: Any) -> tuple[list[Any], list[Any]]:
    inputs = [value("q", [2, 4, 3, 8]), value("k", [2, 2, 5, 8]), value("v", [2, 2, 5, 6])]
    return [node("Attention", ["q", "k", "v"], ["y"], name="att", **attrs)], inputs


@pytest.mark.parametrize("attrs", [{}, {"is_causal": 1, "softcap": 2.0}, {"scale": 0.25}])
def test_attention_is_expanded_and_runs_as_generated_code(attrs: dict[str, Any]) -> None:
    made, g = loaded(*attention(**attrs), opset=24)
    assert not [n.op for n in all_nodes(g) if n.op.startswith("onnx.")]
    assert {n.origins for n in g.nodes} == {("att",)}
    rng = np.random.default_rng(1)
    feeds = {
        v.name: rng.normal(size=[d.dim_value for d in v.type.tensor_type.shape.dim]).astype("f4")
        for v in made.graph.input
    }
    program = compiler.compile(g)
    assert all(k.native for k in program.kernels)
    needed = onnx.reference.ReferenceEvaluator(made).run(None, feeds)[0]
    np.testing.assert_allclose(program.run(feeds)["y"], needed, rtol=1e-4, atol=1e-5)


def test_attributes_left_out_have_the_defaults_of_the_schema() -> None:
    inputs = [value("x", [2, 3, 4, 5])]
    made, g = loaded([node("MeanVarianceNormalization", ["x"], ["y"])], inputs, 13)
    assert not [n.op for n in g.nodes if n.op.startswith("onnx.")]
    x = np.random.default_rng(2).normal(size=(2, 3, 4, 5)).astype(np.float32)
    needed = onnx.reference.ReferenceEvaluator(made).run(None, {"x": x})[0]
    got = compiler.reference(g, {"x": x})["y"]
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-5)


COEFFICIENTS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@pytest.mark.parametrize("op", COEFFICIENTS)
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("to", [TensorProto.DOUBLE, TensorProto.FLOAT])
def test_windows_have_the_digits_of_their_type(op: str, periodic: int, to: int) -> None:
    attrs = {"periodic": periodic, "output_datatype": to}
    _, g = loaded([node(op, ["size"], ["y"], **attrs)], [value("size", [], INT64)], 20)
    assert not [n.op for n in all_nodes(g) if n.op.startswith("onnx.")]
    size = 9
    angles = np.arange(size) * 2 * np.pi / (size if periodic else size - 1)
    mean, first, second = COEFFICIENTS[op]
    exact = mean - first * np.cos(angles) + second * np.cos(2 * angles)
    wide = to == TensorProto.DOUBLE
    feeds = {"size": np.array(size, np.int64)}
    for got in (compiler.reference(g, feeds)["y"], compiler.compile(g).run(feeds)["y"]):
        assert got.dtype == (np.float64 if wide else np.float32)
        np.testing.assert_allclose(got, exact, rtol=0, atol=1e-15 if wide else 6e-8)


def test_a_body_for_f64_does_not_pass_through_f32() -> None:
    inputs = [value("x", [2, 3], TensorProto.DOUBLE), value("axes", [1], INT64)]
    _, g = loaded([node("ReduceL2", ["x", "axes"], ["y"])], inputs, 18)
    x = np.array([[1, 1e-5, 2], [3, 1e-6, 4]])
    got = compiler.compile(g).run({"x": x, "axes": np.array([1])})["y"]
    np.testing.assert_allclose(got, np.sqrt((x * x).sum(1, keepdims=True)), rtol=1e-15)


def test_an_operator_without_a_declaration_may_have_a_body_with_control_flow() -> None:
    inputs = [value(n, [1, 4, 8]) for n in "qkv"]
    attrs = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
    _, g = loaded([node("LinearAttention", [*"qkv"], ["y", "s"], **attrs)], inputs, 27)
    assert [n.op for n in g.nodes if n.op.startswith("onnx.")] == ["onnx.Scan"]


def test_an_operator_that_waits_for_a_parameter_is_not_taken_apart_into_control_flow() -> None:
    inputs = [value("theta", [1, 2, 3]), value("size", [4], INT64)]
    _, g = loaded([node("AffineGrid", ["theta", "size"], ["y"])], inputs, 20)
    assert [n.op for n in g.nodes] == ["onnx.AffineGrid"]


def test_an_operand_of_unknown_kind_keeps_the_operator_as_it_is() -> None:
    split = node("SplitToSequence", ["x"], ["s"])
    at = node("SequenceAt", ["s", "i"], ["e"])
    relu = node("HardSwish", ["e"], ["y"])
    _, g = loaded([split, at, relu], [value("x", [2, 3]), value("i", [], INT64)], 14)
    assert g.nodes[-1].op in ("hard_swish", "onnx.HardSwish")
