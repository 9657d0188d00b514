"""Foreign operators: ONNX operators without a declaration, run by onnx.reference.

Foreign nodes have operators `onnx.Name` or `onnx.<domain>.Name`, ONNX's attributes, and `opset`.
onnx's shape inference determines the types of outputs. Control-flow operators are not foreign: see
control.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.affine import identifier, symbol
from compiler.ir.graph import Node
from compiler.ir.infer import rule_for
from compiler.ir.operator import Array
from compiler.ir.types import Dim, DType, OpaqueType, SequenceType, TensorType, Type
from compiler.ops import protos
from compiler.ops.control_flow import control, control_types
from compiler.ops.evaluation import ml_foreign
from compiler.ops.evaluation.corrections import corrected_evaluator
from compiler.ops.text.regex_match import full_matches
from compiler.ops.type_rules.dims import LARGEST_SIZE


@rule_for("onnx.")
def foreign_types(
    node: Node,
    types: Sequence[Type | None],
    known: Sequence[Array | None],
    outer: Mapping[str, Type],
) -> tuple[Type, ...]:
    """Infer the types of a foreign node's outputs, opaque if unknown.

    Errors: none for nodes that onnx's shape inference rejects; see `refusal`.
    """
    if node.op in control.CONTROL_FLOW:
        return control_types.types_of(node, types, known, outer)
    domain, op_type = protos.split_name(node.op)
    schema = protos.schema_of(op_type, domain, protos.opset_of(node))
    if schema is None:
        return (OpaqueType(),) * len(node.outputs)
    try:
        inferred = _inferred(node, types, known, schema)
    except _Refused:
        inferred = {}
    made = [inferred.get(f"o{k}") for k in range(len(node.outputs))]
    return tuple(
        t if t is not None and not isinstance(t, OpaqueType) else _by_constraint(schema, k, types)
        for k, t in enumerate(made)
    )


def refusal(node: Node, types: Sequence[Type | None], known: Sequence[Array | None]) -> str | None:
    """Return the error of onnx's inference for a node, or None."""
    domain, op_type = protos.split_name(node.op)
    schema = protos.schema_of(op_type, domain, protos.opset_of(node))
    if schema is None or node.op in control.CONTROL_FLOW:
        return None
    try:
        _inferred(node, types, known, schema)
    except _Refused as e:
        return str(e)
    return None


class _Refused(Exception):
    """Raised if onnx's inference fails."""


def _inferred(
    node: Node, types: Sequence[Type | None], known: Sequence[Array | None], schema: Any
) -> dict[str, Type]:
    """Return the types that onnx's inference finds, by output position. Errors: _Refused."""
    import onnx
    from onnx.shape_inference import infer_node_outputs

    if any(t is not None and _has_opaque(t) for t in types):
        return {}
    if not _is_tame(node, types, known):
        raise _Refused("an attribute or operand is out of range for ONNX's shape inference")
    given = {f"i{k}": protos.to_type_proto(t) for k, t in enumerate(types) if t is not None}
    values = {
        f"i{k}": protos.to_tensor_proto(v)
        for k, v in enumerate(known)
        if v is not None and v.dtype != np.object_ and node.inputs[k]
    }
    opset = protos.opset_of(node)
    domain, op_type = protos.split_name(node.op)
    imports = [onnx.helper.make_opsetid(domain, opset)]
    if domain:
        imports.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
    try:
        found = infer_node_outputs(
            schema, protos.with_defaults(node, schema), given, values, opset_imports=imports
        )
    except Exception as e:  # the package's C++ code raises several kinds of errors
        raise _Refused(str(e)) from e
    made: dict[str, Type] = {}
    for name, proto in found.items():
        if not name:
            continue
        base = node.outputs[int(name[1:])]
        if op_type == "DFT" and len(types) > 1 and types[1] is not None and "i1" not in values:
            _forget_symbols(proto)
        try:
            made[name] = protos.from_type_proto(proto, _dim_reader(types, base))
        except CompileError:
            continue
    return made


def _forget_symbols(proto: Any) -> None:
    """Remove the names of open sizes: onnx retains a name even if an operand changes the size."""
    for dim in proto.tensor_type.shape.dim:
        dim.ClearField("dim_param")


