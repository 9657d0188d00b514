"""Conversions of the element type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import FUNCTIONS, convert
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.type_rules.requirements import is_one_of, n_elements, traffic


def _is_number(dtype: DType) -> bool:
    return dtype is DType.bool or is_one_of(dtype, "number")


def _require_numbers(op_name: str, *dtypes: DType) -> None:
    for dtype in dtypes:
        require(_is_number(dtype), "E-OP-DTYPE", f"{op_name} does not convert {dtype}")


@op(traits=("integer_preserving",), kind="elementwise", shape_math=True, inplace=())
def cast(x: Tensor, *, to: DType) -> TensorType:
    """Convert every element to another element type.

    Floats are truncated to integers (undefined for NaN and for numbers out of range). In a
    conversion to a shorter integer, the high bits are dropped. In a conversion to a float, numbers
    round to nearest, ties to even. Numbers too large for the type become infinite, or NaN if the
    type has no infinity. In a conversion to bool, all numbers but 0 become true.
    Errors: E-OP-DTYPE for strings and complex numbers.
    Source: ONNX Cast-25 with saturate=0.
    """
    require(isinstance(to, DType), "E-OP-ATTRIBUTE", f"cast needs an element type, got {to!r}")
    _require_numbers("cast", x.dtype, to)
    return TensorType(to, x.type.shape)


@cast.reference
def _(x: Array, *, to: DType) -> Array:
    if x.dtype == np.object_:
        if not is_one_of(to, "integer"):
            raise TypeError("a symbolic size is an integer")
        return x
    with np.errstate(all="ignore"):
        return convert(x, to)


@cast.cost
def _(x: Type, *, out: Type, to: DType) -> Cost:
    return traffic([x], out, n_elements(out))


@cast.lower
def _(k: Lowering, x: Handle, out: Handle, *, to: DType) -> None:
    i = k.axes(out.shape)
    k.assign(out[i], k.convert(x[i], to))


@cast.samples
def _() -> Iterator[tuple[Any, ...]]:
    fractions = np.array([[-2.7, -0.5, 0.0], [0.5, 2.7, 100.9]], np.float32)
    for to in (DType.i64, DType.i8, DType.bool, DType.f64, DType.f16, DType.bf16):
        yield [fractions], {"to": to}
    yield ["i64[2,3,5]"], {"to": DType.f32}
    yield ["bool[5]"], {"to": DType.f32}
    yield ["u8[3,2]"], {"to": DType.i32}
    yield ["f32[0,3]"], {"to": DType.i32}
    yield ["f16[]"], {"to": DType.f32}
    steps = np.array([[-500, -6.3, -0.26, 0.26], [0, 1.07, 2.5, 70000]], np.float64)
    for to in (DType.f8e4m3fn, DType.f8e5m2fnuz, DType.f4e2m1, DType.f8e8m0):
        yield [steps], {"to": to}
    yield ["i32[3,5]"], {"to": DType.i4}
    yield ["u4[3,5]"], {"to": DType.i2}
    yield ["f8e5m2[5,2]"], {"to": DType.f16}


FLOATS_OF_8_BITS = (DType.f8e4m3fn, DType.f8e4m3fnuz, DType.f8e5m2, DType.f8e5m2fnuz)


@op(kind="elementwise", inplace=())
def cast_saturated(x: Tensor, *, to: DType) -> TensorType:
    """Convert to an 8-bit float; numbers beyond the largest float, and infinity, become that float.

    NaN remains NaN; other numbers round to the nearest, halves to even.
    Errors: E-OP-DTYPE for strings and complex numbers, E-OP-ATTRIBUTE for result types that are not
    8-bit floats.
    Source: ONNX Cast-25 with saturate=1.
    """
    fits = to in FLOATS_OF_8_BITS
    require(fits, "E-OP-ATTRIBUTE", f"cast_saturated returns 8-bit floats, not {to}")
    _require_numbers("cast_saturated", x.dtype)
    return TensorType(to, x.type.shape)


def _largest(dtype: DType) -> float:
    return float(ml_dtypes.finfo(dtype.numpy).max)


def _computed_in(dtype: DType) -> DType:
    """Return the float type of a conversion's intermediate results."""
    return DType.f64 if dtype is DType.f64 else DType.f32


