"""Deformable convolution: an operand gives the offset of each tap."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
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


@op(kind="opaque", exact=False)
def deform_conv(
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int = 1,
    offset_groups: int = 1,
) -> TensorType:
    """Deformable convolution: taps are displaced by `offset` and multiplied by `mask`.

    The image is interpolated linearly between its elements, and is 0 outside its borders.
    Shapes: x [N, C, H, W], w [M, C/groups, kh, kw], offset [N, offset_groups*kh*kw*2, OH, OW], mask
    [N, offset_groups*kh*kw, OH, OW]. In `offset`, the offset in y precedes the offset in x. `pads`
    lists all begins, then all ends.
    Errors: E-OP-SHAPE, E-OP-DTYPE, E-OP-ATTRIBUTE.
    Source: ONNX DeformConv-22.
    """
    require_elements("deform_conv", "float", x, w, offset, bias, mask)
    for t, what in ((x, "x"), (w, "w"), (offset, "offset")):
        require_rank("deform_conv", t, [4], what)
    fits = len(strides) == len(dilations) == 2 and len(pads) == 4 and groups > 0 < offset_groups
    found = f"{strides}, {dilations}, {pads}, {groups} and {offset_groups}"
    message = "deform_conv needs 2 strides, 2 dilations, 4 pads and positive groups"
    require(fits, "E-OP-ATTRIBUTE", f"{message}, got {found}")
    c, channels = x.shape[1], w.shape[1]
    if isinstance(c, int) and isinstance(channels, int) and isinstance(w.shape[0], int):
        fits = c == channels * groups and w.shape[0] % groups == 0 and c % offset_groups == 0
        found = f"{groups} groups of {w.type} and {offset_groups} groups of offsets"
        require(fits, "E-OP-SHAPE", f"the channels of {x.type} do not fit {found}")
    n_taps = w.shape[2] * w.shape[3] * offset_groups
    require_size("deform_conv", "axis 1 of the offsets", offset.shape[1], n_taps * 2)
    require_size("deform_conv", "axis 0 of the offsets", offset.shape[0], x.shape[0])
    if bias is not None:
        require_rank("deform_conv", bias, [1], "bias")
        require_size("deform_conv", "the bias", bias.shape[0], w.shape[0])
    if mask is not None:
        require_rank("deform_conv", mask, [4], "mask")
        for d in (0, 2, 3):
            require_size("deform_conv", f"axis {d} of the mask", mask.shape[d], offset.shape[d])
        require_size("deform_conv", "axis 1 of the mask", mask.shape[1], n_taps)
    return TensorType(x.dtype, (x.shape[0], w.shape[0], *offset.shape[2:]))


@deform_conv.reference
def _(
    x: Array,
    w: Array,
    offset: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    offset_groups: int,
) -> Array:
    image, taps, places = widened(x), w.shape[2:], offset.shape[2:]
    n, c = x.shape[:2]
    moved = widened(offset).reshape(n, offset_groups, *taps, 2, *places)
    coordinates: list[Array] = []
    for d in range(2):
        tap = np.arange(taps[d]).reshape([-1 if a == 2 + d else 1 for a in range(6)])
        place = np.arange(places[d]).reshape([-1 if a == 4 + d else 1 for a in range(6)])
        start = (place * strides[d] + tap * dilations[d] - pads[d]).astype(image.dtype)
        coordinates.append(np.repeat(moved[:, :, :, :, d] + start, c // offset_groups, axis=1))
    columns = np.zeros((n, c, *taps, *places), image.dtype)
    batch, channel = np.arange(n).reshape(-1, *(1,) * 5), np.arange(c).reshape(-1, *(1,) * 4)
    for corner in itertools.product((0, 1), repeat=2):
        share = np.ones_like(columns)
        at: list[Array] = []
        for d, (v, side) in enumerate(zip(coordinates, corner, strict=True)):
            i, size = np.floor(v) + side, x.shape[2 + d]
            inside = (i >= 0) & (i < size)
            share = share * np.where(inside, 1 - np.abs(v - i), 0)
            at.append(np.where(inside, i, 0).astype(np.int64))
        columns += share * image[batch, channel, at[0], at[1]]
    if mask is not None:
        weights = widened(mask).reshape(n, offset_groups, *taps, *places)
        columns *= np.repeat(weights, c // offset_groups, axis=1)
    grouped = columns.reshape(n, groups, c // groups, *taps, *places)
    filters = widened(w).reshape(groups, -1, *w.shape[1:])
    made = np.einsum("ngcijyx,gmcij->ngmyx", grouped, filters).reshape(n, -1, *places)
    return rounded(made if bias is None else made + widened(bias)[:, None, None], x)


@deform_conv.cost
def _(
    x: TensorType,
    w: TensorType,
    offset: TensorType,
    bias: TensorType | None = None,
    mask: TensorType | None = None,
    *,
    out: TensorType,
    **_: Any,
) -> Cost:
    per_element = 2 * w.n_elements // max(int(w.static_shape[0]), 1)
    columns = 8 * offset.n_elements // 2 * int(x.static_shape[1])
    return traffic([x, w, offset, bias, mask], out, per_element * n_elements(out) + columns)


@deform_conv.lower
def _(
    k: Lowering,
    x: Handle,
    w: Handle,
    offset: Handle,
    bias: Handle | None,
    mask: Handle | None,
    out: Handle,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    offset_groups: int,
) -> None:
    dtype = wide(x.dtype)
    columns = k.temporary((*x.shape[:2], *w.shape[2:], *out.shape[2:]), dtype, "columns")
    _fill_columns(k, x, offset, mask, columns, (strides, pads, dilations), offset_groups)
    per_group, n_filters = x.shape[1] // groups, w.shape[0] // groups
    n, g, m, y, z = k.axes((x.shape[0], groups, n_filters, *out.shape[2:]), "ngmyx")
    c, i, j = k.axes(w.shape[1:], "cij")
    filter_ = g * n_filters + m
    product = k.convert(w[filter_, c, i, j], dtype) * columns[n, g * per_group + c, i, j, y, z]
    total: Scalar = k.sum(product, over=[c, i, j])
    if bias is not None:
        total = total + k.convert(bias[filter_], dtype)
    k.assign(out[n, filter_, y, z], k.convert(total, out.dtype))


def _fill_columns(
    k: Lowering,
    x: Handle,
    offset: Handle,
    mask: Handle | None,
    columns: Handle,
    steps: tuple[Ints, Ints, Ints],
    offset_groups: int,
) -> None:
    """Compute the value of every tap at every position: a linear interpolation of four elements."""
    strides, pads, dilations = steps
    taps, places, dtype = columns.shape[2:4], columns.shape[4:], columns.dtype
    n, group, *at = k.axes((x.shape[0], offset_groups, *taps, *places), "ngijyx")
    tap = (group * taps[0] + at[0]) * taps[1] + at[1]
    coordinates = [
        k.temporary((x.shape[0], offset_groups, *taps, *places), dtype, f"place{d}")
        for d in range(2)
    ]
    for d, coordinate in enumerate(coordinates):
        start: Expr = at[2 + d] * strides[d] + at[d] * dilations[d] - pads[d]
        moved = k.convert(offset[n, tap * 2 + d, at[2], at[3]], dtype)
        k.assign(coordinate[n, group, *at], k.index(start, dtype) + moved)
    n, c, *at = k.axes(columns.shape, "ncijyx")
    group = c // (x.shape[1] // offset_groups)
    sides = [
        _sides(k, coordinate[n, group, *at], x.shape[2 + d])
        for d, coordinate in enumerate(coordinates)
    ]
    total: Scalar | None = None
    for (i, wy), (j, wx) in itertools.product(*sides):
        part = k.convert(x.at(n, c, i, j), dtype) * (wy * wx)
        total = part if total is None else total + part
    assert total is not None
    if mask is not None:
        tap = (group * taps[0] + at[0]) * taps[1] + at[1]
        total = total * k.convert(mask[n, tap, at[2], at[3]], dtype)
    k.assign(columns[n, c, *at], total)


def _sides(k: Lowering, place: Scalar, size: Expr) -> list[tuple[Scalar, Scalar]]:
    """Return the two elements adjacent to a position along an axis, and their weights."""
    below = k.floor(place)
    rest = place - below
    found: list[tuple[Scalar, Scalar]] = []
    for i, weight in ((below, 1.0 - rest), (below + 1.0, rest)):
        inside = k.apply("and", k.ge(i, 0.0), k.lt(i, k.index(size, place.dtype)))
        found.append((k.convert(i, DType.i64), k.where(inside, weight, 0.0)))
    return found


@deform_conv.onnx("DeformConv")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None or x.type.shape is None or x.rank != 4:
        return None
    return deform_conv(
        *(n.operand(i) for i in range(5)),
        strides=tuple(n.attr("strides") or (1, 1)),
        pads=tuple(n.attr("pads") or (0,) * 4),
        dilations=tuple(n.attr("dilations") or (1, 1)),
        groups=n.attr("group", 1),
        offset_groups=n.attr("offset_group", 1),
    )


@deform_conv.export
def _(*operands: Tensor | None, groups: int, offset_groups: int, **window: Any) -> Operand:
    return standard("DeformConv", *operands, group=groups, offset_group=offset_groups, **window)


@deform_conv.samples
def _() -> Iterator[tuple[Any, ...]]:
    plain: dict[str, Any] = {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1)}
    yield ["f32[2,3,4,5]", "f32[2,3,2,3]", "f32[2,12,3,3]"], plain
    odd = {"strides": (2, 1), "pads": (1, 0, 1, 2), "dilations": (1, 2)}
    operands = ["f32[1,4,5,4]", "f32[6,2,2,2]", "f32[1,16,3,4]", "f32[6]", "f32[1,8,3,4]"]
    yield operands, {**odd, "groups": 2, "offset_groups": 2}
    yield ["f16[1,2,3,3]", "f16[1,2,1,1]", "f16[1,2,3,3]", None, "f16[1,1,3,3]"], plain
