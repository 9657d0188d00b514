"""Attributes of ONNX nodes as Python values, and checks of nodes against operator schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.frontend.tensors import TensorReader
from compiler.ops import protos

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


@dataclass(frozen=True, slots=True)
class Demands:
    """The requirements of a schema: numbers of operands and outputs, and attributes by name.

    Operands at the positions `required`, and all operands from position `rest` on, are required.
    `attributes` maps a name to the attribute's kind, and to whether the attribute is required.
    """

    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    required: tuple[int, ...]
    rest: int | None
    attributes: Mapping[str, tuple[int, bool]]


@lru_cache(maxsize=2048)
def demands(op_type: str, domain: str, opset: int) -> Demands | None:
    """Return the requirements of a schema; None for an operator unknown to the onnx package."""
    schema = protos.schema_of(op_type, domain, opset)
    if schema is None:
        return None
    return Demands(
        schema.min_input,
        schema.max_input,
        schema.min_output,
        schema.max_output,
        tuple(i for i, formal in enumerate(schema.inputs) if "Single" in str(formal.option)),
        len(schema.inputs) - 1 if _is_variadic(schema.inputs) else None,
        {k: (int(a.type), bool(a.required)) for k, a in schema.attributes.items()},
    )


def _is_variadic(formals: Any) -> bool:
    return bool(formals) and "Variadic" in str(formals[-1].option)


def check_node(node: Any, needs: Demands, attributes: Mapping[str, Any]) -> None:
    """Check a node against its schema. Errors: E-MODEL-INVALID, E-MODEL-ATTRIBUTE."""
    for what, n, low, high in (
        ("operands", len(node.input), needs.min_inputs, needs.max_inputs),
        ("outputs", len(node.output), needs.min_outputs, needs.max_outputs),
    ):
        if not low <= n <= high:
            counts = str(low) if low == high else f"{low} to {high}"
            raise CompileError("E-MODEL-INVALID", f"{node.op_type} has {counts} {what}, got {n}")
    places = [*needs.required]
    if needs.rest is not None:
        places += range(needs.rest, len(node.input))
    for place in places:
        if place < len(node.input) and not node.input[place]:
            raise CompileError(
                "E-MODEL-INVALID", f"operand {place} of {node.op_type} cannot be omitted"
            )
    for key, a in attributes.items():
        expected = needs.attributes.get(key)
        if expected is None:
            raise CompileError("E-MODEL-ATTRIBUTE", f"{node.op_type} has no attribute {key!r}")
        if kind_of(a) != expected[0]:
            names = type(a).AttributeType
            raise CompileError(
                "E-MODEL-ATTRIBUTE",
                f"{node.op_type} needs {key!r} as {names.Name(expected[0])}, "
                f"got {names.Name(kind_of(a))}",
            )
    for key, (_, required) in needs.attributes.items():
        if required and key not in attributes:
            raise CompileError("E-MODEL-ATTRIBUTE", f"{node.op_type} needs the attribute {key!r}")
