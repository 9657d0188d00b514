"""Transposed convolution as a gather: each output element sums its contributions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Number, Scalar
from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, TensorType
from compiler.ops.convolution.conv import static_kernel
from compiler.ops.convolution.phases import Every, Part, Phase, parts_of_sides
from compiler.ops.convolution.window import (
    check_window,
    exported_window,
    extent,
    onnx_window,
    spatial_axes,
)
from compiler.ops.type_rules.requirements import (
    require_elements,
    require_rank,
    require_size,
    rounded,
    traffic,
    wide,
    widened,
)

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Spreading:
    """The geometry of a transposed convolution: kernel size, and attributes except groups."""

    kernel: Ints
    strides: Ints
    pads: Ints
    output_padding: Ints
    dilations: Ints
    output_shape: Ints = ()
    auto_pad: str = "notset"

    def full(self, d: int, size: Dim) -> Any:
        """Return the size that the windows cover along a spatial axis, plus output padding."""
        covered = (size - 1) * self.strides[d] + extent(self.kernel[d], self.dilations[d])
        return covered + self.output_padding[d]

    def sizes(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """Return the spatial sizes of the result."""
        if self.output_shape:
            return self.output_shape
        if self.auto_pad in ("same_upper", "same_lower"):
            made = [size * stride for size, stride in zip(dims, self.strides, strict=True)]
        else:
            n = len(self.kernel)
            pads = self.pads if self.auto_pad == "notset" else (0,) * (2 * n)
            made = [self.full(d, m) - pads[d] - pads[n + d] for d, m in enumerate(dims)]
        return tuple(affine.maximum(m, 0) if isinstance(m, int) else m for m in made)

    def begins(self, dims: Sequence[int], sizes: Sequence[int]) -> Ints:
        """Return the number of elements cropped at the start of each axis; negative for padding."""
        n = len(self.kernel)
        if not self.output_shape and self.auto_pad in ("notset", "valid"):
            return self.pads[:n] if self.auto_pad == "notset" else (0,) * n
        made: list[int] = []
        for d, size in enumerate(dims):
            total = self.full(d, size) - sizes[d]
            begin = total // 2 if self.auto_pad == "same_upper" else total - total // 2
            # A result larger than the covered area has its empty rows at the end.
            made.append(max(begin, 0) if self.auto_pad in ("notset", "valid") else begin)
        return tuple(made)

    def parts(self, dims: Sequence[int], sizes: Sequence[int]) -> list[list[Part]]:
        """Return the parts of each spatial axis; each part is computed separately."""
        begins = self.begins(dims, sizes)
        return parts_of_sides(dims, sizes, self.kernel, self.strides, self.dilations, begins)


@op(kind="contraction", exact=False)
def conv_transpose(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    output_padding: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int = 1,
    output_shape: tuple[int, ...] = (),
    auto_pad: str = "notset",
) -> TensorType:
    """Scatter each element of the image over the window of a filter, and sum overlapping windows.

    The operator is the transpose of the convolution with the same attributes. Let s be the stride,
    d the dilation and p the start pad of an axis. Element y of x, times the weight at ky, is added
    to element s*y+d*ky-p of the result. Pads crop the result. `output_padding` adds elements at the
    end of each spatial axis of the result. `output_shape` gives the spatial sizes of the result and
    replaces the pads.
    Shapes: x [N, C, spatial...], w [C, O/groups, kernel...], b [O].
    Errors: E-OP-SHAPE for mismatched channels, E-OP-ATTRIBUTE for invalid windows.
    Source: ONNX ConvTranspose-22.
    """
    dtype = require_elements("conv_transpose", "float", x, w, b)
    if x.type.shape is None:
        return TensorType(dtype, None)
    require_rank("conv_transpose", x, (3, 4, 5))
    require_rank("conv_transpose", w, (x.rank,), "w")
    n = x.rank - 2
    kernel = static_kernel("conv_transpose", w)
    check_window("conv_transpose", n, kernel, strides, pads, dilations, auto_pad)
    require(
        len(output_padding) == n and len(output_shape) in (0, n),
        "E-OP-ATTRIBUTE",
        f"conv_transpose needs {n} numbers in output_padding and output_shape",
    )
    require_size("conv_transpose", "channels of x", x.shape[1], w.shape[0])
    channels = w.shape[0]
    require(
        groups >= 1 and (not isinstance(channels, int) or channels % groups == 0),
        "E-OP-SHAPE",
        f"conv_transpose cannot split {channels} channels into {groups} groups",
    )
    if b is not None:
        require_rank("conv_transpose", b, (1,), "b")
        require_size("conv_transpose", "b", b.shape[0], w.shape[1] * groups)
    spreading = Spreading(kernel, strides, pads, output_padding, dilations, output_shape, auto_pad)
    sizes = spreading.sizes(x.shape[2:])
    return TensorType(dtype, (x.shape[0], w.shape[1] * groups, *sizes))


@conv_transpose.reference
def _(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    groups: int,
    **window: Any,
) -> Array:
    n, channels, *dims = x.shape
    spreading = Spreading(w.shape[2:], **window)
    strides, dilations = spreading.strides, spreading.dilations
    sizes = [int(s) for s in spreading.sizes(dims)]
    begins = spreading.begins(dims, sizes)
    image = widened(x).reshape(n, groups, channels // groups, *dims)
    filters = widened(w).reshape(groups, channels // groups, *w.shape[1:])
    made = np.zeros((n, groups, w.shape[1], *sizes), image.dtype)
    for at in np.ndindex(*spreading.kernel):
        weights = filters[(slice(None),) * 3 + at]
        spread = np.einsum("ngi...,gio->ngo...", image, weights)
        source, target = [slice(None)] * 3, [slice(None)] * 3
        for d, t in enumerate(at):
            # Element y contributes to stride*y + offset; keep indices inside the result.
            offset = t * dilations[d] - begins[d]
            first = max(0, -(offset // strides[d]))
            last = min(dims[d], (sizes[d] - 1 - offset) // strides[d] + 1)
            start = first * strides[d] + offset
            count = max(last - first, 0)
            source.append(slice(first, first + count))
            target.append(slice(start, start + count * strides[d], strides[d]))
        if all(s.start < s.stop for s in source[3:]):
            made[tuple(target)] += spread[tuple(source)]
    made = made.reshape(n, groups * w.shape[1], *sizes)
    if b is not None:
        made = made + widened(b).reshape(-1, *[1] * len(dims))
    return rounded(made, x)


@conv_transpose.cost
def _(
    x: TensorType, w: TensorType, b: TensorType | None = None, *, out: TensorType, **_: Any
) -> Cost:
    per_element = w.n_elements // max(w.static_shape[0], 1)
    flops = 2 * x.n_elements * per_element + (out.n_elements if b else 0)
    return traffic([x, w, b], out, flops)


@conv_transpose.lower
def _(
    k: Lowering,
    x: Handle,
    w: Handle,
    b: Handle | None,
    out: Handle,
    *,
    groups: int,
    **window: Any,
) -> None:
    sides = Spreading(w.shape[2:], **window).parts(x.shape[2:], out.shape[2:])
    for side in itertools.product(*sides):
        _spread(k, x, w, b, out, groups, side)


def reach_of_phases(dims: Sequence[Dim], made: Sequence[Dim], spreading: Spreading) -> Ints:
    """Return the distance beyond the image's borders that the phases read, for each spatial axis.

    For open sizes, the distance is 0, because the convolution tests every position.
    """
    if not all(isinstance(n, int) for n in (*dims, *made)):
        return (0,) * len(dims)
    sides = spreading.parts([int(n) for n in dims], [int(n) for n in made])
    if any(isinstance(p, Every) for side in sides for p in side):
        return (0,) * len(dims)
    return tuple(
        max((max(p.before, int(p.behind)) for p in side if isinstance(p, Phase)), default=0)
        for side in sides
    )


def _spread(
    k: Lowering,
    x: Handle,
    w: Handle,
    b: Handle | None,
    out: Handle,
    groups: int,
    side: Sequence[Part],
) -> None:
    """Emit one stage: some output positions along each axis, computed as a separate convolution."""
    n, o = k.axis(out.shape[0], "n"), k.axis(out.shape[1], "o")
    places = spatial_axes(k, [p.n_places for p in side])
    taps = spatial_axes(k, [p.n_taps for p in side], "k")
    found = [p.reached(q, t) for p, q, t in zip(side, places, taps, strict=True)]
    n_inner, n_outer = w.shape[0] // groups, w.shape[1]
    inner = [k.axis(n_inner, "i")] if n_inner > 1 or groups == 1 else []
    group = affine.floordiv(o, max(n_outer, 1)) if groups > 1 else 0
    channel = group * n_inner + (inner[0] if inner else 0)
    outer = affine.mod(o, max(n_outer, 1)) if groups > 1 else o
    element: Scalar = x[n, channel, *(r.source for r in found)]
    tests = [test for r in found for test in r.image_tests]
    if tests:
        element = k.inside(tests, element, 0)
    weight = k.convert(w[channel, outer, *(r.tap for r in found)], wide(w.dtype))
    product: Scalar = k.convert(element, wide(x.dtype)) * weight
    in_filter = [test for r in found for test in r.filter_tests]
    if in_filter:
        product = k.inside(in_filter, product, 0)
    total: Scalar = Number(0.0, product.dtype)
    if all(p.n_taps for p in side):
        total = k.sum(product, over=[*inner, *taps])
    if b is not None:
        total = total + k.convert(b[o], wide(b.dtype))
    k.assign(out[n, o, *(r.at for r in found)], k.convert(total, out.dtype))


@conv_transpose.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,4,5]", "f32[3,4,3,2]", "f32[4]"], _attrs(2)
    yield ["f32[1,3,4,5]", "f32[3,2,2,2]", "f32[2]"], _attrs(2, strides=(2, 2))
    yield (
        ["f32[1,2,4,3]", "f32[2,3,3,4]"],
        _attrs(2, strides=(2, 3), pads=(1, 0, 0, 2), output_padding=(1, 2)),
    )
    yield ["f32[1,2,4,3]", "f32[2,3,3,2]"], _attrs(2, strides=(2, 3), dilations=(3, 2))
    yield ["f32[1,2,4,3]", "f32[2,3,3,2]"], _attrs(2, dilations=(3, 2), pads=(1, 1, 2, 0))
    yield ["f32[1,4,3,4]", "f32[4,3,3,3]", "f32[6]"], _attrs(2, groups=2, strides=(2, 1))
    yield ["f32[1,3,3,4]", "f32[3,1,3,3]", "f32[3]"], _attrs(2, groups=3, strides=(2, 2))
    yield ["f32[1,2,3,4]", "f32[2,3,3,3]"], _attrs(2, strides=(3, 2), output_shape=(10, 8))
    yield ["f32[1,2,3,4]", "f32[2,3,3,3]"], _attrs(2, strides=(2, 2), auto_pad="same_upper")
    yield ["f32[1,2,3,4]", "f32[2,3,4,2]"], _attrs(2, strides=(2, 2), auto_pad="same_lower")
    yield ["f32[1,2,3,4]", "f32[2,3,2,3]"], _attrs(2, strides=(4, 4))
    yield ["f32[2,3,5]", "f32[3,2,4]"], _attrs(1, strides=(2,), pads=(1, 1))
    yield ["f32[1,2,2,3,2]", "f32[2,2,2,3,2]"], _attrs(3, strides=(2, 1, 2))
    yield ["f32[0,3,4,5]", "f32[3,4,3,2]"], _attrs(2)
    yield ["f16[1,2,3,3]", "f16[2,2,2,2]", "f16[2]"], _attrs(2, strides=(2, 2))


def _attrs(n_spatial: int, **given: Any) -> dict[str, Any]:
    ones = (1,) * n_spatial
    plain = {"strides": ones, "dilations": ones, "pads": (0,) * (2 * n_spatial)}
    return {**plain, "output_padding": (0,) * n_spatial, **given}


@conv_transpose.onnx("ConvTranspose")
def _(n: OnnxCall) -> Operand | None:
    x, w = n.operand(0), n.operand(1)
    assert x is not None
    assert w is not None
    if x.type.shape is None or w.type.shape is None or not 3 <= x.rank <= 5:
        return None
    if not all(isinstance(d, int) for d in w.shape[2:]):
        return None
    window = onnx_window(n, [int(d) for d in w.shape[2:]])
    n_spatial = x.rank - 2
    output_shape = tuple(n.attr("output_shape") or ())
    return conv_transpose(
        x,
        w,
        n.operand(2),
        output_padding=tuple(n.attr("output_padding") or (0,) * n_spatial),
        groups=int(n.attr("group", 1)),
        # Some exporters also list batch and channels.
        output_shape=output_shape[-n_spatial:],
        **window,
    )


@conv_transpose.export
def _(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    groups: int,
    output_shape: Ints,
    output_padding: Ints,
    auto_pad: str,
    **window: Ints,
) -> Operand:
    """Export as ConvTranspose; an `output_shape` replaces the pads."""
    stated = exported_window(auto_pad, **window)
    if output_shape:
        stated["pads"] = None
    return standard(
        "ConvTranspose",
        x,
        w,
        b,
        group=groups,
        output_padding=output_padding,
        output_shape=output_shape or None,
        **stated,
    )
