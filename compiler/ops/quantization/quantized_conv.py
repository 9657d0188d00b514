"""Convolutions of quantized images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.convolution.conv import Ints, convolved, convolved_dims, input_channel
from compiler.ops.convolution.window import exported_window, onnx_window, resolve, spatial_axes, tap
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.ops.elementwise.arithmetic import add
from compiler.ops.quantization.quantized_matmul import BYTES
from compiler.ops.quantization.requantize import product_scale, requantize
from compiler.ops.type_rules.requirements import n_elements, require_size, traffic


@op(traits=("quantized",), kind="contraction")
def conv_integer(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int = 1,
    auto_pad: str = "notset",
) -> TensorType:
    """Convolve bytes of image and weights minus their zero points, exactly in i32.

    The padding value is the zero point of the image, so padding contributes 0.
    Shapes: as for conv. Zero points are scalars; the weights may instead have one zero point per
    output channel, [O].
    Errors: those of conv, E-OP-DTYPE for types other than u8 and i8.
    Source: ONNX ConvInteger-10.
    """
    for t, zero, what in ((x, x_zero, "x"), (w, w_zero, "w")):
        require(t.dtype in BYTES, "E-OP-DTYPE", f"conv_integer requires u8 or i8, got {t.dtype}")
        fits = zero is None or zero.dtype is t.dtype
        require(fits, "E-OP-DTYPE", f"the zero points of {what} must be {t.dtype}")
    dims = convolved_dims("conv_integer", x, w, strides, pads, dilations, groups, auto_pad)
    n_channels = w.shape[0] if w.type.shape else None
    for zero, lines in ((x_zero, 1), (w_zero, n_channels)):
        if zero is not None and zero.type.shape is not None and zero.shape not in ((), (1,)):
            fits = zero.rank == 1
            require(fits, "E-OP-SHAPE", f"conv_integer cannot take zero points {zero.type}")
            if lines is not None:
                require_size("conv_integer", "zero points", zero.shape[0], lines)
    return TensorType(DType.i32, dims)


@conv_integer.reference
def _(
    x: Array,
    w: Array,
    x_zero: Array | None = None,
    w_zero: Array | None = None,
    **window: Any,
) -> Array:
    image, weights = x.astype(np.int32), w.astype(np.int32)
    if x_zero is not None:
        image = image - x_zero.reshape(()).astype(np.int32)
    if w_zero is not None:
        weights = weights - w_zero.astype(np.int32).reshape(-1, *[1] * (w.ndim - 1))
    return np.asarray(convolved(image, weights, **window))


@conv_integer.cost
def _(x: TensorType, w: TensorType, *zeros: TensorType | None, out: TensorType, **_: Any) -> Cost:
    n_products = w.n_elements // max(w.static_shape[0], 1)
    return traffic([x, w, *zeros], out, 2 * n_products * n_elements(out))


@conv_integer.lower
def _(
    k: Lowering,
    x: Handle,
    w: Handle,
    x_zero: Handle | None,
    w_zero: Handle | None,
    out: Handle,
    **window: Any,
) -> None:
    lower_sums(k, x, w, out, x_zero, w_zero, **window)


def lower_sums(
    k: Lowering,
    x: Handle,
    w: Handle,
    out: Handle,
    x_zero: Handle | None = None,
    w_zero: Handle | None = None,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    auto_pad: str,
    around: int = 0,
) -> None:
    """Lower the sum of products of bytes minus optional zero points.

    The padding value is the zero point of the image, or `around` if the image has no zero point.
    """
    window = resolve(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad)
    n, o = k.axis(out.shape[0], "n"), k.axis(out.shape[1], "o")
    places = spatial_axes(k, out.shape[2:])
    channel, inner = input_channel(k, o, out.shape[1], w.shape[1], groups)
    taps = spatial_axes(k, window.kernel, "k")
    outside = around if x_zero is None else _zero(x_zero, o)
    element = tap(k, x, (n, channel), places, taps, window, out.shape[2:], outside)
    image = k.convert(element, DType.i32)
    weight = k.convert(w[o, inner[0] if inner else 0, *taps], DType.i32)
    if x_zero is not None:
        image = image - k.convert(_zero(x_zero, o), DType.i32)
    if w_zero is not None:
        weight = weight - k.convert(_zero(w_zero, o), DType.i32)
    k.assign(out[n, o, *places], k.sum(image * weight, over=[*inner, *taps]))


def _zero(zero: Handle, channel: Expr) -> Scalar:
    return zero[(0,) * zero.rank] if zero.shape in ((), (1,)) else zero[channel]


def _window(**given: Any) -> dict[str, Any]:
    return {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1), **given}


@conv_integer.samples
def _() -> Iterator[tuple[Any, ...]]:
    zero = np.array(130, np.uint8)
    yield ["u8[2,3,5,7]", "i8[4,3,3,2]", zero], _window()
    yield ["u8[1,2,7,5]", "u8[3,2,3,3]", "u8[1]"], _window(pads=(1, 0, 2, 1), strides=(2, 3))
    yield ["i8[1,2,7,5]", "i8[3,2,3,3]", None, "i8[3]"], _window(dilations=(2, 1), pads=(1,) * 4)
    yield ["i8[1,4,5,6]", "i8[6,2,3,3]", "i8[]", "i8[6]"], _window(groups=2, pads=(1,) * 4)
    yield ["u8[2,3,5,4]", "i8[3,1,3,3]", zero, "i8[]"], _window(groups=3, pads=(1,) * 4)
    yield ["u8[1,2,6,5]", "i8[3,2,3,2]", zero], _window(auto_pad="same_upper", strides=(2, 2))
    yield ["u8[1,3,6,37]", "i8[20,3,1,1]", zero, "i8[20]"], _window()
    yield (
        ["u8[2,3,8]", "i8[4,3,3]", zero],
        {"strides": (1,), "pads": (2, 1), "dilations": (1,)},
    )
    yield ["u8[0,3,5,7]", "i8[4,3,3,2]"], _window()


@conv_integer.onnx("ConvInteger")
def _(n: OnnxCall) -> Operand | None:
    x, w, x_zero, w_zero = (n.operand(i) for i in range(4))
    return None if x is None or w is None else _convolution(n, x, w, x_zero, w_zero)


@conv_integer.export
def _(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    *,
    groups: int,
    auto_pad: str,
    **window: Any,
) -> Operand:
    """Export equal zero points of all channels as one scalar: some runtimes accept no list."""
    point: Operand = w_zero
    if w_zero is not None and w_zero.value is not None and len(np.unique(w_zero.known)) == 1:
        point = w_zero.known.reshape(-1)[0]
    operands = (x, w, x_zero, point)
    return standard("ConvInteger", *operands, group=groups, **exported_window(auto_pad, **window))


def _convolution(
    n: OnnxCall, x: Tensor, w: Tensor, x_zero: Tensor | None, w_zero: Tensor | None
) -> Operand | None:
    if x.type.shape is None or w.type.shape is None or not 3 <= x.rank <= 5:
        return None
    kernel = [d for d in w.shape[2:] if isinstance(d, int)]
    if len(kernel) != w.rank - 2 or not {x.dtype, w.dtype} <= set(BYTES):
        return None
    window = onnx_window(n, kernel)
    return conv_integer(x, w, x_zero, w_zero, groups=int(n.attr("group", 1)), **window)


@requantize.onnx("QLinearConv")
def _(n: OnnxCall) -> Operand | None:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b = (n.operand(i) for i in range(9))
    if x is None or w is None or w_scale is None or y_zero is None:
        return None
    sums = _convolution(n, x, w, x_zero, w_zero)
    if sums is None or w_scale.type.shape is None:
        return None
    behind = tuple(range(1, w.rank - 1))
    if b is not None:
        sums = add(sums, unsqueeze(b, axes=behind))
    per_channel = w_scale.rank == 1 and w_scale.shape != (1,)
    scale = product_scale(x_scale, w_scale, y_scale)
    if per_channel:
        scale = unsqueeze(scale, axes=behind)
    return requantize(sums, scale, y_zero, to=y_zero.dtype)
