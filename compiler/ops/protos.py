"""Conversion of types, constants and foreign nodes to and from ONNX messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Value
from compiler.ir.operator import Array
from compiler.ir.types import (
    Dim,
    DType,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
)

_OPSETS = 1 << 31
"""The upper limit of opset versions, which are 32-bit numbers."""

DimReader = Callable[[Any, int], Dim]
"""A function that reads the size in a dimension message, given the position of the axis."""


def split_name(op: str) -> tuple[str, str]:
    """Split a foreign operator's name: `onnx.a.b.Name` is ("a.b", "Name")."""
    domain, _, op_type = op.removeprefix("onnx.").rpartition(".")
    return domain, op_type


def join_name(domain: str, op_type: str) -> str:
    """Return the name of a foreign operator."""
    return f"onnx.{domain}.{op_type}" if domain else f"onnx.{op_type}"


def opset_of(node: Node, default: int = 1) -> int:
    """Return the opset version of a foreign node. Errors: E-OP-ATTRIBUTE."""
    opset = node.attrs.get("opset", default)
    if type(opset) is not int or not 0 < opset < _OPSETS:
        message = f"{node.op} needs an operator set version as opset, got {opset!r:.60}"
        raise CompileError("E-OP-ATTRIBUTE", message)
    return opset


@lru_cache(maxsize=4096)
def schema_of(op_type: str, domain: str, opset: int) -> Any:
    """Return the onnx package's schema of an operator; None if this opset lacks the operator."""
    import onnx

    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None


@lru_cache(maxsize=2048)
def float_defaults(op_type: str, domain: str, opset: int) -> Mapping[str, float]:
    """Return the defaults of float attributes, rounded to f32 as ONNX stores them.

    This rounding affects the results of operators on f64.
    """
    schema = schema_of(op_type, domain, opset)
    stated = {} if schema is None else {k: a.default_value for k, a in schema.attributes.items()}
    return {k: float(d.f) for k, d in stated.items() if d.type == d.FLOAT}


def to_type_proto(t: Type) -> Any:
    """Convert a type to a TypeProto; symbolic sizes become dim_params, opaque types stay empty."""
    import onnx

    proto = onnx.TypeProto()
    match t:
        case TensorType():
            proto.tensor_type.elem_type = t.dtype.onnx
            if t.shape is not None:
                proto.tensor_type.shape.SetInParent()
                for d in t.shape:
                    dim = proto.tensor_type.shape.dim.add()
                    if isinstance(d, int):
                        dim.dim_value = d
                    else:
                        dim.dim_param = str(d)
        case SequenceType(element):
            proto.sequence_type.elem_type.CopyFrom(to_type_proto(element))
        case OptionalType(element):
            proto.optional_type.elem_type.CopyFrom(to_type_proto(element))
        case MapType(key, value):
            proto.map_type.key_type = key.onnx
            proto.map_type.value_type.CopyFrom(to_type_proto(value))
        case _:
            pass
    return proto


def type_depth(proto: Any, most: int) -> int:
    """Return the nesting depth of a type; the result is at most `most` + 1."""
    depth, inner = 1, proto
    while depth <= most:
        match inner.WhichOneof("value"):
            case "sequence_type":
                inner = inner.sequence_type.elem_type
            case "optional_type":
                inner = inner.optional_type.elem_type
            case "map_type":
                inner = inner.map_type.value_type
            case _:
                break
        depth += 1
    return depth


def from_type_proto(proto: Any, read_dim: DimReader) -> Type:
    """Convert a TypeProto to a type, opaque if empty. Errors: E-MODEL-TYPE."""
    match proto.WhichOneof("value"):
        case "tensor_type" if proto.tensor_type.elem_type:
            tensor = proto.tensor_type
            shape = None
            if tensor.HasField("shape"):
                shape = tuple(read_dim(d, i) for i, d in enumerate(tensor.shape.dim))
            return TensorType(DType.from_onnx(tensor.elem_type), shape)
        case "sequence_type":
            return SequenceType(from_type_proto(proto.sequence_type.elem_type, read_dim))
        case "optional_type":
            return OptionalType(from_type_proto(proto.optional_type.elem_type, read_dim))
        case "map_type":
            key = DType.from_onnx(proto.map_type.key_type)
            return MapType(key, from_type_proto(proto.map_type.value_type, read_dim))
        case _:
            return OpaqueType()


