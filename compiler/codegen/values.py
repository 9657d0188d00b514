"""Values of generated code: SSA names with an element type and a number of lanes.

Half-precision values (f16, bf16) live in f32 between load and store and are rounded after every
operation; a bool is one bit in values and a byte of 0 or 1 in memory.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from compiler.ir.types import DType

HALF = frozenset({DType.f16, DType.bf16})

_VALUE_TYPES = {
    DType.f32: "float", DType.f64: "double", DType.f16: "float", DType.bf16: "float",
    DType.bool: "i1", DType.i8: "i8", DType.i16: "i16", DType.i32: "i32", DType.i64: "i64",
    DType.u8: "i8", DType.u16: "i16", DType.u32: "i32", DType.u64: "i64",
}  # fmt: skip

_MEMORY_TYPES = _VALUE_TYPES | {DType.f16: "half", DType.bf16: "i16", DType.bool: "i8"}


@dataclass(frozen=True, slots=True)
class Value:
    """One SSA value. `lanes` is 0 for a scalar; `level` is the loop depth where it is defined."""

    ref: str
    dtype: DType
    lanes: int = 0
    level: int = 0

    @property
    def type(self) -> str:
        """LLVM type."""
        return value_type(self.dtype, self.lanes)

    @property
    def typed(self) -> str:
        """Type and name, as operands of calls are written."""
        return f"{value_type(self.dtype, self.lanes)} {self.ref}"

    @property
    def is_constant(self) -> bool:
        """Whether this is a literal."""
        return self.ref[0] != "%"


@cache
def vector_of(element: str, lanes: int) -> str:
    """The LLVM type of `lanes` elements; the element itself for 0 lanes."""
    return f"<{lanes} x {element}>" if lanes else element


@cache
def value_type(dtype: DType, lanes: int = 0) -> str:
    """LLVM type of values of an element type."""
    return vector_of(_VALUE_TYPES[dtype], lanes)


@cache
def memory_type(dtype: DType, lanes: int = 0) -> str:
    """LLVM type of elements in memory."""
    return vector_of(_MEMORY_TYPES[dtype], lanes)


@cache
def mangled(dtype: DType, lanes: int = 0) -> str:
    """The suffix of overloaded intrinsics for values of this type, such as `v16f32`."""
    element = {"float": "f32", "double": "f64"}.get(_VALUE_TYPES[dtype], _VALUE_TYPES[dtype])
    return f"v{lanes}{element}" if lanes else element


def literal(value: Any, dtype: DType) -> str:
    """A number as LLVM writes it, rounded to the element type."""
    if dtype is DType.bool:
        return "true" if value else "false"
    if dtype.is_integer:
        bits = dtype.bits
        n = int(value) & ((1 << bits) - 1)
        return str(n - (1 << bits) if n >> (bits - 1) else n)
    x = float(value)
    if dtype is not DType.f64:
        with np.errstate(over="ignore"):
            x = float(np.asarray(x).astype(dtype.numpy).astype(np.float32))
    if math.isnan(x):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def constant(value: Any, dtype: DType, lanes: int = 0) -> Value:
    """A literal value, the same in every lane."""
    text = literal(value, dtype)
    if lanes:
        text = f"splat ({value_type(dtype)} {text})"
    return Value(text, dtype, lanes)


def constant_lanes(values: list[int], dtype: DType) -> Value:
    """A literal vector of integers, one per lane."""
    element = value_type(dtype)
    text = ", ".join(f"{element} {literal(v, dtype)}" for v in values)
    return Value(f"<{text}>", dtype, len(values))


def power_of_two(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()
