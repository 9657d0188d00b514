"""Quantization and dequantization: small integers or short floats with a scale.

A scale and a zero point apply to a whole tensor, or to each index or block of indices along one
axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import convert
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.elementwise.cast import FLOATS_OF_8_BITS
from compiler.ops.type_rules.requirements import (
    is_one_of,
    n_elements,
    normal_axis,
    require_size,
    traffic,
)

_WHOLE_BYTES = {DType.u8, DType.i8, DType.u16, DType.i16}
QUANTIZED = frozenset(_WHOLE_BYTES | {d for d in DType if d.is_storage} - {DType.f8e8m0})
"""The types to which numbers can be quantized; i32 can only be dequantized."""


def limits(dtype: DType) -> tuple[float, float]:
    """Return the smallest and the largest number of a quantized type."""
    info = ml_dtypes.iinfo(dtype.numpy) if dtype.is_integer else ml_dtypes.finfo(dtype.numpy)
    return float(info.min), float(info.max)


# The scale of an element


def _is_single(parameter: Tensor | Handle | Array) -> bool:
    """Return whether a scale or zero point applies to the whole tensor."""
    return all(n == 1 for n in parameter.shape) and len(parameter.shape) <= 1


def _check_parameters(
    op_name: str, x: Tensor, scale: Tensor, zero: Tensor | None, axis: int, block_size: int
) -> None:
    """Check scales and zero points. Errors: E-OP-SHAPE, E-OP-AXIS, E-OP-ATTRIBUTE."""
    if x.type.shape is None or scale.type.shape is None:
        return
    require(block_size >= 0, "E-OP-ATTRIBUTE", f"a block size cannot be negative: {block_size}")
    if zero is not None and zero.type.shape is not None and not _is_single(zero):
        fits = zero.rank == scale.rank
        message = f"scales {scale.type} and zero points {zero.type} differ in rank"
        require(fits, "E-OP-SHAPE", message)
        for found, needed in zip(zero.shape, scale.shape, strict=True):
            require_size(op_name, "zero points", found, needed)
    if _is_single(scale):
        return
    if scale.rank == 1 and not block_size:
        at = _axis(axis, x.rank)
        require_size(op_name, f"scales along axis {at}", scale.shape[0], x.shape[at])
        return
    fits = block_size > 0 and scale.rank == x.rank
    message = f"{op_name} needs a scale per tensor, index or block, got {scale.type}"
    require(fits, "E-OP-SHAPE", f"{message} for {x.type}, blocks of {block_size}")
    at = _axis(axis, x.rank)
    for d, (found, n) in enumerate(zip(scale.shape, x.shape, strict=True)):
        needed = affine.floordiv(n + block_size - 1, block_size) if d == at else n
        require_size(op_name, f"scales along axis {d}", found, needed)


def _axis(axis: int, rank: int) -> int:
    """Return the axis along which scales vary; for a vector, axis 0."""
    return 0 if rank == 1 else normal_axis(axis, rank)


def _spread(parameter: Array, shape: Sequence[int], axis: int, block_size: int) -> Array:
    """Broadcast a scale or zero point to every element."""
    if _is_single(parameter):
        return parameter.reshape(())
    at = _axis(axis, len(shape))
    if parameter.ndim == 1 and not block_size:
        return parameter.reshape([-1 if d == at else 1 for d in range(len(shape))])
    # np.repeat would need far more memory for a block that is far longer than its axis.
    return np.take(parameter, np.arange(shape[at]) // block_size, at)


def _belonging(parameter: Handle, index: Sequence[Expr], axis: int, block_size: int) -> Scalar:
    """Return the scale or zero point of the element at an index."""
    if _is_single(parameter):
        return parameter[(0,) * parameter.rank]
    at = _axis(axis, len(index))
    if parameter.rank == 1 and not block_size:
        return parameter[index[at]]
    places = [affine.floordiv(i, block_size) if d == at else i for d, i in enumerate(index)]
    return parameter[places]


# Quantizing


@op(traits=("quantized",), kind="elementwise", inplace=())
def quantize(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    to: DType,
    precision: DType,
    axis: int = 1,
    block_size: int = 0,
    saturate: bool = True,
) -> TensorType:
    """Divide by a scale, round to the nearest integer, add a zero point, and saturate.

    Halves round to even. NaN becomes the smallest integer, as in ONNX Runtime; ONNX does not define
    it. The division is computed in the element type `precision`. If `to` is a
    short float type, numbers are rounded to this type, and saturate at its largest number. 8-bit
    floats saturate only with `saturate`, and have the zero point 0.
    Shapes: let D be the size of x along `axis`. scale and zero are scalars, have the shape [D], or
    have the shape of x with ceil(D / block_size) instead of D.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-AXIS, E-OP-ATTRIBUTE.
    Source: ONNX QuantizeLinear-25.
    """
    require(is_one_of(x.dtype, "number"), "E-OP-DTYPE", f"quantize does not take {x.dtype}")
    require(is_one_of(scale.dtype, "number"), "E-OP-DTYPE", f"a scale cannot be {scale.dtype}")
    require(to in QUANTIZED, "E-OP-ATTRIBUTE", f"quantize cannot return {to}")
    is_precise = isinstance(precision, DType) and precision.is_float and not precision.is_storage
    require(is_precise, "E-OP-ATTRIBUTE", f"quantize does not divide in {precision}")
    if zero is not None:
        fits = zero.dtype is to
        require(fits, "E-OP-DTYPE", f"zero points of {to} must be {to}, got {zero.dtype}")
    _check_parameters("quantize", x, scale, zero, axis, block_size)
    return TensorType(to, x.type.shape)


@quantize.reference
def _(
    x: Array,
    scale: Array,
    zero: Array | None = None,
    *,
    to: DType,
    precision: DType,
    axis: int,
    block_size: int,
    saturate: bool,
) -> Array:
    scales = convert(_spread(scale, x.shape, axis, block_size), precision)
    ratio = np.asarray(convert(x, precision) / scales).astype(precision.numpy)
    value = (np.rint(ratio) if to.is_integer else ratio).astype(np.float64)
    if zero is not None and to not in FLOATS_OF_8_BITS:
        value = value + _spread(zero, x.shape, axis, block_size).astype(np.float64)
    if saturate or to not in FLOATS_OF_8_BITS:
        value = clamped(value, to)
    return convert(np.asarray(value), to).reshape(x.shape)


def clamped(value: Array, to: DType) -> Array:
    """Clamp f64 numbers to the limits of a quantized type; NaN becomes the smallest integer."""
    low, high = limits(to)
    # fmax ignores NaN. Short floats may have a NaN of their own.
    return np.asarray(np.minimum((np.fmax if to.is_integer else np.maximum)(value, low), high))


@quantize.cost
def _(x: Type, scale: Type, zero: Type | None = None, *, out: Type, to: DType, **_: Any) -> Cost:
    return traffic([x, scale, zero], out, 5 * n_elements(out))


@quantize.lower
def _(
    k: Lowering,
    x: Handle,
    scale: Handle,
    zero: Handle | None,
    out: Handle,
    *,
    to: DType,
    precision: DType,
    axis: int,
    block_size: int,
    saturate: bool,
) -> None:
    i = k.axes(out.shape)
    divisor = k.convert(_belonging(scale, i, axis, block_size), precision)
    ratio = k.convert(x[i], precision) / divisor
    origin = None if zero is None else _belonging(zero, i, axis, block_size)
    if to in FLOATS_OF_8_BITS and not saturate:
        k.assign(out[i], k.convert(ratio, to))
    else:
        k.assign(out[i], saturated(k, ratio, origin, to))


def saturated(k: Lowering, ratio: Scalar, zero: Scalar | None, to: DType) -> Scalar:
    """Quantize the quotient of a number and its scale: round, add the zero point, and saturate."""
    work = DType.f64 if ratio.dtype is DType.f64 else DType.f32
    value = k.convert(k.round(ratio) if to.is_integer else ratio, work)
    if zero is not None and to not in FLOATS_OF_8_BITS:
        value = value + k.convert(zero, work)
    low, high = limits(to)
    if to.is_integer:
        return k.convert(k.min(k.larger(low, value), high), to)
    return k.convert(k.max(k.min(value, high), low), to)


@quantize.samples
def _() -> Iterator[tuple[Any, ...]]:
    def to(dtype: DType, **attrs: Any) -> dict[str, Any]:
        return {"to": dtype, "precision": DType.f32, **attrs}

    halves = np.array([[-2.5, -0.5, 0.5, 1.5, 2.5], [np.inf, -np.inf, 99, 3e9, -0.0]], np.float32)
    one, tenth = np.array(1, np.float32), np.array([0.1, 0.2, 0.3], np.float32)
    yield [halves, one, np.array(127, np.uint8)], to(DType.u8)
    yield [halves, one, np.array(-3, np.int8)], to(DType.i8)
    yield [halves, one], to(DType.i16)
    yield ["f32[2,3,5]", tenth, np.array([3, 5, 250], np.uint8)], to(DType.u8)
    yield ["f32[2,5,3]", tenth], to(DType.i8, axis=-1)
    blocks = np.arange(1, 13, dtype=np.float32).reshape(2, 3, 2) / 7
    yield ["f32[2,8,2]", blocks], to(DType.i8, block_size=3)
    yield ["f32[3,4]", one, np.array(1).astype(DType.i4.numpy)], to(DType.i4)
    yield ["f32[3,4]", one, np.array(2).astype(DType.u2.numpy)], to(DType.u2)
    edges = np.array([464, -500, 0.3, -0.0, np.nan, np.inf], np.float32)
    for dtype in (*FLOATS_OF_8_BITS, DType.f4e2m1, DType.f6e2m3):
        yield [edges, one], to(dtype)
    yield [edges, one], to(DType.f8e5m2, saturate=False)
    yield [edges, one, np.array(-3, np.int8)], to(DType.i8)
    yield [edges, one, np.array(500, np.uint16)], to(DType.u16)
    yield [edges, one], to(DType.i4)
    yield ["f16[2,3]", np.array(0.03, np.float16)], to(DType.i8, precision=DType.f16)
    yield ["i32[2,3]", one], to(DType.u8)
    yield ["f32[0,3]", tenth], to(DType.u8)


@quantize.onnx("QuantizeLinear", "com.microsoft:QuantizeLinear")
def _(n: OnnxCall) -> Operand | None:
    x, scale, zero = n.operand(0), n.operand(1), n.operand(2)
    assert x is not None
    assert scale is not None
    stated = int(n.attr("output_dtype", 0))
    to = zero.dtype if zero is not None else DType.from_onnx(stated) if stated else DType.u8
    if to not in QUANTIZED or (stated and DType.from_onnx(stated) is not to):
        return None
    wanted = int(n.attr("precision", 0))
    precision = DType.from_onnx(wanted) if wanted else scale.dtype
    if not precision.is_float or precision.is_storage:
        precision = x.dtype.wide if x.dtype.is_float else DType.f32
    return quantize(
        x,
        scale,
        zero,
        to=to,
        precision=precision,
        saturate=bool(n.attr("saturate", 1)),
        **granularity(n, scale),
    )


@quantize.export
def _(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    to: DType,
    precision: DType,
    axis: int,
    block_size: int,
    saturate: bool,
) -> Operand:
    """Export with a zero point even if it is 0: its type determines the result type."""
    point: Operand = zero
    if zero is None and scale.type.is_static:
        point = np.zeros(scale.type.static_shape, to.numpy)
    return standard(
        "QuantizeLinear",
        x,
        scale,
        point,
        axis=axis,
        block_size=block_size or None,
        saturate=None if saturate else False,
        precision=None if precision is scale.dtype else precision,
        output_dtype=to if point is None else None,
    )


def granularity(n: OnnxCall, scale: Tensor) -> dict[str, int]:
    """Return the attributes for the axis of the scales; scales before opset 13 had no axis."""
    if scale.type.shape is not None and _is_single(scale):
        return {}
    return {"axis": int(n.attr("axis", 1)), "block_size": int(n.attr("block_size", 0))}


# Dequantizing


@op(traits=("quantized",), kind="elementwise", inplace=())
def dequantize(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    to: DType,
    axis: int = 1,
    block_size: int = 0,
) -> TensorType:
    """Subtract the zero point, then multiply by the scale.

    The difference of integers is exact; the product is computed in f32 and rounded once.
    Shapes: let D be the size of x along `axis`. scale and zero are scalars, have the shape [D], or
    have the shape of x with ceil(D / block_size) instead of D.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-AXIS, E-OP-ATTRIBUTE.
    Source: ONNX DequantizeLinear-25.
    """
    fits = x.dtype in QUANTIZED or x.dtype is DType.i32
    require(fits, "E-OP-DTYPE", f"dequantize does not take {x.dtype}")
    require(is_one_of(scale.dtype, "number"), "E-OP-DTYPE", f"a scale cannot be {scale.dtype}")
    gives = isinstance(to, DType) and to.is_float and not to.is_storage
    require(gives, "E-OP-ATTRIBUTE", f"dequantize cannot return {to}")
    if zero is not None:
        fits = zero.dtype is x.dtype
        require(fits, "E-OP-DTYPE", f"zero points of {x.dtype} must be {x.dtype}, got {zero.dtype}")
    _check_parameters("dequantize", x, scale, zero, axis, block_size)
    return TensorType(to, x.type.shape)


def _difference_in(dtype: DType) -> DType:
    """Return the element type for the difference of an element and its zero point."""
    return DType.i32 if dtype.is_integer else DType.f32


@dequantize.reference
def _(
    x: Array,
    scale: Array,
    zero: Array | None = None,
    *,
    to: DType,
    axis: int,
    block_size: int,
) -> Array:
    work = _difference_in(DType.from_numpy(x.dtype))
    value = convert(x, work)
    if zero is not None:
        value = value - convert(_spread(zero, x.shape, axis, block_size), work)
    scales = convert(_spread(scale, x.shape, axis, block_size), DType.f32)
    return convert(np.asarray(value.astype(np.float32) * scales), to)


@dequantize.cost
def _(x: Type, scale: Type, zero: Type | None = None, *, out: Type, **_: Any) -> Cost:
    return traffic([x, scale, zero], out, 3 * n_elements(out))


@dequantize.lower
def _(
    k: Lowering,
    x: Handle,
    scale: Handle,
    zero: Handle | None,
    out: Handle,
    *,
    to: DType,
    axis: int,
    block_size: int,
) -> None:
    i = k.axes(out.shape)
    work = _difference_in(x.dtype)
    value = k.convert(x[i], work)
    if zero is not None:
        value = value - k.convert(_belonging(zero, i, axis, block_size), work)
    factor = k.convert(_belonging(scale, i, axis, block_size), DType.f32)
    k.assign(out[i], k.convert(k.convert(value, DType.f32) * factor, to))


@dequantize.samples
def _() -> Iterator[tuple[Any, ...]]:
    f32 = {"to": DType.f32}
    tenth = np.array([0.1, 0.2, 0.3], np.float32)
    yield ["u8[2,3,5]", np.array(0.5, np.float32), np.array(130, np.uint8)], f32
    yield ["i8[2,3,5]", tenth, np.array([3, -5, 100], np.int8)], f32
    yield ["i8[2,5,3]", tenth], {**f32, "axis": 2}
    blocks = np.arange(1, 13, dtype=np.float32).reshape(2, 3, 2) / 7
    yield (
        ["i16[2,8,2]", blocks, np.arange(12, dtype=np.int16).reshape(2, 3, 2)],
        {
            **f32,
            "block_size": 3,
        },
    )
    for dtype in ("i4", "u4", "i2", "f8e4m3fn", "f8e5m2fnuz", "f4e2m1", "u16", "i32"):
        yield [f"{dtype}[3,4]", np.array(0.25, np.float32)], f32
    yield ["i8[2,3]", np.array(0.03, np.float16)], {"to": DType.f16}
    yield ["i8[2,3]", np.array(0.03, np.float16)], f32
    yield ["u8[0,3]", tenth], f32


@dequantize.onnx("DequantizeLinear", "com.microsoft:DequantizeLinear")
def _(n: OnnxCall) -> Operand | None:
    x, scale, zero = n.operand(0), n.operand(1), n.operand(2)
    assert x is not None
    assert scale is not None
    stated = int(n.attr("output_dtype", 0))
    to = DType.from_onnx(stated) if stated else scale.dtype
    if not to.is_float or to.is_storage or (zero is not None and zero.dtype is not x.dtype):
        return None
    if x.dtype not in QUANTIZED and x.dtype is not DType.i32:
        return None
    return dequantize(x, scale, zero, to=to, **granularity(n, scale))


@dequantize.export
def _(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    to: DType,
    axis: int,
    block_size: int,
) -> Operand:
    """Export with a zero point even if it is 0: runtimes that move the node read its type."""
    point: Operand = zero
    if zero is None and scale.type.is_static and x.dtype.is_integer and x.dtype is not DType.i32:
        point = np.zeros(scale.type.static_shape, x.dtype.numpy)
    return standard(
        "DequantizeLinear",
        x,
        scale,
        point,
        axis=axis,
        block_size=block_size or None,
        output_dtype=None if to is scale.dtype else to,
    )
