"""Floats that are bounded as they are written become small integers without any test.

Quantizing ends with `max(min(x, 255), 0)`, so what the instruction does with numbers that no
integer holds does not matter.
"""

from __future__ import annotations

import math

from compiler.codegen.arithmetic import Arithmetic
from compiler.codegen.convert import convert
from compiler.codegen.values import Value, value_type
from compiler.compute.scalar import Apply, Convert, Number, Scalar
from compiler.ir.types import DType

NARROW = frozenset({DType.u8, DType.i8, DType.u16, DType.i16})
"""Types of which the lower bits of what an instruction gives for NaN are 0."""


def is_bounded(s: Scalar, dtype: DType) -> bool:
    """Whether an f32 certainly fits a small integer, unless it is not a number."""
    if dtype not in NARROW or s.dtype is not DType.f32:
        return False
    low, high = bounds(s)
    return -(2.0**31) < low and high < 2.0**31


def bounds(s: Scalar) -> tuple[float, float]:
    """The smallest and largest number that an expression of floats can be by how it is written."""
    match s:
        case Number(value):
            return (float(value), float(value)) if not math.isnan(value) else _ANY
        case Convert(arg, DType.f32) if arg.dtype in NARROW:
            signed = arg.dtype.label.startswith("i")
            top = float(1 << (arg.dtype.bits - signed))
            return (-top if signed else 0.0, top)
        case Apply("max" | "min" as fn, (a, b)):
            (low, high), (other_low, other_high) = bounds(a), bounds(b)
            pick = max if fn == "max" else min
            return pick(low, other_low), pick(high, other_high)
        case _:
            return _ANY


_ANY = (-math.inf, math.inf)


def narrowed(a: Arithmetic, v: Value, dtype: DType) -> Value:
    """A bounded f32 as a small integer, cut off towards zero; NaN as 0."""
    if not a.is_x86:
        return convert(a, v, dtype)
    text = f"fptosi {v.typed} to {value_type(DType.i32, v.lanes)}"
    return convert(a, a.out.op(text, DType.i32, v.lanes, v), dtype)
