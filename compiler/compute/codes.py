"""Simplification of quantization: provably bounded numbers need no clamps.

    to_u8(min(larger(0, round(y) + z), 255))  to_u8(max(min(to_i32(round(y)) + z, 255), 0))
    to_f32(to_i32(to_u8(...)) - z)            max(min(round(y), 255 - z), -z)

The first rewrite applies if the number y provably fits an i32: one instruction rounds and converts
y, and the saturating store clamps it. If constants imply a bound of y, `within` states this bound.
The second rewrite applies to a quantized number that the same kernel dequantizes. The two rewrites
are exact, since zero points and range limits are integers.
"""

from __future__ import annotations

import math

from compiler.compute.ranges import Largest, number_range
from compiler.compute.scalar import Apply, Convert, Number, Scalar, apply, rewrite
from compiler.dataclass import dataclass
from compiler.ir.types import DType

SMALL = frozenset({DType.u8, DType.i8, DType.u16, DType.i16})

FAR_INSIDE = 2.0**30
"""The bound below which numbers fit an i32 after rounding and addition of a zero point."""


@dataclass(frozen=True, slots=True)
class _Code:
    """A quantized number y: `min(larger(low, round(y) + zero), high)`."""

    number: Scalar
    zero: int
    low: int
    high: int
    dtype: DType


def with_fewer_steps(value: Scalar, largest: Largest) -> Scalar:
    """Rewrite quantization and dequantization in an expression to fewer, equivalent operations."""

    def change(s: Scalar) -> Scalar | None:
        read = _read_again(s)
        if read is not None and number_range(read.number, largest).is_number:
            return _clamped(apply("round", with_fewer_steps(read.number, largest)), read)
        code = _code(s)
        return None if code is None else _made(code, largest)

    return rewrite(value, change)


def _made(code: _Code, largest: Largest) -> Scalar | None:
    found = number_range(code.number, largest)
    size = max(-found.low, found.high)
    if not found.is_finite or size >= FAR_INSIDE:
        return None
    y = with_fewer_steps(code.number, largest)
    if not number_range(y).is_finite:
        y = apply("within", y, float(math.ceil(size)))
    moved: Scalar = Convert(apply("round", y), DType.i32)
    if code.zero:
        moved = apply("add", moved, code.zero)
    inside = apply("max", apply("min", moved, code.high), code.low)
    return Convert(inside, code.dtype)


def _clamped(y: Scalar, code: _Code) -> Scalar:
    """Clamp y to the limits of the quantized range, each minus the zero point."""
    high, low = float(code.high - code.zero), float(code.low - code.zero)
    return apply("max", apply("min", y, high), low)


def _read_again(s: Scalar) -> _Code | None:
    """Match an expression that subtracts the zero point from a quantized number."""
    match s:
        case Convert(Apply("sub", (Convert(codes, DType.i32), z), DType.i32), DType.f32):
            zero = _whole(z)
        case Convert(codes, DType.f32):
            zero = 0
        case _:
            return None
    code = _code(codes)
    return code if code is not None and code.zero == zero else None


def _code(s: Scalar) -> _Code | None:
    match s:
        case Convert(
            Apply("min", (Apply("larger", (Number(low), moved), DType.f32), Number(high))), dtype
        ) if dtype in SMALL:
            pass
        case _:
            return None
    match moved:
        case Apply("round", (y,)):
            zero = 0
        case Apply("add", (Apply("round", (y,)), z)):
            zero = _whole(z)
        case _:
            return None
    return None if zero is None else _Code(y, zero, int(low), int(high), dtype)


def _whole(s: Scalar) -> int | None:
    """Match an integer literal of any type."""
    while isinstance(s, Convert):
        s = s.arg
    return int(s.value) if isinstance(s, Number) and s.dtype.is_integer else None
