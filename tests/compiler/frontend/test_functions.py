"""Tests of inlining model-local functions, with the names and origins of their calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import compiler
from compiler.errors import CompileError
from compiler.frontend import load
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.verify import verify
from compiler.reference import reference
from tests.onnx_models import BOOL, function, graph, model, node, value

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


def checked(made: onnx.ModelProto) -> Graph:
    g = load(made.SerializeToString())
    verify(g)
    assert compiler.parse(str(g)) == g
    return g


def call(name: str, *operands: str, output: str = "y", **attrs: Any) -> onnx.NodeProto:
    return node(name, list(operands), [output], domain="local", name=f"call_{name}", **attrs)


def local(nodes: list[Any], *functions: onnx.FunctionProto, **rest: Any) -> onnx.ModelProto:
    return model(nodes, functions=functions, domains=["local"], **rest)


def test_a_call_becomes_the_nodes_of_the_function() -> None:
    f = function("f", ["a"], ["b"], [node("Relu", ["a"], ["m"]), node("Neg", ["m"], ["b"])])
    g = checked(local([call("f", "x")], f))
    assert [(n.op, n.output, n.name) for n in g.nodes] == [
        ("relu", "call_f/m", "call_f/Relu_0"),
        ("neg", "y", "call_f/Neg_1"),
    ]
    assert all(n.origins == ("call_f",) for n in g.nodes)
    np.testing.assert_array_equal(reference(g, {"x": X})["y"], -np.maximum(X, 0))


def test_two_calls_do_not_share_names() -> None:
    f = function("f", ["a"], ["b"], [node("Relu", ["a"], ["m"]), node("Neg", ["m"], ["b"])])
    first, second = call("f", "x", output="h"), call("f", "h")
    second.name = "again"
    g = checked(local([first, second], f))
    assert len({n.output for n in g.nodes}) == 4
    assert {n.origins for n in g.nodes} == {("call_f",), ("again",)}


def test_attributes_of_the_call_reach_references_inside() -> None:
    leaky = node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", type=1, ref_attr_name="slope")
    f = function("f", ["a"], ["b"], [leaky], ["slope"])
    g = checked(local([call("f", "x", slope=0.5)], f))
    np.testing.assert_array_equal(reference(g, {"x": X})["y"], np.where(X < 0, X / 2, X))
    f = function("f", ["a"], ["b"], [leaky])
    f.attribute_proto.append(helper.make_attribute("slope", 0.25))
    g = checked(local([call("f", "x")], f))
    np.testing.assert_array_equal(reference(g, {"x": X})["y"], np.where(X < 0, X / 4, X))


def test_attributes_are_handed_through_functions_and_subgraphs() -> None:
    leaky = node("LeakyRelu", ["a"], ["t"])
    leaky.attribute.add(name="alpha", type=1, ref_attr_name="inner_slope")
    branch = graph([leaky], outputs=[value("t")])
    other = graph([node("Neg", ["a"], ["t"])], outputs=[value("t")])
    choose = node("If", ["c"], ["b"], then_branch=branch, else_branch=other)
    inner = function("inner", ["a", "c"], ["b"], [choose], ["inner_slope"])
    passes = call("inner", "a", "c", output="b")
    passes.attribute.add(name="inner_slope", type=1, ref_attr_name="slope")
    outer = function("outer", ["a", "c"], ["b"], [passes], ["slope"])
    inputs = [value("x"), value("c", (), BOOL)]
    g = checked(local([call("outer", "x", "c", slope=0.5)], outer, inner, inputs=inputs))
    assert all(n.origins for n in all_nodes(g))
    got = reference(g, {"x": X, "c": np.array(True)})["y"]
    np.testing.assert_array_equal(got, np.where(X < 0, X / 2, X))
    np.testing.assert_array_equal(reference(g, {"x": X, "c": np.array(False)})["y"], -X)


def test_a_function_has_the_opsets_it_names() -> None:
    squeeze = node("Squeeze", ["a"], ["b"], axes=[0])
    f = function("f", ["a"], ["b"], [squeeze], opset=11)
    made = local([call("f", "x")], f, inputs=[value("x", (1, 3))], outputs=[value("y", (3,))])
    assert made.opset_import[0].version > 13
    assert [n.op for n in checked(made).nodes] == ["squeeze"]


def test_an_operand_left_out_is_left_out_inside() -> None:
    clip = node("Clip", ["a", "low", "high"], ["b"])
    f = function("f", ["a", "low", "high"], ["b"], [clip])
    inputs = [value("x"), value("h", ())]
    g = checked(local([call("f", "x", "", "h")], f, inputs=inputs))
    got = reference(g, {"x": X, "h": np.array(1, np.float32)})["y"]
    np.testing.assert_array_equal(got, np.minimum(X, 1))


def test_a_function_may_hand_an_operand_straight_on() -> None:
    f = function("f", ["a"], ["b", "a"], [node("Neg", ["a"], ["b"])])
    n = node("f", ["x"], ["y", "z"], domain="local")
    g = checked(local([n], f, outputs=[value("y"), value("z")]))
    got = reference(g, {"x": X})
    np.testing.assert_array_equal(got["z"], X)
    np.testing.assert_array_equal(got["y"], -X)


def test_overloads_are_told_apart() -> None:
    f, g = (function("f", ["a"], ["b"], [node(op, ["a"], ["b"])]) for op in ("Relu", "Neg"))
    g.overload = "other"
    second = call("f", "h")
    second.overload = "other"
    made = checked(local([call("f", "x", output="h"), second], f, g))
    assert [n.op for n in made.nodes] == ["relu", "neg"]


def test_a_deep_chain_of_functions_is_refused_by_its_depth() -> None:
    made = [function("f0", ["a"], ["b"], [node("Relu", ["a"], ["b"])])]
    made += [
        function(f"f{i}", ["a"], ["b"], [node(f"f{i - 1}", ["a"], ["b"], domain="local")])
        for i in range(1, 200)
    ]
    with pytest.raises(CompileError) as caught:
        load(local([call("f199", "x")], *made).SerializeToString())
    assert caught.value.code == "E-MODEL-SIZE"
    assert [n.op for n in checked(local([call("f20", "x")], *made)).nodes] == ["relu"]


def test_an_error_inside_a_function_names_the_call() -> None:
    f = function("f", ["a"], ["b"], [node("MatMul", ["a", "a"], ["b"])])
    with pytest.raises(CompileError) as caught:
        load(local([call("f", "x")], f).SerializeToString())
    assert caught.value.where.node == "call_f"
