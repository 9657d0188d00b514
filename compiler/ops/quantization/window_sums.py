"""Sums of the bytes in windows: quantized convolutions multiply them by weight zero points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir.operator import Array, Cost, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.convolution.conv import Ints
from compiler.ops.convolution.window import Window, check_window, output_dims, spatial_axes, windows
from compiler.ops.quantization.quantized_matmul import BYTES
from compiler.ops.type_rules.requirements import n_elements, require_rank, traffic


@op(traits=("quantized",), kind="reduction")
def window_sums(
    x: Tensor, *, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> TensorType:
    """Sum the bytes of all channels in each window, exactly in i32.

    The channels of each pixel are summed first, then the pixels of each window. A quantized
    convolution whose weights have a zero point needs the sums of windows; all filters share these
    sums.
    Shapes: x [N, C, spatial...] gives [N, 1, positions...]; windows stay inside the image.
    Errors: E-OP-DTYPE for types other than u8 and i8, E-OP-ATTRIBUTE for invalid windows.
    Source: the arithmetic of Jacob et al. 2018 (arXiv:1712.05877), section 2.3.
    """
    require(x.dtype in BYTES, "E-OP-DTYPE", f"window_sums requires u8 or i8, got {x.dtype}")
    if x.type.shape is None:
        return TensorType(DType.i32, None)
    require_rank("window_sums", x, (3, 4, 5))
    pads = (0,) * (2 * (x.rank - 2))
    check_window("window_sums", x.rank - 2, kernel, strides, pads, dilations, "valid")
    places = output_dims(x.shape[2:], kernel, strides, pads, dilations, "valid")
    return TensorType(DType.i32, (x.shape[0], 1, *places))


@window_sums.reference
def _(x: Array, *, kernel: Ints, strides: Ints, dilations: Ints) -> Array:
    inside = (0,) * len(kernel)
    places = output_dims(x.shape[2:], kernel, strides, inside * 2, dilations, "valid")
    pixels = x.astype(np.int32).sum(axis=1, keepdims=True, dtype=np.int32)
    window = Window(kernel, strides, dilations, inside, inside)
    taps = windows(pixels, window, [int(n) for n in places], 0)
    return taps.sum(axis=tuple(range(-len(kernel), 0)), dtype=np.int32)


@window_sums.cost
def _(x: TensorType, *, out: TensorType, kernel: Ints, **_: Any) -> Cost:
    return traffic([x], out, n_elements(x) + int(np.prod(kernel)) * n_elements(out))


@window_sums.lower
def _(k: Lowering, x: Handle, out: Handle, *, kernel: Ints, strides: Ints, dilations: Ints) -> None:
    n, channel = k.axis(x.shape[0], "n"), k.axis(x.shape[1], "c")
    pixel = spatial_axes(k, x.shape[2:])
    sums = k.temporary((x.shape[0], *x.shape[2:]), DType.i32, "pixels")
    k.assign(sums[n, *pixel], k.sum(k.convert(x[n, channel, *pixel], DType.i32), over=[channel]))
    n, places, taps = k.axis(out.shape[0], "n"), spatial_axes(k, out.shape[2:]), []
    taps = spatial_axes(k, kernel, "k")
    steps = zip(places, strides, taps, dilations, strict=True)
    under = [place * stride + tap * step for place, stride, tap, step in steps]
    k.assign(out[n, 0, *places], k.sum(sums[n, *under], over=taps))


@window_sums.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["u8[2,3,5,7]"], {"kernel": (3, 2), "strides": (1, 2), "dilations": (1, 1)}
    yield ["i8[1,20,6,5]"], {"kernel": (2, 3), "strides": (2, 1), "dilations": (3, 1)}
    yield ["u8[1,17,4,5]"], {"kernel": (1, 1), "strides": (1, 2), "dilations": (1, 1)}
    yield ["u8[2,3,8]"], {"kernel": (3,), "strides": (2,), "dilations": (2,)}
    yield ["u8[0,3,5,7]"], {"kernel": (3, 2), "strides": (1, 1), "dilations": (1, 1)}


@window_sums.export
def _(x: Tensor, *, kernel: Ints, strides: Ints, dilations: Ints) -> Operand | None:
    """Export as a convolution with one filter of ones."""
    channels = x.shape[1]
    if not isinstance(channels, int):
        return None
    ones = np.ones((1, channels, *kernel), x.dtype.numpy)
    return standard("ConvInteger", x, ones, strides=strides, dilations=dilations)
