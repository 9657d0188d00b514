"""Conversion of attributes of `export` facets to AttributeProtos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.errors import require
from compiler.ir.types import DType
from compiler.ops import protos


def attribute_protos(op_type: str, attrs: Mapping[str, Any], schema: Any) -> list[Any]:
    """Convert the attributes of a standard node to AttributeProtos of the kinds in its schema.

    Default values are omitted. ONNX Runtime's fusions copy explicit attributes to operators of ONNX
    Runtime, and some of these operators reject the attributes.
    Errors: E-EXPORT-OPSET for an attribute that this version of the operator lacks.
    """
    made: list[Any] = []
    for name, value in attrs.items():
        if value is not None:
            stated = schema.attributes.get(name) if schema is not None else None
            require(
                schema is None or stated is not None,
                "E-EXPORT-OPSET",
                f"{op_type} has no attribute {name!r} in this version of the standard",
            )
            proto = _proto(name, value, None if stated is None else int(stated.type))
            if stated is None or not _is_default(proto, value, stated):
                made.append(proto)
    return made


NEUTRAL = {"dilations": 1, "strides": 1, "pads": 0}
"""Default elements of list attributes, which schemas state only in prose."""


def _is_default(proto: Any, value: Any, stated: Any) -> bool:
    if stated.required:
        return False
    if proto.name in NEUTRAL:
        return all(v == NEUTRAL[proto.name] for v in value)
    proto_of_default = stated.default_value
    return bool(proto_of_default.type) and proto_of_default == proto


def _proto(name: str, value: Any, kind: int | None) -> Any:
    import onnx

    kinds = onnx.AttributeProto
    if isinstance(value, np.ndarray):
        return kinds(name=name, type=kinds.TENSOR, t=protos.to_tensor_proto(value))
    if isinstance(value, DType):
        value = value.onnx
    kind = kind or _kind_of(value)
    proto = kinds(name=name, type=kinds.AttributeType.Name(kind))
    if kind == kinds.INT:
        proto.i = int(value)
    elif kind == kinds.FLOAT:
        proto.f = float(value)
    elif kind == kinds.STRING:
        proto.s = value.encode()
    elif kind == kinds.INTS:
        proto.ints.extend(map(int, value))
    elif kind == kinds.FLOATS:
        proto.floats.extend(map(float, value))
    elif kind == kinds.STRINGS:
        proto.strings.extend(v.encode() for v in value)
    else:
        raise AssertionError(f"{name}: attributes of kind {kind} are not supported")
    return proto


def _kind_of(value: Any) -> int:
    import onnx

    kinds = onnx.AttributeProto
    plain = {bool: kinds.INT, int: kinds.INT, float: kinds.FLOAT, str: kinds.STRING}
    if type(value) in plain:
        return plain[type(value)]
    first = value[0] if value else 0
    return {float: kinds.FLOATS, str: kinds.STRINGS}.get(type(first), kinds.INTS)
