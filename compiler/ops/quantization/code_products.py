"""Convolutions of quantized elements without subtraction of zero points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir.operator import Array, Cost, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.convolution.conv import Ints, convolved_dims
from compiler.ops.convolution.window import exported_window
from compiler.ops.quantization.quantize import limits
from compiler.ops.quantization.quantized_conv import conv_integer, lower_sums
from compiler.ops.quantization.quantized_matmul import BYTES
from compiler.ops.type_rules.requirements import n_elements, traffic


@op(traits=("quantized",), kind="contraction")
def conv_codes(
    x: Tensor,
    w: Tensor,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int = 1,
    auto_pad: str = "notset",
    around: int = 0,
) -> TensorType:
    """Convolve bytes of an image and of weights, exactly in i32; `around` is the padding value.

    Because no zero point is subtracted, one instruction can multiply and sum four channels. The
    correction for zero points is a sum over weights, which is known at compile time.
    Shapes: as for conv.
    Errors: those of conv; E-OP-DTYPE for types other than u8 and i8; E-OP-ATTRIBUTE if `around` is
    not a value of the image's type.
    Source: the arithmetic of Jacob et al. 2018 (arXiv:1712.05877), section 2.3.
    """
    for t in (x, w):
        require(t.dtype in BYTES, "E-OP-DTYPE", f"conv_codes requires u8 or i8, got {t.dtype}")
    low, high = limits(x.dtype)
    require(low <= around <= high, "E-OP-ATTRIBUTE", f"{around} is not a value of {x.dtype}")
    dims = convolved_dims("conv_codes", x, w, strides, pads, dilations, groups, auto_pad)
    return TensorType(DType.i32, dims)


@conv_codes.reference
def _(x: Array, w: Array, *, around: int, **window: Any) -> Array:
    assert conv_integer.reference_fn is not None
    zero = np.array(around, x.dtype)
    taps = w.astype(np.int32).sum(axis=tuple(range(1, w.ndim)), dtype=np.int32)
    apart = conv_integer.reference_fn(x, w, zero, None, **window)
    return np.asarray(apart + around * taps.reshape(-1, *[1] * (x.ndim - 2)))


@conv_codes.cost
def _(x: TensorType, w: TensorType, *, out: TensorType, **_: Any) -> Cost:
    n_products = w.n_elements // max(w.static_shape[0], 1)
    return traffic([x, w], out, 2 * n_products * n_elements(out))


@conv_codes.lower
def _(k: Lowering, x: Handle, w: Handle, out: Handle, **attrs: Any) -> None:
    lower_sums(k, x, w, out, **attrs)


def _window(**given: Any) -> dict[str, Any]:
    return {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1), **given}


@conv_codes.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["u8[2,3,5,7]", "i8[4,3,3,2]"], _window()
    yield ["u8[1,2,7,5]", "i8[3,2,3,3]"], _window(pads=(1, 0, 2, 1), strides=(2, 3), around=130)
    yield ["i8[1,2,7,5]", "i8[3,2,3,3]"], _window(dilations=(2, 1), pads=(1,) * 4, around=-7)
    yield ["u8[1,4,5,6]", "u8[6,2,3,3]"], _window(groups=2, pads=(1,) * 4)
    yield ["u8[2,3,5,4]", "i8[3,1,3,3]"], _window(groups=3, pads=(1,) * 4, around=3)
    yield ["u8[1,2,6,5]", "i8[3,2,3,2]"], _window(auto_pad="same_upper", strides=(2, 2))
    yield (
        ["u8[2,3,8]", "i8[4,3,3]"],
        {"strides": (1,), "pads": (2, 1), "dilations": (1,), "around": 9},
    )
    yield ["u8[0,3,5,7]", "i8[4,3,3,2]"], _window()


@conv_codes.export
def _(x: Tensor, w: Tensor, *, groups: int, auto_pad: str, around: int, **window: Ints) -> Operand:
    """Export as ConvInteger with the padding value as zero point; a sum of weights corrects it."""
    exported = exported_window(auto_pad, **window)
    if not around:
        return standard("ConvInteger", x, w, group=groups, **exported)
    sums = standard("ConvInteger", x, w, np.array(around, x.dtype.numpy), group=groups, **exported)
    behind = [1] * (w.rank - 2)
    wide = standard("Cast", w, to=DType.i32)
    taps = standard("ReduceSum", wide, np.arange(1, w.rank, dtype=np.int64), keepdims=0)
    taps = standard("Reshape", taps, np.array([-1, *behind], np.int64))
    return standard("Add", sums, standard("Mul", taps, np.array(around, np.int32)))
