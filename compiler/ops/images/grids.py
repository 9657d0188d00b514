"""Grids of sampling points, and images cropped or padded around the centre."""

from __future__ import annotations

from math import prod

import numpy as np

from compiler.errors import require
from compiler.ir.operator import OPERATORS, Array, OnnxCall, Operand, Tensor
from compiler.ops.data_movement.pad import pad
from compiler.ops.data_movement.reshape import reshape
from compiler.ops.data_movement.slice import slice_
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.type_rules.requirements import normal_axis

LARGEST_GRID = 1 << 24
"""The maximum number of points of a grid computed at compile time; onnx.reference computes larger
grids at run time."""


def _sizes(t: Tensor | None) -> list[int] | None:
    """Return the elements of a parameter; None if they are unknown."""
    if t is None or t.value is None or t.value.dtype == np.object_:
        return None
    return [int(v) for v in t.known.reshape(-1)]


def base_grid(sizes: list[int], *, align_corners: bool) -> Array:
    """Return the grid's points: coordinates from -1 to 1, the last axis first, followed by a 1.

    Shapes: the result is [points, axes + 1]. With `align_corners`, the outermost points are at -1
    and 1.
    """
    lines = [
        np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in sizes
    ]
    mesh = np.meshgrid(*lines, indexing="ij")
    points = [m.reshape(-1) for m in reversed(mesh)]
    return np.stack([*points, np.ones(prod(sizes))], axis=1)


@matmul.onnx("AffineGrid")
def _(n: OnnxCall) -> Operand | None:
    """Import AffineGrid as the product of the grid's points and the matrix."""
    theta, sizes = n.operand(0), _sizes(n.operand(1))
    assert theta is not None
    if sizes is None or theta.type.shape is None:
        return None
    require(len(sizes) in (4, 5), "E-OP-SHAPE", f"a grid needs 4 or 5 sizes, got {len(sizes)}")
    batch, *spatial = sizes[0], *sizes[2:]
    require(min(sizes) > 0, "E-OP-SHAPE", f"a grid needs positive sizes, got {sizes}")
    if prod(spatial) > LARGEST_GRID:
        return None
    grid = base_grid(spatial, align_corners=bool(n.attr("align_corners", 0)))
    made = matmul(grid.astype(theta.dtype.numpy), theta, transpose_b=True)
    return reshape(made, np.array([batch, *spatial, len(spatial)], np.int64))


@slice_.onnx("CenterCropPad")
def _(n: OnnxCall) -> Operand | None:
    """Import CenterCropPad: crop or zero-pad both ends; an odd number takes one more at the end."""
    x, wanted = n.operand(0), _sizes(n.operand(1))
    assert x is not None
    if wanted is None or not x.type.is_static:
        return None
    axes = [normal_axis(int(a), x.rank) for a in n.attr("axes") or range(x.rank)]
    target = dict(zip(axes, wanted, strict=False))
    sizes = x.type.static_shape
    less = {a: sizes[a] - m for a, m in target.items() if m < sizes[a]}
    more = {a: m - sizes[a] for a, m in target.items() if m > sizes[a]}
    made: Operand = x
    if less:
        starts = np.array([d // 2 for d in less.values()])
        ends = np.array([d // 2 + target[a] for a, d in less.items()])
        made = slice_(made, starts, ends, np.array(list(less)))
    if more:
        begins = [more.get(a, 0) // 2 for a in range(x.rank)]
        pads = np.array([*begins, *(more.get(a, 0) - begins[a] for a in range(x.rank))])
        made = pad(made, pads, np.zeros((), x.dtype.numpy))
    return OPERATORS["identity"](made) if made is x else made