@cast_saturated.reference
def _(x: Array, *, to: DType) -> Array:
    wide = convert(x, _computed_in(DType.from_numpy(x.dtype)))
    return convert(np.clip(wide, -_largest(to), _largest(to)), to)


@cast_saturated.cost
def _(x: Type, *, out: Type, to: DType) -> Cost:
    return traffic([x], out, 3 * n_elements(out))


@cast_saturated.lower
def _(k: Lowering, x: Handle, out: Handle, *, to: DType) -> None:
    i = k.axes(out.shape)
    wide = k.convert(x[i], _computed_in(x.dtype))
    k.assign(out[i], k.convert(k.max(k.min(wide, _largest(to)), -_largest(to)), to))


@cast_saturated.samples
def _() -> Iterator[tuple[Any, ...]]:
    edges = [np.nan, np.inf, -np.inf, -0.0, 0.0, 464, -449, 240, 250, 61440, -57344, 1e-3, 0.3]
    for to in FLOATS_OF_8_BITS:
        yield [np.array(edges, np.float32)], {"to": to}
    yield ["f16[2,3,5]"], {"to": DType.f8e4m3fn}
    yield ["f64[0,3]"], {"to": DType.f8e5m2}
    yield [np.array([[70000], [-3], [5]], np.int64)], {"to": DType.f8e5m2}
    yield ["f8e8m0[]"], {"to": DType.f8e4m3fnuz}


@cast_saturated.export
def _(x: Tensor, *, to: DType) -> Operand:
    return standard("Cast", x, to=to)


@op(kind="elementwise", exact=False, inplace=())
def cast_flushed(x: Tensor, *, to: DType) -> TensorType:
    """Convert an f32 to bf16 as processors do, with denormals flushed to 0.

    Numbers that are not denormal round to the nearest, halves to even; numbers too large become
    infinite, and NaN remains NaN.
    Errors: E-OP-DTYPE for operands other than f32, E-OP-ATTRIBUTE for results other than bf16.
    Source: VCVTNEPS2BF16 of Intel's manual.
    """
    require(to is DType.bf16, "E-OP-ATTRIBUTE", f"cast_flushed returns bf16, not {to}")
    require(x.dtype is DType.f32, "E-OP-DTYPE", f"cast_flushed takes f32, got {x.dtype}")
    return TensorType(to, x.type.shape)


@cast_flushed.reference
def _(x: Array, *, to: DType) -> Array:
    return convert(np.asarray(FUNCTIONS["flush"](x)), to)


@cast_flushed.cost
def _(x: Type, *, out: Type, to: DType) -> Cost:
    return traffic([x], out, n_elements(out))


@cast_flushed.lower
def _(k: Lowering, x: Handle, out: Handle, *, to: DType) -> None:
    i = k.axes(out.shape)
    k.assign(out[i], k.convert(k.flush(x[i]), to))


@cast_flushed.samples
def _() -> Iterator[tuple[Any, ...]]:
    edges = [
        np.nan,
        np.inf,
        -np.inf,
        -0.0,
        1e-39,
        -1e-45,
        1.1754942e-38,
        2**-126,
        3.4e38,
        1.00390625,
    ]
    yield [np.array(edges, np.float32)], {"to": DType.bf16}
    yield ["f32[2,3,5]"], {"to": DType.bf16}
    yield ["f32[0,3]"], {"to": DType.bf16}


@cast_flushed.export
def _(x: Tensor, *, to: DType) -> Operand:
    return standard("Cast", x, to=to)


ROUND_MODES = ("up", "down", "nearest")
_LEAST, _MOST = 2.0**-127, 2.0**127


@op(kind="elementwise", inplace=())
def cast_to_power(x: Tensor, *, saturate: bool = True, round_mode: str = "up") -> TensorType:
    """Convert the magnitude of x to f8e8m0, a power of two: rounded up, down, or to the nearest.

    With "nearest", numbers halfway between two powers round up, as do all numbers between the two
    smallest powers. Numbers beyond the range become the largest or smallest power of two with
    `saturate`, else NaN. The sign of a number is dropped; NaN remains NaN.
    Errors: E-OP-DTYPE for strings and complex numbers, E-OP-ATTRIBUTE for an unknown rounding mode.
    Source: ONNX Cast-25; OCP Microscaling Formats 1.0.
    """
    fits = round_mode in ROUND_MODES
    require(fits, "E-OP-ATTRIBUTE", f"cast_to_power rounds up, down or nearest, not {round_mode!r}")
    _require_numbers("cast_to_power", x.dtype)
    return TensorType(DType.f8e8m0, x.type.shape)


