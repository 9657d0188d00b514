"""Dynamic quantization: the scale is computed from the range of the numbers at run time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, as_tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.quantization.quantize import clamped, dequantize, saturated
from compiler.ops.type_rules.requirements import n_elements, require_elements, traffic

TOP = 255.0
"""The largest u8."""


@op(traits=("quantized",), kind="opaque", exact=False)
def dynamic_quantize(x: Tensor) -> tuple[TensorType, TensorType, TensorType]:
    """Quantize to u8, with a scale and zero point computed from the range of the elements.

    The range always includes 0, so u8 represents 0 exactly. Returns the quantized tensor, the scale
    and the zero point. A tensor of zeros has the scale 1/255.
    Shapes: the scale and the zero point are one number each.
    Errors: E-OP-DTYPE for elements other than floats.
    Source: ONNX DynamicQuantizeLinear-11.
    """
    dtype = require_elements("dynamic_quantize", "float", x)
    return (
        TensorType(DType.u8, x.type.shape),
        TensorType(dtype, ()),
        TensorType(DType.u8, ()),
    )


@dynamic_quantize.reference
def _(x: Array) -> tuple[Array, Array, Array]:
    scale, zero = _range(x)
    made = clamped(np.rint(x / scale).astype(np.float64) + zero, DType.u8)
    return made.astype(np.uint8), scale, zero


def _range(x: Array) -> tuple[Array, Array]:
    number = x.dtype.type
    high, low = np.max(x, initial=number(0)), np.min(x, initial=number(0))
    span = high - low if high != low else number(1)
    scale = np.asarray(span / number(TOP))
    return scale, np.asarray(np.rint(np.clip(-low / scale, 0, TOP)).astype(np.uint8))


@dynamic_quantize.cost
def _(x: TensorType, *, out: tuple[TensorType, ...]) -> Cost:
    return traffic([x, x], out, 7 * n_elements(x))


@dynamic_quantize.lower
def _(k: Lowering, x: Handle, out: Handle, scale: Handle, zero: Handle) -> None:
    low, high = (k.temporary((), x.dtype, hint) for hint in ("low", "high"))
    _find_range(k, x, scale, zero, low, high)
    i = k.axes(x.shape)
    k.assign(out[i], saturated(k, x[i] / scale[()], zero[()], DType.u8))


def _find_range(
    k: Lowering, x: Handle, scale: Handle, zero: Handle, low: Handle, high: Handle
) -> None:
    for bound, combine in ((low, "min"), (high, "max")):
        i = k.axes(x.shape)
        found = k.reduce(combine, x[i], over=i) if i else x[()]
        k.assign(bound[()], k.apply(combine, found, 0.0))
    span = high[()] - low[()]
    k.assign(scale[()], k.where(k.eq(span, 0.0), 1.0, span) / TOP)
    k.assign(zero[()], saturated(k, -low[()] / scale[()], None, DType.u8))


@dynamic_quantize.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {}
    yield [np.array([0, 2, -3, -2.5, 1.34, 0.5], np.float32)], {}
    yield [np.array([[-1, -2.1, -1.3], [-2.5, -3.34, -4]], np.float32)], {}
    yield [np.array([[1], [2.1], [7]], np.float32)], {}
    yield [np.zeros((3, 2), np.float32)], {}
    yield ["f32[]"], {}


def through_bytes(x: Operand) -> Operand:
    """Quantize a tensor to u8 and dequantize it (fake quantization)."""
    given = as_tensor(x)
    assert given is not None
    q = dynamic_quantize(x)
    return dequantize(q.out(0), q.out(1), q.out(2), to=given.dtype)


def in_bytes(x: Array) -> Array:
    """Quantize an array to u8 and dequantize it."""
    assert dynamic_quantize.reference_fn is not None
    made, scale, zero = dynamic_quantize.reference_fn(x)
    return np.asarray((made.astype(x.dtype) - zero.astype(x.dtype)) * scale)


@dynamic_quantize.onnx("DynamicQuantizeLinear")
def _(n: OnnxCall) -> Operand:
    return dynamic_quantize(n.operand(0))


@dynamic_quantize.export
def _(x: Tensor) -> Operand:
    return standard("DynamicQuantizeLinear", x, n_outputs=3)


@op(traits=("quantized",), kind="reduction", exact=False)
def quantization_range(x: Tensor) -> tuple[TensorType, TensorType, TensorType, TensorType]:
    """Compute the scale and the zero point that dynamic_quantize uses for a tensor.

    With the scale known, quantization is an elementwise operator, which can be fused or moved. The
    third and fourth results are the smallest and the largest number of the range, which includes 0.
    Shapes: each result is one number.
    Errors: E-OP-DTYPE for elements other than floats.
    Source: ONNX DynamicQuantizeLinear-11.
    """
    number = TensorType(require_elements("quantization_range", "float", x), ())
    return number, TensorType(DType.u8, ()), number, number


@quantization_range.reference
def _(x: Array) -> tuple[Array, ...]:
    number = x.dtype.type
    ends = (np.asarray(f(x, initial=number(0))) for f in (np.min, np.max))
    return (*_range(x), *ends)


@quantization_range.cost
def _(x: TensorType, *, out: tuple[TensorType, ...]) -> Cost:
    return traffic([x], out, 2 * n_elements(x))


quantization_range.lower(_find_range)


@quantization_range.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {}
    yield ["f32[1,5,3,17]"], {}
    yield [np.array([[-1, -2.1, -1.3], [-2.5, -3.34, -4]], np.float32)], {}
    yield [np.array([[1], [2.1], [7]], np.float32)], {}
    yield [np.zeros((3, 2), np.float32)], {}


@quantization_range.export
def _(x: Tensor) -> tuple[Operand, ...]:
    made, zero = standard("DynamicQuantizeLinear", x, n_outputs=3), np.zeros((), x.dtype.numpy)
    ends = (standard(f"Reduce{end}", x, keepdims=0) for end in ("Min", "Max"))
    low, high = (standard(f, end, zero) for f, end in zip(("Min", "Max"), ends, strict=True))
    return made.out(1), made.out(2), low, high
