"""Declarations of malformed models: a function that returns the bytes, and the expected error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import pytest

from tests.onnx_models import F32, model, node

Maker = Callable[[], bytes]
CASES: list[Any] = []


def case(code: str, mentions: str = "") -> Callable[[Maker], Maker]:
    """Register a function that returns bytes, with the error code and a word of the message."""

    def register(make: Maker) -> Maker:
        CASES.append(pytest.param(make, code, mentions, id=make.__name__))
        return make

    return register


def relu(**rest: Any) -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"], name="act")], **rest)


def changed(made: onnx.ModelProto, change: Callable[[onnx.ModelProto], Any]) -> bytes:
    change(made)
    return made.SerializeToString()


def with_stored(t: onnx.TensorProto) -> bytes:
    t.name = "w"
    return model([node("Add", ["x", "w"], ["y"])], initialisers=[t]).SerializeToString()


def tensor_message(dims: list[int], dtype: int = F32, **fields: Any) -> onnx.TensorProto:
    return onnx.TensorProto(dims=dims, data_type=dtype, **fields)


def field_bytes(number: int, content: bytes) -> bytes:
    """Return one length-delimited protobuf field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
