"""Convolution, as a direct sum over input channels and taps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Inside, Number, Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, TensorType
from compiler.ops.convolution.window import (
    TapPart,
    Window,
    check_window,
    exported_window,
    onnx_window,
    output_dims,
    resolve,
    spatial_axes,
    tap,
    tap_parts,
    windows,
)
from compiler.ops.convolution.winograd import ALGORITHMS, tiled_convolution, unsuitable
from compiler.ops.type_rules.requirements import (
    n_elements,
    require_elements,
    require_rank,
    require_size,
    rounded,
    traffic,
    wide,
    widened,
)

Ints = tuple[int, ...]


def static_kernel(op_name: str, w: Tensor) -> Ints:
    """Return the spatial sizes of weights.

    Errors: E-SHAPE-OPEN if a spatial size is not a number.
    """
    kernel = [d for d in w.shape[2:] if isinstance(d, int)]
    require(
        len(kernel) == w.rank - 2,
        "E-SHAPE-OPEN",
        f"{op_name} needs weights with a kernel of known size, got {w.type}",
    )
    return tuple(kernel)


@op(kind="contraction", exact=False)
def conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int = 1,
    auto_pad: str = "notset",
    algorithm: str = "direct",
) -> TensorType:
    """Convolve an image: sum the products of each filter's weights and the elements below them.

    out[n,o,y,x] = sum over i,ky,kx of x[n,i,s*y+d*ky-p,s*x+d*kx-p] * w[o,i,ky,kx] + b[o], where x
    is 0 outside the image. Groups split input and output channels into separate convolutions; one
    group per channel is a depthwise convolution. `algorithm` selects the code where possible:
    direct, winograd2 or winograd4. The Winograd algorithms need fewer products, but round
    differently.
    Shapes: x [N, C, spatial...], w [O, C/groups, kernel...], b [O], out [N, O, positions...]; one
    to three spatial axes. `pads` lists all begins, then all ends; an `auto_pad` other than notset
    replaces them.
    Errors: E-OP-SHAPE for mismatched channels, E-OP-ATTRIBUTE for invalid windows, E-SHAPE-OPEN for
    an open kernel size.
    Source: ONNX Conv-22.
    """
    dtype = require_elements("conv", "float", x, w, b)
    known = algorithm in ALGORITHMS
    require(
        known,
        "E-OP-ATTRIBUTE",
        f"conv has no algorithm {algorithm!r:.40}; algorithms: {', '.join(ALGORITHMS)}",
    )
    dims = convolved_dims("conv", x, w, strides, pads, dilations, groups, auto_pad)
    if dims is not None and b is not None:
        require_rank("conv", b, (1,), "b")
        require_size("conv", "b", b.shape[0], w.shape[0])
    return TensorType(dtype, dims)


def convolved_dims(
    op_name: str,
    x: Tensor,
    w: Tensor,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    auto_pad: str,
) -> tuple[Dim, ...] | None:
    """Return the shape of a convolution; None for an image of open rank. Errors: see conv."""
    if x.type.shape is None:
        return None
    require_rank(op_name, x, (3, 4, 5))
    require_rank(op_name, w, (x.rank,), "w")
    kernel = static_kernel(op_name, w)
    check_window(op_name, x.rank - 2, kernel, strides, pads, dilations, auto_pad)
    require(groups >= 1, "E-OP-ATTRIBUTE", f"{op_name} needs at least 1 group, got {groups}")
    require_size(
        op_name, f"the channels of x (w {w.type}, groups {groups})", x.shape[1], w.shape[1] * groups
    )
    outputs = w.shape[0]
    require(
        not isinstance(outputs, int) or outputs % groups == 0,
        "E-OP-SHAPE",
        f"{op_name} cannot split {outputs} output channels into {groups} groups",
    )
    places = output_dims(x.shape[2:], kernel, strides, pads, dilations, auto_pad)
    return (x.shape[0], outputs, *places)


@conv.reference
def _(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    auto_pad: str,
    **_: Any,  # the algorithm, which changes no result
) -> Array:
    made = convolved(widened(x), widened(w), strides, pads, dilations, groups, auto_pad)
    if b is not None:
        made = made + widened(b).reshape(-1, *[1] * (x.ndim - 2))
    return rounded(made, x)


def convolved(
    x: Array, w: Array, strides: Ints, pads: Ints, dilations: Ints, groups: int, auto_pad: str
) -> Array:
    """Convolve arrays of the element type used in arithmetic."""
    n, channels, *sizes = x.shape
    kernel = w.shape[2:]
    places = [int(p) for p in output_dims(sizes, kernel, strides, pads, dilations, auto_pad)]
    window = resolve(sizes, kernel, strides, pads, dilations, auto_pad)
    taps = windows(x, window, places, 0)
    d = len(sizes)
    # [N, G, C/G, positions, kernel] times [G, O/G, C/G, kernel]: one matrix product per group.
    taps = taps.reshape(n, groups, channels // groups, *places, *kernel)
    inner = (channels // groups) * window.n_taps
    rows = np.moveaxis(taps, 2, 2 + d).reshape(n, groups, int(np.prod(places)), inner)
    filters = w.reshape(groups, w.shape[0] // groups, inner)
    return np.matmul(filters, np.swapaxes(rows, -1, -2)).reshape(n, w.shape[0], *places)


@conv.cost
def _(
    x: TensorType, w: TensorType, b: TensorType | None = None, *, out: TensorType, **_: Any
) -> Cost:
    n_products = w.n_elements // max(w.static_shape[0], 1)
    flops = (2 * n_products + (b is not None)) * n_elements(out)
    return traffic([x, w, b], out, flops)


@conv.lower
def _(
    k: Lowering,
    x: Handle,
    w: Handle,
    b: Handle | None,
    out: Handle,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    auto_pad: str,
    algorithm: str,
) -> None:
    window = resolve(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad)
    tiling = ALGORITHMS[algorithm]
    sizes = (*out.shape, x.shape[1])
    if tiling is not None and not unsuitable(x.dtype, sizes, window, groups):
        tiled_convolution(k, x, w, b, out, window, tiling)
        return
    parts = tap_parts(x.shape[2:], out.shape[2:], window)
    whole = [TapPart(0, n, 0, t) for n, t in zip(out.shape[2:], window.kernel, strict=True)]
    for part in itertools.product(*parts) if parts else [whole]:
        _summed(k, x, w, b, out, groups, window, part, tested=parts is None)


def _summed(
    k: Lowering,
    x: Handle,
    w: Handle,
    b: Handle | None,
    out: Handle,
    groups: int,
    window: Window,
    part: Sequence[TapPart],
    *,
    tested: bool,
) -> None:
    """Emit the stage for output positions in one part of each axis: sums over the parts' taps."""
    n, o = k.axis(out.shape[0], "n"), k.axis(out.shape[1], "o")
    places = [
        q + p.first for q, p in zip(spatial_axes(k, [p.n_places for p in part]), part, strict=True)
    ]
    channel, inner = input_channel(k, o, out.shape[1], w.shape[1], groups)
    own = spatial_axes(k, [p.n_taps for p in part], "k")
    taps = [t + p.tap for t, p in zip(own, part, strict=True)]
    element = tap(k, x, (n, channel), places, taps, window, out.shape[2:], 0)
    if not tested and isinstance(element, Inside):
        element = element.then
    weight = w[o, inner[0] if inner else 0, *taps]
    product = k.convert(element, wide(x.dtype)) * k.convert(weight, wide(w.dtype))
    total: Scalar = Number(0.0, product.dtype)
    if all(p.n_taps for p in part):
        total = k.sum(product, over=[*inner, *own])
    if b is not None:
        total = total + k.convert(b[o], wide(b.dtype))
    k.assign(out[n, o, *places], k.convert(total, out.dtype))