@cast_to_power.reference
def _(x: Array, *, saturate: bool, round_mode: str) -> Array:
    size = np.abs(convert(x, _computed_in(DType.from_numpy(x.dtype))))
    if saturate:
        size = np.clip(size, _LEAST, _MOST)
    else:
        size = np.where((size >= _LEAST) & (size <= _MOST), size, np.nan)
    _, exponent = np.frexp(size)  # size = fraction * 2**exponent, fraction in [0.5, 1)
    below = np.ldexp(1.0, exponent - 1)
    match round_mode:
        case "up":
            raised = size > below
        case "down":
            raised = np.zeros_like(size, np.bool_)
        case _:
            raised = np.where(below == _LEAST, size > below, size >= 1.5 * below)
    made = np.where(raised, 2 * below, below)
    return np.where(np.isnan(size), np.nan, made).astype(np.float32).astype(DType.f8e8m0.numpy)


@cast_to_power.cost
def _(x: Type, *, out: Type, saturate: bool, round_mode: str) -> Cost:
    return traffic([x], out, 6 * n_elements(out))


@cast_to_power.lower
def _(k: Lowering, x: Handle, out: Handle, *, saturate: bool, round_mode: str) -> None:
    i = k.axes(out.shape)
    size = k.abs(k.convert(x[i], _computed_in(x.dtype)))
    if saturate:
        size = k.max(k.min(size, _MOST), _LEAST)
    else:
        size = k.where(k.ge(size, _LEAST), size, np.nan)
        size = k.where(k.le(size, _MOST), size, np.nan)
    nearest = k.convert(size, out.dtype)
    power = k.convert(nearest, size.dtype)
    match round_mode:
        case "up":
            made = k.convert(k.where(k.lt(power, size), power * 2.0, power), out.dtype)
        case "down":
            made = k.convert(k.where(k.gt(power, size), power * 0.5, power), out.dtype)
        case _:
            made = nearest
    k.assign(out[i], made)


@cast_to_power.samples
def _() -> Iterator[tuple[Any, ...]]:
    sizes = np.array([0, 1e-40, 2**-126.5, 0.7, 1, 1.4, 1.5, 1.9, 2, 3e38, np.inf, -3], np.float32)
    for round_mode in ROUND_MODES:
        for saturate in (True, False):
            yield [sizes], {"round_mode": round_mode, "saturate": saturate}
    yield ["f16[2,3,5]"], {}
    yield ["f64[0,3]"], {}
    yield [np.array([2.0**40 + 1, 1 - 2.0**-50, 1e-300, np.nan])], {}


@cast_to_power.export
def _(x: Tensor, *, saturate: bool, round_mode: str) -> Operand:
    return standard("Cast", x, to=DType.f8e8m0, saturate=saturate, round_mode=round_mode)


@cast.onnx("Cast", "CastLike")
def _(n: OnnxCall) -> Operand | None:
    x, like = n.operand(0), n.operand(1)
    assert x is not None
    to = like.dtype if like is not None else DType.from_onnx(int(n.required("to")))
    if not (_is_number(x.dtype) and _is_number(to)):
        return None
    if x.dtype is to:
        return x if n.op_type == "CastLike" else cast(x, to=to)
    saturate = bool(n.attr("saturate", 1))
    if to is DType.f8e8m0:
        return cast_to_power(x, saturate=saturate, round_mode=n.attr("round_mode", "up"))
    return (cast_saturated if saturate and to in FLOATS_OF_8_BITS else cast)(x, to=to)


@cast.export
def _(x: Tensor, *, to: DType) -> Operand | None:
    if to is DType.f8e8m0:  # the standard has other rounding modes for powers of two
        return None
    return standard("Cast", x, to=to, saturate=False if to in FLOATS_OF_8_BITS else None)