TAME = (1 << 31) - 1
"""The largest integer in operands passed to onnx's shape inference."""

LARGEST_COUNT = 1 << 20
"""The maximum of scalar attributes, such as numbers of groups, outputs or units."""

LONGEST_LIST = 1 << 16
"""The maximum number of elements of one-dimensional operands passed to onnx's shape inference."""

MAY_BE_NEGATIVE = {"k", "pads", "output_padding", "min_gram_length", "max_skip_count"}
"""The attributes, other than axes, whose values may be negative."""


def _is_tame(node: Node, types: Sequence[Type | None], known: Sequence[Array | None]) -> bool:
    """Return whether a node is safe for onnx's shape inference, which is C++ code without checks.

    Some rules of onnx's inference use an unchecked attribute as an index or as a size of memory.
    """
    ranks = [_rank(t) for t in types if t is not None]
    highest = max(ranks, default=0)
    for key, value in node.attrs.items():
        numbers = value if isinstance(value, tuple) else (value,)
        whole = [v for v in numbers if isinstance(v, int)]
        if "axis" in key or "axes" in key:
            low, high = -highest, highest
        elif "dims" in key:
            low, high = 0, highest
        elif key in MAY_BE_NEGATIVE:
            low, high = -TAME, TAME
        else:
            low, high = 0, TAME if isinstance(value, tuple) else LARGEST_COUNT
        if any(not low <= v <= high for v in whole):
            return False
        if key == "num_outputs" and value != len(node.outputs):
            return False
    if any(_largest(t) > LARGEST_SIZE for t in types):
        return False
    # A one-dimensional operand may be a shape, whose length is the rank of the result.
    if any(_list_length(t) > LONGEST_LIST for t in types):
        return False
    for value in known:
        if value is not None and value.dtype.kind in "iu" and value.size:
            if int(value.max()) > TAME or int(value.min()) < -TAME:
                return False
    return True


def _largest(t: Type | None) -> int:
    if not isinstance(t, TensorType):
        return 0
    return max((d for d in t.shape or () if isinstance(d, int)), default=0)


def _list_length(t: Type | None) -> int:
    if not isinstance(t, TensorType) or t.shape is None or len(t.shape) != 1:
        return 0
    return t.shape[0] if isinstance(t.shape[0], int) else 0


def _rank(t: Type) -> int:
    """Return the rank of a tensor; for a sequence, 1 plus the rank of its elements."""
    if isinstance(t, TensorType):
        return len(t.shape or ())
    element = getattr(t, "element", None)
    return 0 if element is None else 1 + _rank(element)


def _has_opaque(t: Type) -> bool:
    if isinstance(t, TensorType):
        return False
    element = getattr(t, "element", None) or getattr(t, "value", None)
    return True if element is None else _has_opaque(element)


def _dim_reader(types: Sequence[Type | None], base: str) -> protos.DimReader:
    """Return a function that reads inferred sizes as numbers, operands' symbols or new symbols."""
    named = {str(d): d for t in types if isinstance(t, TensorType) for d in t.shape or ()}

    def read(dim: Any, position: int) -> Dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return int(dim.dim_value)
        if dim.HasField("dim_param") and dim.dim_param in named:
            return named[dim.dim_param]
        return symbol(f"{identifier(base)}_d{position}")

    return read


def _by_constraint(schema: Any, position: int, types: Sequence[Type | None]) -> Type:
    """Return the type that the schema determines: a fixed type, or an operand's element type."""
    formal = _formal(schema.outputs, position)
    if formal is None:
        return OpaqueType()
    stated = _stated(formal.type_str)
    if stated is not None:
        return stated
    for k, t in enumerate(types):
        other = _formal(schema.inputs, k)
        if other is not None and other.type_str == formal.type_str and isinstance(t, TensorType):
            return TensorType(t.dtype, None)
    return OpaqueType()


def _formal(formals: Any, position: int) -> Any:
    if not formals:
        return None
    last = formals[-1]
    if position < len(formals):
        return formals[position]
    return last if "Variadic" in str(last.option) else None