def input_channel(
    k: Lowering, o: Expr, n_outputs: int, n_inner: int, groups: int
) -> tuple[Expr, list[Expr]]:
    """Return the input channel of output channel `o`, and the reduction indices over channels.

    With one input channel per group (depthwise), there is no reduction over channels.
    """
    if groups == 1:
        i = k.axis(n_inner, "i")
        return i, [i]
    group = affine.floordiv(o, max(n_outputs // groups, 1))
    if n_inner == 1:
        return group, []
    i = k.axis(n_inner, "i")
    return group * n_inner + i, [i]


def _window(n_spatial: int, **given: Any) -> dict[str, Any]:
    plain = {
        "strides": (1,) * n_spatial,
        "pads": (0,) * (2 * n_spatial),
        "dilations": (1,) * n_spatial,
    }
    return {**plain, **given}


@conv.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5,7]", "f32[4,3,3,2]", "f32[4]"], _window(2)
    yield ["f32[1,2,7,5]", "f32[3,2,3,3]"], _window(2, pads=(1, 0, 2, 1), strides=(2, 3))
    yield (
        ["f32[1,2,9,8]", "f32[3,2,3,2]"],
        _window(2, dilations=(3, 2), strides=(1, 2), pads=(1,) * 4),
    )
    yield ["f32[1,4,5,6]", "f32[6,2,3,3]", "f32[6]"], _window(2, groups=2, pads=(1,) * 4)
    yield ["f32[2,3,5,4]", "f32[3,1,3,3]", "f32[3]"], _window(2, groups=3, pads=(1,) * 4)
    yield ["f32[2,3,5,4]", "f32[6,1,3,1]"], _window(2, groups=3, strides=(2, 1))
    yield ["f32[1,2,6,5]", "f32[3,2,3,2]"], _window(2, auto_pad="same_upper", strides=(2, 2))
    yield ["f32[1,2,6,5]", "f32[3,2,4,2]"], _window(2, auto_pad="same_lower", strides=(1, 2))
    yield ["f32[1,2,6,5]", "f32[3,2,3,2]"], _window(2, auto_pad="valid")
    yield ["f32[2,3,5,7]", "f32[4,3,1,1]", "f32[4]"], _window(2)
    yield ["f32[2,3,8]", "f32[4,3,3]", "f32[4]"], _window(1, pads=(2, 1))
    yield (
        ["f32[1,2,4,5,3]", "f32[3,2,2,3,2]"],
        _window(3, pads=(1, 0, 1, 0, 1, 0), strides=(1, 2, 1)),
    )
    yield ["f32[0,3,5,7]", "f32[4,3,3,2]"], _window(2)
    tiled = _window(2, pads=(1,) * 4, algorithm="winograd2")
    yield ["f32[2,3,5,4]", "f32[6,3,3,3]", "f32[6]"], tiled
    yield ["f32[1,5,3,11]", "f32[3,5,3,3]"], _window(2, pads=(0, 2, 1, 0), algorithm="winograd4")
    yield ["f32[1,4,5,6]", "f32[6,2,3,3]"], _window(2, groups=2, algorithm="winograd2")
    yield ["f16[1,2,5,4]", "f16[3,2,3,3]", "f16[3]"], _window(2, pads=(1,) * 4)


@conv.onnx("Conv")
def _(n: OnnxCall) -> Operand | None:
    x, w = n.operand(0), n.operand(1)
    assert x is not None
    assert w is not None
    if x.type.shape is None or w.type.shape is None or not 3 <= x.rank <= 5:
        return None
    if not all(isinstance(d, int) for d in w.shape[2:]):
        return None
    kernel: tuple[Dim, ...] = w.shape[2:]
    window = onnx_window(n, [int(d) for d in kernel])
    return conv(x, w, n.operand(2), groups=int(n.attr("group", 1)), **window)


@conv.export
def _(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    groups: int,
    auto_pad: str,
    algorithm: str,
    **window: Ints,
) -> Operand:
    return standard("Conv", x, w, b, group=groups, **exported_window(auto_pad, **window))
