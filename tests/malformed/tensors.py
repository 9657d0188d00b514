"""Stored tensors that are broken, absurd, or in external files."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto

from tests.malformed.cases import (
    case,
    relu,
    tensor_message,
    with_stored,
)
from tests.onnx_models import BOOL, function, graph, model, node, stored, value

# Tensors


@case("E-MODEL-TENSOR", "24 bytes")
def raw_data_too_short() -> bytes:
    return with_stored(tensor_message([2, 3], raw_data=bytes(20)))


@case("E-MODEL-TENSOR", "24 bytes")
def raw_data_too_long() -> bytes:
    return with_stored(tensor_message([2, 3], raw_data=bytes(28)))


@case("E-MODEL-TENSOR", "negative")
def negative_size() -> bytes:
    return with_stored(tensor_message([2, -3], raw_data=bytes(24)))


@case("E-MODEL-SIZE", "elements")
def sizes_whose_product_overflows() -> bytes:
    return with_stored(tensor_message([2**40, 2**40], raw_data=bytes(24)))


@case("E-MODEL-SIZE", "axis")
def size_of_2_to_the_62() -> bytes:
    return with_stored(tensor_message([2**62], raw_data=bytes(24)))


@case("E-MODEL-TENSOR", "float_data")
def large_tensor_without_data() -> bytes:
    return with_stored(tensor_message([2**25]))


@case("E-MODEL-SIZE", "axes")
def tensor_of_rank_40() -> bytes:
    return with_stored(tensor_message([1] * 40, raw_data=bytes(4)))


@case("E-MODEL-TYPE", "99")
def unknown_element_type() -> bytes:
    return with_stored(tensor_message([2, 3], 99, raw_data=bytes(24)))


@case("E-MODEL-TYPE")
def tensor_without_element_type() -> bytes:
    return with_stored(tensor_message([2, 3], 0, raw_data=bytes(24)))


@case("E-MODEL-TENSOR", "strings")
def strings_as_raw_bytes() -> bytes:
    return with_stored(tensor_message([2], TensorProto.STRING, raw_data=b"ab"))


@case("E-MODEL-TENSOR", "twice")
def elements_given_twice() -> bytes:
    return with_stored(tensor_message([1], raw_data=bytes(4), float_data=[1.0]))


@case("E-MODEL-TENSOR", "float_data")
def elements_in_the_wrong_field() -> bytes:
    return with_stored(tensor_message([1], int64_data=[1]))


@case("E-MODEL-SIZE", "sparse")
def sparse_tensor_of_absurd_size() -> bytes:
    return with_sparse([2**20, 2**20], [0])


@case("E-MODEL-TENSOR", "out of bounds")
def sparse_index_outside_the_tensor() -> bytes:
    return with_sparse([2, 3], [6])


def with_sparse(dims: list[int], places: list[int]) -> bytes:
    sparse = onnx.SparseTensorProto(dims=dims)
    sparse.values.CopyFrom(stored("w", np.ones(len(places), np.float32)))
    sparse.indices.CopyFrom(stored("", places, np.int64))
    made = model([node("Add", ["x", "w"], ["y"])])
    made.graph.sparse_initializer.append(sparse)
    return made.SerializeToString()


# External data


def external(name: str = "w", location: str = "../secret.bin") -> onnx.TensorProto:
    t = tensor_message([2, 3], name=name, data_location=TensorProto.EXTERNAL)
    t.external_data.add(key="location", value=location)
    return t


@case("E-MODEL-EXTERNAL", "'w'")
def external_initialiser() -> bytes:
    return with_stored(external())


@case("E-MODEL-EXTERNAL", "'w'")
def external_data_without_the_flag() -> bytes:
    t = external()
    t.ClearField("data_location")
    return with_stored(t)


@case("E-MODEL-EXTERNAL", "'w'")
def flag_without_external_data() -> bytes:
    t = external()
    t.ClearField("external_data")
    return with_stored(t)


@case("E-MODEL-EXTERNAL", "'inner'")
def external_constant_node() -> bytes:
    return model([node("Constant", [], ["y"], value=external("inner"))]).SerializeToString()


@case("E-MODEL-EXTERNAL", "'v'")
def external_sparse_values() -> bytes:
    sparse = onnx.SparseTensorProto(dims=[6])
    sparse.values.CopyFrom(external("v", "/proc/self/environ"))
    made = model([node("Constant", [], ["y"])])
    attribute = made.graph.node[0].attribute.add(name="sparse_value", type=11)
    attribute.sparse_tensor.CopyFrom(sparse)
    return made.SerializeToString()


@case("E-MODEL-EXTERNAL", "'w'")
def external_data_in_a_subgraph() -> bytes:
    branch = graph([node("Identity", ["w"], ["t"])], [], [value("t")], [external()])
    n = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    return model([n], inputs=[value("c", (), BOOL)]).SerializeToString()


@case("E-MODEL-EXTERNAL", "'w'")
def external_data_in_a_function_that_nobody_calls() -> bytes:
    unused = function("f", ["a"], ["b"], [node("Constant", [], ["b"], value=external())])
    return relu(functions=[unused]).SerializeToString()
