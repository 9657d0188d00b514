"""Nodes, subgraphs and functions that violate a rule of ONNX."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import helper

from compiler.frontend import UPLOAD_LIMITS
from tests.malformed.cases import (
    case,
)
from tests.onnx_models import BOOL, I64, function, graph, model, node, value

# Nodes


@case("E-MODEL-ATTRIBUTE", "alpha")
def attribute_of_the_wrong_kind() -> bytes:
    return model([node("LeakyRelu", ["x"], ["y"], alpha=1)]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "to")
def required_attribute_left_out() -> bytes:
    return model([node("Cast", ["x"], ["y"])]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "wings")
def attribute_that_does_not_exist() -> bytes:
    return model([node("Relu", ["x"], ["y"], wings=2)]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "twice")
def attribute_given_twice() -> bytes:
    made = model([node("LeakyRelu", ["x"], ["y"], alpha=0.5)])
    made.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.25))
    return made.SerializeToString()


@case("E-MODEL-INVALID", "operands")
def too_many_operands() -> bytes:
    return model([node("Relu", ["x", "x"], ["y"])]).SerializeToString()


@case("E-MODEL-INVALID", "omitted")
def required_operand_left_out() -> bytes:
    return model([node("Add", ["x", ""], ["y"])]).SerializeToString()


@case("E-OP-SHAPE", "mm")
def shapes_that_do_not_go_together() -> bytes:
    return model([node("MatMul", ["x", "x"], ["y"], name="mm")]).SerializeToString()


@case("E-OP-AXIS", "cat")
def axis_outside_the_rank() -> bytes:
    n = node("Concat", ["x", "x"], ["y"], axis=7, name="cat")
    return model([n]).SerializeToString()


@case("E-OP-SHAPE", "axes")
def reshape_to_a_billion_axes() -> bytes:
    inputs = [value("x"), value("s", (2**30,), I64)]
    return model([node("Reshape", ["x", "s"], ["y"])], inputs).SerializeToString()


@case("E-OP-SHAPE", "2**62")
def axis_that_doubles_a_hundred_times() -> bytes:
    nodes = [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0) for i in range(100)]
    return model(nodes, [value("v0")], [value("v100", None)]).SerializeToString()


@case("E-OP-ATTRIBUTE", "a split returns")
def split_into_a_trillion_pieces() -> bytes:
    n = node("Split", ["x"], ["y"], num_outputs=2**40)
    return model([n], opset=18).SerializeToString()


@case("E-GRAPH-TYPE", "body")
def loop_whose_body_does_not_fit() -> bytes:
    body = graph([node("Identity", ["c"], ["d"])], [value("c", (), BOOL)], [value("d", (), BOOL)])
    n = node("Loop", ["", "c0", "x"], ["y"], body=body, name="loop")
    return model([n], [value("x"), value("c0", (), BOOL)]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "else_branch")
def condition_without_an_else() -> bytes:
    branch = graph([node("Identity", ["x"], ["t"])], outputs=[value("t")])
    n = node("If", ["c"], ["y"], then_branch=branch)
    return model([n], [value("x"), value("c", (), BOOL)]).SerializeToString()


@case("E-MODEL-SIZE", "depth")
def conditions_nested_beyond_the_limit() -> bytes:
    inner = graph([node("Identity", ["x"], ["t"])], outputs=[value("t")])
    for _ in range(UPLOAD_LIMITS.nested_regions + 1):
        n = node("If", ["c"], ["t"], then_branch=inner, else_branch=inner_copy())
        inner = graph([n], outputs=[value("t")])
    n = node("If", ["c"], ["y"], then_branch=inner, else_branch=inner_copy())
    return model([n], [value("x"), value("c", (), BOOL)]).SerializeToString()


def inner_copy() -> onnx.GraphProto:
    return graph([node("Identity", ["x"], ["e"])], outputs=[value("e")])


# Functions


def call(name: str) -> Any:
    return node(name, ["x"], ["y"], domain="local")


@case("E-MODEL-CYCLE", "local.f")
def function_that_calls_itself() -> bytes:
    f = function("f", ["x"], ["y"], [call("f")])
    return model([call("f")], functions=[f], domains=["local"]).SerializeToString()


@case("E-MODEL-CYCLE", "calls itself")
def functions_that_call_each_other() -> bytes:
    f, g = function("f", ["x"], ["y"], [call("g")]), function("g", ["x"], ["y"], [call("f")])
    return model([call("f")], functions=[f, g], domains=["local"]).SerializeToString()


@case("E-MODEL-SIZE", "functions")
def functions_that_double_forty_times() -> bytes:
    made = [function("f0", ["x"], ["y"], [node("Relu", ["x"], ["y"])])]
    for i in range(1, 41):
        twice = [
            node(f"f{i - 1}", ["x"], ["m"], domain="local"),
            node(f"f{i - 1}", ["m"], ["y"], domain="local"),
        ]
        made.append(function(f"f{i}", ["x"], ["y"], twice))
    return model([call("f40")], functions=made, domains=["local"]).SerializeToString()


@case("E-MODEL-NAME", "local.f")
def two_functions_of_one_name() -> bytes:
    f = function("f", ["x"], ["y"], [node("Relu", ["x"], ["y"])])
    return model([call("f")], functions=[f, f], domains=["local"]).SerializeToString()


@case("E-MODEL-NAME", "'y'")
def function_that_does_not_give_its_output() -> bytes:
    f = function("f", ["x"], ["y"], [node("Relu", ["x"], ["z"])])
    return model([call("f")], functions=[f], domains=["local"]).SerializeToString()


@case("E-MODEL-INVALID", "has 1 inputs")
def function_called_with_too_many_operands() -> bytes:
    f = function("f", ["x"], ["y"], [node("Relu", ["x"], ["y"])])
    n = node("f", ["x", "x"], ["y"], domain="local")
    return model([n], functions=[f], domains=["local"]).SerializeToString()
