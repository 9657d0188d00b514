"""Conversion of provably bounded floats to small integers without range checks.

Quantization ends with `min(larger(0, x), 255)`, so the operand of the conversion is never out of
range.
"""

from __future__ import annotations

from compiler.codegen.arithmetic.convert import convert
from compiler.codegen.arithmetic.functions import Arithmetic
from compiler.codegen.values import Value, mangled, value_type
from compiler.compute.ranges import number_range
from compiler.compute.scalar import Apply, Scalar
from compiler.ir.types import DType

NARROW = frozenset({DType.u8, DType.i8, DType.u16, DType.i16})
"""The integer types narrower than i32; NaN becomes an i32 with low bits of 0, and then 0."""

LIMIT = 2.0**31 - 2.0**8
"""The magnitude below which a number fits an i32, even after rounding to f32."""


def is_bounded(s: Scalar, dtype: DType) -> bool:
    """Return whether an f32 provably is NaN or fits an i32."""
    if dtype not in NARROW or s.dtype is not DType.f32:
        return False
    found = number_range(s)
    return -LIMIT < found.low and found.high < LIMIT


def is_rounded(s: Scalar, dtype: DType) -> bool:
    """Return whether an f32 is rounded to an integer and provably fits an i32."""
    if dtype is not DType.i32 or s.dtype is not DType.f32:
        return False
    match s:
        case Apply("round", (y,)):
            found = number_range(y)
            return found.is_finite and -LIMIT < found.low and found.high < LIMIT
        case _:
            return False


def narrowed(a: Arithmetic, v: Value, dtype: DType) -> Value:
    """Convert a bounded f32 to a small integer, truncated towards zero; NaN gives 0."""
    if not a.is_x86:
        return convert(a, v, dtype)
    text = f"fptosi {v.typed} to {value_type(DType.i32, v.lanes)}"
    return convert(a, a.out.op(text, DType.i32, v.lanes, v), dtype)


def nearest(a: Arithmetic, v: Value) -> Value:
    """Round an f32 in the range of i32 to the nearest integer, ties to even."""
    dtype = DType.i32
    if a.is_x86:
        name = f"llvm.lrint.{mangled(dtype, v.lanes)}.{mangled(v.dtype, v.lanes)}"
        return a.out.call(name, dtype, v.lanes, v)
    whole = a.intrinsic("roundeven", v)
    text = f"fptosi {whole.typed} to {value_type(dtype, v.lanes)}"
    return a.out.op(text, dtype, v.lanes, whole)
