"""The types of elements in memory, and conversions between them and the types of values."""

from __future__ import annotations

from compiler.codegen.emitter import Emitter
from compiler.codegen.values import Value, constant, memory_type, value_type
from compiler.ir.types import DType


def suffix(dtype: DType) -> str:
    """Return the suffix of memory intrinsics."""
    kind = memory_type(dtype)
    return {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)


def from_memory(out: Emitter, raw: Value) -> Value:
    """Convert from the type in memory to the type of values."""
    dtype, lanes = raw.dtype, raw.lanes
    kind = memory_type(dtype, lanes)
    if dtype is DType.f16:
        return out.op(f"fpext {kind} {raw.ref} to {raw.type}", dtype, lanes, raw)
    if dtype is DType.bool:
        text = f"icmp ne {kind} {raw.ref}, {constant(0, DType.u8, lanes).ref}"
        return out.op(text, dtype, lanes, raw)
    if dtype is DType.bf16:
        return _widen_bf16(out, raw)
    return raw


def to_memory(out: Emitter, dtype: DType, v: Value) -> str:
    """Convert a value to its type in memory; half-precision values must be rounded already."""
    kind = memory_type(dtype, v.lanes)
    if dtype is DType.f16:
        return out.op(f"fptrunc {v.typed} to {kind}", dtype, v.lanes, v).ref
    if dtype is DType.bool:
        return out.op(f"zext {v.typed} to {kind}", dtype, v.lanes, v).ref
    if dtype is DType.bf16:
        return _narrow_bf16(out, v)
    return v.ref


def reinterpreted(out: Emitter, v: Value, dtype: DType) -> Value:
    """Reinterpret the memory bits of a value as another element type."""
    stored, kind = to_memory(out, v.dtype, v), memory_type(v.dtype, v.lanes)
    text = f"bitcast {kind} {stored} to {memory_type(dtype, v.lanes)}"
    return from_memory(out, out.op(text, dtype, v.lanes, v))


def _widen_bf16(out: Emitter, raw: Value) -> Value:
    lanes = raw.lanes
    wide = value_type(DType.i32, lanes)
    text = f"zext {memory_type(DType.bf16, lanes)} {raw.ref} to {wide}"
    bits = out.op(text, DType.i32, lanes, raw)
    text = f"shl {wide} {bits.ref}, {constant(16, DType.i32, lanes).ref}"
    bits = out.op(text, DType.i32, lanes, bits)
    return out.op(f"bitcast {bits.typed} to {raw.type}", DType.bf16, lanes, bits)


def _narrow_bf16(out: Emitter, v: Value) -> str:
    wide = value_type(DType.i32, v.lanes)
    bits = out.op(f"bitcast {v.typed} to {wide}", DType.i32, v.lanes, v)
    text = f"lshr {wide} {bits.ref}, {constant(16, DType.i32, v.lanes).ref}"
    bits = out.op(text, DType.i32, v.lanes, bits)
    kind = memory_type(DType.bf16, v.lanes)
    return out.op(f"trunc {bits.typed} to {kind}", DType.bf16, v.lanes, bits).ref
