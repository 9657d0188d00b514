"""Conversions between element types, and the rounding of half-precision numbers.

Source: numpy's casting and ONNX Cast. Floats out of the range of an integer type saturate at 32 or
64 bits, then wrap. `storage.py` converts storage-only types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.codegen.arithmetic.storage import load_wide, store_narrow
from compiler.codegen.values import HALF, Value, constant, mangled, value_type
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic


def _same(like: Value, number: float | int) -> Value:
    return constant(number, like.dtype, like.lanes)


def rounded(a: Arithmetic, v: Value) -> Value:
    """Round an f32 result to half precision; return other types unchanged."""
    if v.dtype not in HALF or v.is_constant:
        return v
    out, lanes = a.out, v.lanes
    if v.dtype is DType.f16:
        half = f"<{lanes} x half>" if lanes else "half"
        narrow = out.op(f"fptrunc {v.typed} to {half}", v.dtype, lanes, v)
        return out.op(f"fpext {half} {narrow.ref} to {v.type}", v.dtype, lanes, narrow)
    i32 = DType.i32
    bits = out.reinterpret(v, i32)
    odd = a.two("and", a.two("lshr", bits, _same(bits, 16)), _same(bits, 1))
    nearest = a.two("add", a.two("add", bits, _same(bits, 0x7FFF)), odd)
    quiet = a.two("or", bits, _same(bits, 0x400000))
    is_nan = a.out.op(f"fcmp uno {v.typed}, {v.ref}", DType.bool, lanes, v)
    kept = a.two("and", out.select(is_nan, quiet, nearest), _same(bits, -65536))
    return out.reinterpret(kept, v.dtype)


def to_bf16(a: Arithmetic, v: Value) -> Value:
    """Round an f32 to bf16 by one processor instruction, which flushes denormals to 0."""
    out, lanes = a.out, v.lanes
    if v.is_constant:
        return convert(a, v, DType.bf16)
    kind = f"<{lanes} x bfloat>" if lanes else "bfloat"
    short = out.op(f"fptrunc {v.typed} to {kind}", DType.bf16, lanes, v)
    bits = value_type(DType.u16, lanes)
    found = out.op(f"bitcast {kind} {short.ref} to {bits}", DType.u16, lanes, short)
    wide = _integer_to_integer(a, found, DType.u32)
    return out.reinterpret(a.two("shl", wide, _same(wide, 16)), DType.bf16)


def convert(a: Arithmetic, v: Value, dtype: DType) -> Value:
    """Convert a value to another element type.

    Floats that do not fit an integer saturate at 32 or 64 bits and then wrap; NaN becomes 0.
    """
    if v.dtype is dtype:
        return v
    if v.dtype.is_storage:
        return convert(a, load_wide(a, v), dtype)
    if dtype.is_storage:
        return store_narrow(a, _before_storing(a, v, dtype.wide), dtype)
    if v.dtype.is_float:
        if dtype.is_float:
            return _float_to_float(a, v, dtype)
        return _from_float(a, v, dtype)
    if dtype is DType.bool:
        return a.test("icmp ne", v, _same(v, 0))
    if dtype.is_float:
        signed = v.dtype.label[0] == "i"
        kind = value_type(dtype, v.lanes)
        text = f"{'s' if signed else 'u'}itofp {v.typed} to {kind}"
        return rounded(a, a.out.op(text, dtype, v.lanes, v))
    return _integer_to_integer(a, v, dtype)


def _before_storing(a: Arithmetic, v: Value, wide: DType) -> Value:
    """Convert a value to the type from which `store_narrow` rounds to the storage type."""
    if v.dtype is DType.f64 and wide is DType.f32:
        kind = value_type(wide, v.lanes)
        return _to_odd(a, v, a.out.op(f"fptrunc {v.typed} to {kind}", wide, v.lanes, v))
    return convert(a, v, wide)


def _integer_to_integer(a: Arithmetic, v: Value, dtype: DType) -> Value:
    kind = value_type(dtype, v.lanes)
    from_bits = 1 if v.dtype is DType.bool else v.dtype.bits
    if from_bits == dtype.bits:
        return Value(v.ref, dtype, v.lanes, v.level)
    if from_bits > dtype.bits:
        operation = "trunc"
    else:
        operation = "sext" if v.dtype.label[0] == "i" else "zext"
    return a.out.op(f"{operation} {v.typed} to {kind}", dtype, v.lanes, v)


def _float_to_float(a: Arithmetic, v: Value, dtype: DType) -> Value:
    kind = value_type(dtype, v.lanes)
    if kind == v.type:
        return rounded(a, Value(v.ref, dtype, v.lanes, v.level))
    if dtype is DType.f64:
        return a.out.op(f"fpext {v.typed} to {kind}", dtype, v.lanes, v)
    made = a.out.op(f"fptrunc {v.typed} to {kind}", DType.f32, v.lanes, v)
    if dtype is DType.f32:
        return made
    made = _to_odd(a, v, made)
    return rounded(a, Value(made.ref, dtype, v.lanes, made.level))


def _to_odd(a: Arithmetic, exact: Value, nearest: Value) -> Value:
    """Round an f64 to f32 by round-to-odd: truncate, and set the last bit if inexact.

    A second rounding, to half precision, then gives the result of a single rounding from f64.
    Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008.
    """
    lanes, i32 = nearest.lanes, DType.i32
    back = a.out.op(f"fpext {nearest.typed} to {exact.type}", DType.f64, lanes, nearest)
    inexact = a.test("fcmp une", back, exact)
    further = a.test("fcmp ogt", a.intrinsic("fabs", back), a.intrinsic("fabs", exact))
    bits = a.out.reinterpret(nearest, i32)
    bits = a.out.select(further, a.two("sub", bits, _same(bits, 1)), bits)
    bits = a.out.select(inexact, a.two("or", bits, _same(bits, 1)), bits)
    return a.out.reinterpret(bits, DType.f32)


def _from_float(a: Arithmetic, v: Value, dtype: DType) -> Value:
    if dtype is DType.bool:
        return a.test("fcmp une", v, _same(v, 0.0))
    if dtype is DType.u64:
        return _float_to_u64(a, v)
    wide = DType.i64 if dtype in (DType.i64, DType.u32) else DType.i32
    found = _saturated(a, v, wide, "s")
    return _integer_to_integer(a, found, dtype)


def _saturated(a: Arithmetic, v: Value, dtype: DType, sign: str) -> Value:
    """Truncate a float to an integer type, with saturation; NaN gives 0."""
    if not a.is_x86:
        name = f"llvm.fpto{sign}i.sat.{mangled(dtype, v.lanes)}.{mangled(v.dtype, v.lanes)}"
        return a.out.call(name, dtype, v.lanes, v)
    # LLVM scalarises the saturating intrinsic on x86. So the code converts without saturation, and
    # then corrects the result.
    text = f"fpto{sign}i {v.typed} to {value_type(dtype, v.lanes)}"
    made = a.out.op(text, dtype, v.lanes, v)
    low = -(1 << (dtype.bits - 1)) if sign == "s" else 0
    end = 1 << (dtype.bits - (sign == "s"))
    too_large = a.test("fcmp oge", v, _same(v, float(end)))
    made = a.out.select(too_large, _same(made, end - 1), made)
    too_small = a.test("fcmp olt", v, _same(v, float(low)))
    made = a.out.select(too_small, _same(made, low), made)
    return a.out.select(a.test("fcmp uno", v, v), _same(made, 0), made)


def _float_to_u64(a: Arithmetic, v: Value) -> Value:
    negative = a.test("fcmp olt", v, _same(v, 0.0))
    wrapped = _integer_to_integer(a, _saturated(a, v, DType.i64, "s"), DType.u64)
    return a.out.select(negative, wrapped, _saturated(a, v, DType.u64, "u"))
