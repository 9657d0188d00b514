"""Values of generated code: SSA names with an element type and a number of lanes.

Half-precision values (f16, bf16) are f32 between load and store, and are rounded after every
operation. A bool is an i1 as a value, and a byte of 0 or 1 in memory. A float of at most 8 bits, or
an integer of fewer than 8 bits, is represented by its byte in memory. Any operation first converts
this byte.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.ir.types import DType

HALF = frozenset({DType.f16, DType.bf16})

_VALUE_TYPES = {
    "f32": "float", "f64": "double", "f16": "float", "bf16": "float", "bool": "i1",
    "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64",
    "u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64",
    **{d.label: "i8" for d in DType if d.is_storage},
}  # fmt: skip

_MEMORY_TYPES = _VALUE_TYPES | {"f16": "half", "bf16": "i16", "bool": "i8"}


class Value(NamedTuple):
    """One SSA value. `lanes` is 0 for a scalar; `level` is the loop depth of the definition."""

    ref: str
    dtype: DType
    lanes: int = 0
    level: int = 0

    @property
    def type(self) -> str:
        """The LLVM type."""
        return value_type(self.dtype, self.lanes)

    @property
    def typed(self) -> str:
        """The type and the name, as in the operands of calls."""
        return f"{value_type(self.dtype, self.lanes)} {self.ref}"

    @property
    def is_constant(self) -> bool:
        """Return whether this is a literal."""
        return self.ref[0] != "%"


def vector_of(element: str, lanes: int) -> str:
    """Return the LLVM type of `lanes` elements; for 0 lanes, the type of the element."""
    return f"<{lanes} x {element}>" if lanes else element


def value_type(dtype: DType, lanes: int = 0) -> str:
    """Return the LLVM type of values of an element type."""
    element = _VALUE_TYPES[dtype.label]
    return f"<{lanes} x {element}>" if lanes else element


def memory_type(dtype: DType, lanes: int = 0) -> str:
    """Return the LLVM type of elements in memory."""
    element = _MEMORY_TYPES[dtype.label]
    return f"<{lanes} x {element}>" if lanes else element


def mangled(dtype: DType, lanes: int = 0) -> str:
    """Return the suffix of overloaded intrinsics for values of this type, such as `v16f32`."""
    element = _VALUE_TYPES[dtype.label]
    element = {"float": "f32", "double": "f64"}.get(element, element)
    return f"v{lanes}{element}" if lanes else element


def literal(value: Any, dtype: DType) -> str:
    """Print a number in LLVM's syntax, rounded to the element type."""
    if dtype is DType.bool:
        return "true" if value else "false"
    if dtype.is_storage:
        # ml_dtypes stores integers of fewer than 8 bits in the low bits of a byte; the other bits
        # are 0.
        value = np.asarray(value).astype(dtype.numpy).reshape(1).view(np.int8)[0]
    if dtype.is_integer or dtype.is_storage:
        bits = 8 * dtype.nbytes
        n = int(value) & ((1 << bits) - 1)
        return str(n - (1 << bits) if n >> (bits - 1) else n)
    x = float(value)
    if dtype is DType.f32:
        x = nearest_f32(x)
    elif dtype in HALF:
        with np.errstate(over="ignore"):
            x = float(np.asarray(x).astype(dtype.numpy).astype(np.float32))
    if math.isnan(x):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def nearest_f32(x: float) -> float:
    """Round a number to f32; numbers out of range become infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def constant(value: Any, dtype: DType, lanes: int = 0) -> Value:
    """Return a literal, broadcast to all lanes."""
    text = literal(value, dtype)
    if lanes:
        text = f"splat ({value_type(dtype)} {text})"
    return Value(text, dtype, lanes)


def constant_lanes(values: Sequence[float], dtype: DType) -> Value:
    """Return a literal vector of numbers, one per lane."""
    element = value_type(dtype)
    text = ", ".join(f"{element} {literal(v, dtype)}" for v in values)
    return Value(f"<{text}>", dtype, len(values))


def power_of_two(n: int) -> int:
    """Round up to a power of two."""
    return 1 << max(n - 1, 0).bit_length()
