"""Requantization of the i32 sums of quantized products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import convert
from compiler.errors import require
from compiler.ir.operator import Array, Cost, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.elementwise.arithmetic import div, mul
from compiler.ops.elementwise.cast import cast
from compiler.ops.quantization.quantize import clamped, saturated
from compiler.ops.type_rules.requirements import broadcast_dims, n_elements, traffic

TARGETS = (DType.u8, DType.i8, DType.u16, DType.i16)


@op(traits=("positional", "quantized"), kind="elementwise", inplace=())
def requantize(x: Tensor, scale: Tensor, zero: Tensor | None = None, *, to: DType) -> TensorType:
    """Multiply by a scale, round to the nearest, add a zero point, and saturate.

    The product with the scale is an f32; halves are rounded to even before the zero point is added.
    NaN becomes the smallest integer.
    Shapes: scale and zero broadcast to x, as in numpy.
    Errors: E-OP-DTYPE unless x is i32 or f32, scale is f32 and zero has the result type;
    E-OP-ATTRIBUTE unless the result type is an integer of 8 or 16 bits; E-OP-SHAPE.
    Source: ONNX QLinearMatMul-21 and QLinearConv-10.
    """
    fits = x.dtype in (DType.i32, DType.f32)
    require(fits, "E-OP-DTYPE", f"requantize takes sums in i32 or f32, got {x.dtype}")
    require(
        scale.dtype is DType.f32, "E-OP-DTYPE", f"requantize takes scales in f32, got {scale.dtype}"
    )
    require(to in TARGETS, "E-OP-ATTRIBUTE", f"requantize cannot return {to}")
    for parameter in (scale, zero):
        if parameter is None or parameter.type.shape is None or x.type.shape is None:
            continue
        fits = parameter.rank <= x.rank
        require(fits, "E-OP-SHAPE", f"{parameter.type} does not broadcast to {x.type}")
        broadcast_dims("requantize", parameter.shape, x.shape)
    if zero is not None:
        fits = zero.dtype is to
        require(fits, "E-OP-DTYPE", f"zero points of {to} must be {to}, got {zero.dtype}")
    return TensorType(to, x.type.shape)


@requantize.reference
def _(x: Array, scale: Array, zero: Array | None = None, *, to: DType) -> Array:
    value = np.rint(x.astype(np.float32) * scale).astype(np.float64)
    if zero is not None:
        value = value + zero.astype(np.float64)
    return convert(clamped(value, to), to)


@requantize.cost
def _(x: Type, scale: Type, zero: Type | None = None, *, out: Type, to: DType) -> Cost:
    return traffic([x, scale, zero], out, 5 * n_elements(out))


@requantize.lower
def _(
    k: Lowering, x: Handle, scale: Handle, zero: Handle | None, out: Handle, *, to: DType
) -> None:
    i = k.axes(out.shape)
    product = k.convert(x[i], DType.f32) * scale.broadcast(i)
    k.assign(out[i], saturated(k, product, zero and zero.broadcast(i), to))


@requantize.samples
def _() -> Iterator[tuple[Any, ...]]:
    sums = np.array([[-5, -3, -1], [1, 3, 5], [1000, -1000, 2**31 - 1]], np.int32)
    half = np.array(0.5, np.float32)
    yield [sums, half, np.array(127, np.uint8)], {"to": DType.u8}
    yield [sums, half, np.array(-3, np.int8)], {"to": DType.i8}
    yield ["i32[2,3,5]", "f32[3,1]"], {"to": DType.i8}
    yield ["i32[2,3]", "f32[3]", "i16[]"], {"to": DType.i16}
    yield ["i32[0,3]", "f32[]"], {"to": DType.u16}
    yield ["f32[2,3,5]", "f32[5]", "i8[]"], {"to": DType.i8}


@requantize.export
def _(x: Tensor, scale: Tensor, zero: Tensor | None = None, *, to: DType) -> Operand:
    """Export as a multiplication and a QuantizeLinear of scale 1, or as elementary operators."""
    floats = x if x.dtype is DType.f32 else standard("Cast", x, to=DType.f32)
    product = standard("Mul", floats, scale)
    if zero is None:
        return standard("QuantizeLinear", product, np.float32(1), np.zeros((), to.numpy))
    if zero.type.is_static and zero.type.n_elements == 1:
        single = zero if zero.rank == 0 else standard("Reshape", zero, np.array([], np.int64))
        return standard("QuantizeLinear", product, np.float32(1), single)
    moved = standard("Add", standard("Round", product), standard("Cast", zero, to=DType.f32))
    ends = np.iinfo(to.numpy)
    inside = standard("Clip", moved, np.float32(ends.min), np.float32(ends.max))
    return standard("Cast", inside, to=to)


def product_scale(a: Operand, b: Operand, y: Operand) -> Operand:
    """Return the requantization factor of a product, from the scales of operands and result."""
    made = div(mul(a, b), y)
    return made if made.type.dtype is DType.f32 else cast(made, to=DType.f32)