def _stated(text: str) -> Type | None:
    """Parse a type in a schema, such as `tensor(int64)` or `seq(tensor(string))`."""
    import onnx

    if text.startswith("seq("):
        element = _stated(text[4:-1])
        return None if element is None else SequenceType(element)
    if not text.startswith("tensor("):
        return None
    label = text[7:-1].upper()
    if label not in onnx.TensorProto.DataType.keys():
        return None
    return TensorType(DType.from_onnx(onnx.TensorProto.DataType.Value(label)), None)


# Evaluation


def evaluate_foreign(
    node: Node, values: Sequence[Any], outer: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """Evaluate a foreign node on arrays, lists for sequences, and None for absent optionals.

    `outer` maps captured names to values.
    Errors: E-RUN-OPERATOR if onnx.reference fails.
    """
    if node.op in control.CONTROL_FLOW:
        return control.evaluate(node, values, outer or {})
    if node.op == "onnx.Optional":
        # An optional is its value, or None; onnx.reference represents it as a list.
        return (values[0] if values else None,)
    if node.op.startswith(ml_foreign.PREFIX):
        made = ml_foreign.evaluate(node, values)
        if made is not None:
            return made
    if node.op == "onnx.RegexFullMatch":  # onnx.reference uses Python's re
        return (full_matches(str(node.attrs.get("pattern") or ""), values[0]),)
    node = _under_new_name(node)
    proto = to_bytes(node)
    kinds = tuple(_kind(v) for v in values)
    domain = protos.split_name(node.op)[0]
    opset = protos.opset_of(node)
    try:
        evaluator = _evaluator(proto, domain, opset, kinds)
        feeds = {f"i{k}": v for k, v in enumerate(values) if node.inputs[k]}
        with np.errstate(all="ignore"):
            made = evaluator.run(None, feeds)
    except MemoryError:
        raise
    except Exception as e:  # onnx.reference raises any kind of error
        reason = f"{type(e).__name__}: {e}"[:300]
        raise CompileError("E-RUN-OPERATOR", f"{node.op}: {reason}") from e
    results = iter(made)
    return tuple(_settled(next(results)) if o else None for o in node.outputs)


_NEW_NAMES = {"onnx.Scatter": ("onnx.ScatterElements", 11)}
"""Operators that onnx.reference implements only under a later name, with its opset."""


def _under_new_name(node: Node) -> Node:
    if node.op not in _NEW_NAMES:
        return node
    op, opset = _NEW_NAMES[node.op]
    return replace(node, op=op, attrs={**node.attrs, "opset": opset})


def to_bytes(node: Node) -> bytes:
    """Serialise a foreign node without its name; nodes of equal semantics get equal bytes."""
    proto = protos.to_node_proto(node)
    proto.name = ""
    return proto.SerializeToString(deterministic=True)


def _kind(value: Any) -> Type:
    if isinstance(value, np.ndarray):
        return TensorType(DType.from_numpy(value.dtype), value.shape)
    if isinstance(value, list) and value:
        return SequenceType(_kind(value[0]))
    return OpaqueType()


@lru_cache(maxsize=256)
def _evaluator(proto: bytes, domain: str, opset: int, kinds: tuple[Type, ...]) -> Any:
    """Create an evaluator of a model that contains only this node."""
    import onnx

    node = onnx.NodeProto.FromString(proto)
    inputs = [
        onnx.ValueInfoProto(name=name, type=protos.to_type_proto(t))
        for name, t in zip(node.input, kinds, strict=True)
        if name
    ]
    outputs = [onnx.ValueInfoProto(name=o) for o in node.output if o]
    graph = onnx.GraphProto(name="foreign", input=inputs, output=outputs, node=[node])
    imports = [onnx.helper.make_opsetid(domain, opset)]
    if domain:
        imports.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
    model = onnx.ModelProto(graph=graph, opset_import=imports, ir_version=onnx.IR_VERSION)
    return corrected_evaluator(model)


def _settled(value: Any) -> Any:
    """Convert results to the form of references: arrays, strings as objects, lists of arrays."""
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return [_settled(v) for v in value]
    return as_array(value)


def as_array(value: Any) -> Array:
    """Convert a numpy result, even a single element, to an array; strings become objects."""
    array = np.asarray(value)
    return array.astype(np.object_) if array.dtype.kind in "UST" else array