def to_tensor_proto(array: Array, name: str = "") -> Any:
    """Convert an array to a TensorProto."""
    import onnx
    from onnx import numpy_helper

    array = np.asarray(array)
    if array.dtype == np.object_:
        values = [v if isinstance(v, bytes) else str(v).encode() for v in array.reshape(-1)]
        return onnx.TensorProto(
            name=name,
            data_type=onnx.TensorProto.STRING,
            dims=array.shape,
            string_data=values,
        )
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def to_node_proto(node: Node) -> Any:
    """Convert a foreign node to a NodeProto with inputs `i0`, `i1`, ... and outputs `o0`, ..."""
    import onnx

    domain, op_type = split_name(node.op)
    proto = onnx.NodeProto(op_type=op_type, domain=domain, name=node.name)
    proto.input.extend(f"i{k}" if i else "" for k, i in enumerate(node.inputs))
    proto.output.extend(f"o{k}" if o else "" for k, o in enumerate(node.outputs))
    schema = schema_of(op_type, domain, opset_of(node))
    for key, value in node.attrs.items():
        if key != "opset" and value is not None:
            proto.attribute.append(_attribute_proto(key, value, schema))
    for key, region in node.regions.items():
        attribute = proto.attribute.add(name=key, type=onnx.AttributeProto.GRAPH)
        attribute.g.CopyFrom(to_graph_proto(region))
    return proto


def with_defaults(node: Node, schema: Any) -> Any:
    """Convert a foreign node to a NodeProto with explicit default attributes.

    Some type rules of the onnx package assume defaults that contradict their schemas.
    """
    proto = to_node_proto(node)
    stated = {a.name for a in proto.attribute}
    defaults = {k: a.default_value for k, a in schema.attributes.items() if k not in stated}
    proto.attribute.extend(d for d in defaults.values() if d.type)
    return proto


def to_graph_proto(graph: Graph) -> Any:
    """Convert a region of foreign nodes to a GraphProto."""
    import onnx

    def info(v: Value) -> Any:
        return onnx.ValueInfoProto(name=v.name, type=to_type_proto(v.type))

    proto = onnx.GraphProto(name=graph.name)
    proto.input.extend(map(info, graph.inputs))
    proto.initializer.extend(to_tensor_proto(c.array(), k) for k, c in graph.constants.items())
    for node in graph.nodes:
        inner = to_node_proto(node)
        del inner.input[:], inner.output[:]
        inner.input.extend(node.inputs)
        inner.output.extend(node.outputs)
        proto.node.append(inner)
    proto.output.extend(info(Value(r.value, graph.types[r.value])) for r in graph.results)
    return proto


def _attribute_proto(key: str, value: Any, schema: Any) -> Any:
    import onnx

    proto = onnx.AttributeProto(name=key)
    kinds = onnx.AttributeProto
    match value:
        case bool() | int():
            proto.type, proto.i = kinds.INT, int(value)
        case float():
            proto.type, proto.f = kinds.FLOAT, value
        case str() | bytes():
            proto.type, proto.s = kinds.STRING, _bytes(value)
        case Constant():
            proto.type = kinds.TENSOR
            proto.t.CopyFrom(to_tensor_proto(value.array()))
        case tuple():
            _fill_list(proto, value, schema)
        case _:
            proto.type = kinds.TYPE_PROTO
            proto.tp.CopyFrom(to_type_proto(value))
    return proto


def _fill_list(proto: Any, values: tuple[Any, ...], schema: Any) -> None:
    import onnx

    kinds = onnx.AttributeProto
    if not values:
        known = {} if schema is None else schema.attributes
        proto.type = int(known[proto.name].type) if proto.name in known else kinds.INTS
    elif isinstance(values[0], str | bytes):
        proto.type = kinds.STRINGS
        proto.strings.extend(map(_bytes, values))
    elif isinstance(values[0], float):
        proto.type = kinds.FLOATS
        proto.floats.extend(values)
    elif isinstance(values[0], Constant):
        proto.type = kinds.TENSORS
        proto.tensors.extend(to_tensor_proto(v.array()) for v in values)
    elif isinstance(values[0], int):
        proto.type = kinds.INTS
        proto.ints.extend(values)
    else:
        proto.type = kinds.TYPE_PROTOS
        proto.type_protos.extend(map(to_type_proto, values))


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def has_reference(op_type: str, domain: str) -> bool:
    """Return whether onnx.reference implements an operator that has no schema in onnx."""
    if domain != "experimental":
        return False
    from onnx.reference.ops import experimental

    return hasattr(experimental, f"op_{op_type.lower()}")


def first_opset(op_type: str, domain: str) -> int | None:
    """Return the opset version that introduced an operator, or None."""
    import onnx

    schemas = onnx.defs.get_all_schemas_with_history()
    found = [s.since_version for s in schemas if s.name == op_type and s.domain == domain]
    return min(found, default=None)
