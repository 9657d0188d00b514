"""Attributes of ONNX nodes as Python values, and the check of a node against its schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.errors import CompileError, require
from compiler.frontend.tensors import TensorReader
from compiler.ops.onnx_import.schemas import Schema, check_call

Bindings = Mapping[str, Any]
"""The AttributeProtos of a function call; attributes in the function body refer to them."""


def bound(attributes: Any, bindings: Bindings) -> dict[str, Any]:
    """Return the AttributeProtos of a node by name; resolve references to function attributes.

    Errors: E-MODEL-ATTRIBUTE for a repeated name.
    """
    found: dict[str, Any] = {}
    for a in attributes:
        require(a.name not in found, "E-MODEL-ATTRIBUTE", f"the attribute {a.name!r} occurs twice")
        if not a.ref_attr_name:
            found[a.name] = a
        elif a.ref_attr_name in bindings:
            found[a.name] = bindings[a.ref_attr_name]
    return found


def kind_of(a: Any) -> int:
    """Return the kind of an attribute; in early files, the field in use determines the kind."""
    if a.type:
        return int(a.type)
    kinds = type(a)
    for name, kind in (("f", kinds.FLOAT), ("i", kinds.INT), ("s", kinds.STRING)):
        if a.HasField(name):
            return kind
    for name, kind in (("t", kinds.TENSOR), ("g", kinds.GRAPH)):
        if a.HasField(name):
            return kind
    for name, kind in (
        ("floats", kinds.FLOATS),
        ("ints", kinds.INTS),
        ("strings", kinds.STRINGS),
        ("tensors", kinds.TENSORS),
    ):
        if len(getattr(a, name)):
            return kind
    return kinds.UNDEFINED


def value_of(a: Any, key: str, tensors: TensorReader, read_type: Callable[[Any], Any]) -> Any:
    """Return the value of an attribute other than a graph.

    Errors: E-MODEL-ATTRIBUTE, and the errors of tensors.
    """
    import onnx

    kinds = onnx.AttributeProto
    match kind_of(a):
        case kinds.INT:
            return int(a.i)
        case kinds.FLOAT:
            return float(a.f)
        case kinds.STRING:
            return _text(a.s)
        case kinds.TENSOR:
            return tensors.constant(a.t, name=key)
        case kinds.INTS:
            return tuple(int(v) for v in a.ints)
        case kinds.FLOATS:
            return tuple(float(v) for v in a.floats)
        case kinds.STRINGS:
            return tuple(_text(v) for v in a.strings)
        case kinds.TENSORS:
            return tuple(tensors.constant(t, name=key) for t in a.tensors)
        case kinds.SPARSE_TENSOR:
            return tensors.sparse(a.sparse_tensor)
        case kinds.TYPE_PROTO:
            return read_type(a.tp)
        case kinds.TYPE_PROTOS:
            return tuple(read_type(t) for t in a.type_protos)
        case _:
            raise CompileError("E-MODEL-ATTRIBUTE", f"the attribute {key!r} has no value")


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def check_node(node: Any, schema: Schema, attributes: Bindings) -> None:
    """Check a node against its schema. Errors: E-MODEL-INVALID, E-MODEL-ATTRIBUTE."""
    kinds = {k: type(a).AttributeType.Name(kind_of(a)) for k, a in attributes.items()}
    check_call(schema, node.op_type, node.input, len(node.output), kinds)
