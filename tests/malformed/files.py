"""Bytes that are not a model, and models with inconsistent parts."""

from __future__ import annotations

import gzip

import numpy as np
import onnx
from onnx import helper

from tests.malformed.cases import (
    case,
    changed,
    field_bytes,
    relu,
    varint,
)
from tests.onnx_models import BOOL, graph, model, node, value

# The file


@case("E-MODEL-EMPTY")
def empty_file() -> bytes:
    return b""


@case("E-MODEL-PROTOBUF", "text")
def textual_model() -> bytes:
    return b'ir_version: 8\ngraph { name: "g" }\n'


@case("E-MODEL-PROTOBUF", "text")
def json_model() -> bytes:
    return b'{"irVersion": "8", "graph": {}}'


@case("E-MODEL-PROTOBUF", "gzip")
def compressed_model() -> bytes:
    return gzip.compress(relu().SerializeToString())


@case("E-MODEL-PROTOBUF", "ORT")
def model_in_another_format() -> bytes:
    return b"\x20\x00\x00\x00ORTM" + b"\x00" * 100


@case("E-MODEL-PROTOBUF")
def random_bytes() -> bytes:
    return np.random.default_rng(4).bytes(1000)


@case("E-MODEL-PROTOBUF")
def truncated_model() -> bytes:
    whole = relu().SerializeToString()
    return whole[: len(whole) * 2 // 3]


@case("E-MODEL-PROTOBUF")
def length_beyond_the_end() -> bytes:
    return b"\x3a" + varint(2**31 - 1) + b"abc"


@case("E-MODEL-PROTOBUF")
def length_of_2_to_the_63() -> bytes:
    return b"\x3a" + varint(2**63) + b"abc"


@case("E-MODEL-PROTOBUF", "10 bytes")
def endless_number() -> bytes:
    return b"\x08" + b"\xff" * 40 + b"\x01"


@case("E-MODEL-PROTOBUF", "wire type")
def group_in_the_message() -> bytes:
    return relu().SerializeToString() + b"\x3b\x3c"


@case("E-MODEL-PROTOBUF", "UTF-8")
def name_that_is_not_utf8() -> bytes:
    whole = relu().SerializeToString()
    return whole.replace(b"act", b"a\xfft")


@case("E-MODEL-SIZE", "nested")
def subgraphs_nested_a_hundred_deep() -> bytes:
    inner = b""
    for _ in range(60):
        attribute = field_bytes(1, b"body") + field_bytes(6, inner)
        inner = field_bytes(1, field_bytes(5, attribute))
    return field_bytes(7, inner)


@case("E-MODEL-SIZE", "messages")
def a_million_empty_nodes() -> bytes:
    return field_bytes(7, b"\x0a\x00" * 1_100_000)


@case("E-MODEL-SIZE", "unknown")
def bytes_in_unknown_fields() -> bytes:
    return relu().SerializeToString() + field_bytes(99, bytes(2 << 20))


@case("E-MODEL-SIZE", "name")
def name_of_a_hundred_kilobytes() -> bytes:
    return changed(relu(), lambda m: setattr(m.graph.node[0], "name", "n" * 100_000))


# The model


@case("E-MODEL-INVALID", "graph")
def model_without_a_graph() -> bytes:
    return onnx.ModelProto(ir_version=8).SerializeToString()


@case("E-MODEL-INVALID", "outputs")
def graph_without_outputs() -> bytes:
    return relu(outputs=[]).SerializeToString()


@case("E-MODEL-OPSET", "IR version 99")
def file_from_the_future() -> bytes:
    return changed(relu(), lambda m: setattr(m, "ir_version", 99))


@case("E-MODEL-INVALID", "IR version")
def file_without_a_version() -> bytes:
    return changed(relu(), lambda m: m.ClearField("ir_version"))


@case("E-MODEL-OPSET", "999")
def opset_from_the_future() -> bytes:
    return changed(relu(), lambda m: setattr(m.opset_import[0], "version", 999))


@case("E-MODEL-OPSET", "versions 1 to")
def opset_zero() -> bytes:
    return changed(relu(), lambda m: setattr(m.opset_import[0], "version", 0))


@case("E-MODEL-OPSET", "no operator set")
def model_without_an_opset() -> bytes:
    return changed(relu(), lambda m: m.ClearField("opset_import"))


@case("E-MODEL-OPSET", "two versions")
def two_versions_of_one_opset() -> bytes:
    return changed(relu(), lambda m: m.opset_import.append(helper.make_opsetid("", 12)))


@case("E-MODEL-OPSET", "ai.onnx.ml")
def domain_that_is_not_imported() -> bytes:
    n = node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml")
    return model([n]).SerializeToString()


@case("E-MODEL-OPERATOR", "Frobnicate")
def operator_that_does_not_exist() -> bytes:
    return model([node("Frobnicate", ["x"], ["y"])]).SerializeToString()


@case("E-MODEL-OPERATOR", "Gelu")
def operator_of_a_later_opset() -> bytes:
    return model([node("Gelu", ["x"], ["y"])], opset=12).SerializeToString()


@case("E-MODEL-OPERATOR", "acme")
def operator_of_an_unknown_domain() -> bytes:
    n = node("Thing", ["x"], ["y"], domain="acme")
    return model([n], domains=["acme"]).SerializeToString()


# Names


@case("E-MODEL-CYCLE", "first")
def two_nodes_in_a_circle() -> bytes:
    nodes = [node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"])]
    return model(nodes, outputs=[value("a")]).SerializeToString()


@case("E-MODEL-CYCLE", "selfish")
def node_that_reads_itself() -> bytes:
    return model([node("Add", ["x", "y"], ["y"], name="selfish")]).SerializeToString()


@case("E-MODEL-NAME", "'y'")
def value_defined_twice() -> bytes:
    nodes = [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])]
    return model(nodes).SerializeToString()


@case("E-MODEL-NAME", "'x'")
def output_named_as_an_input() -> bytes:
    return model([node("Relu", ["x"], ["x"])], outputs=[value("x")]).SerializeToString()


@case("E-MODEL-NAME", "'x'")
def input_listed_twice() -> bytes:
    return relu(inputs=[value("x"), value("x")]).SerializeToString()


@case("E-MODEL-NAME", "'nowhere'")
def operand_that_nothing_defines() -> bytes:
    return model([node("Add", ["x", "nowhere"], ["y"])]).SerializeToString()


@case("E-MODEL-NAME", "'z'")
def result_that_nothing_defines() -> bytes:
    return relu(outputs=[value("z")]).SerializeToString()


@case("E-MODEL-NAME", "'y'")
def result_listed_twice() -> bytes:
    return relu(outputs=[value("y"), value("y")]).SerializeToString()


@case("E-MODEL-NAME", "'hidden'")
def capture_of_a_value_that_does_not_exist() -> bytes:
    branch = graph([node("Neg", ["hidden"], ["t"])], outputs=[value("t")])
    n = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    return model([n], inputs=[value("c", (), BOOL)]).SerializeToString()


@case("E-MODEL-INVALID", "no outputs")
def node_without_outputs() -> bytes:
    return model([node("Relu", ["x"], []), node("Neg", ["x"], ["y"])]).SerializeToString()


@case("E-MODEL-TYPE", "'x'")
def input_without_a_type() -> bytes:
    return relu(inputs=[onnx.ValueInfoProto(name="x")]).SerializeToString()
