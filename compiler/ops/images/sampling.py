"""Sampling of an image at run-time coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.type_rules.dims import same_size
from compiler.ops.type_rules.requirements import (
    n_elements,
    require_elements,
    require_rank,
    rounded,
    traffic,
    wide,
    widened,
)

TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
"""The number of taps along an axis for each interpolation mode."""

PADDINGS = ("zeros", "border", "reflection")

CUBIC = -0.75
"""The free parameter of cubic convolution interpolation."""


@op(kind="reduction", exact=False)
def grid_sample(
    x: Tensor,
    grid: Tensor,
    *,
    mode: str = "linear",
    padding: str = "zeros",
    align_corners: bool = False,
) -> TensorType:
    """Sample an image at the coordinates of a grid, with interpolation.

    A point of the grid has one coordinate per axis, the last axis first; -1 and 1 denote the ends
    of the image. With `align_corners`, the ends of the image are the centres of the outermost
    elements; otherwise, they are the outer borders of these elements. Padding consists of zeros, of
    the outermost elements (`border`), or of the mirrored image (`reflection`).
    Shapes: x [N, C, spatial...], grid [N, positions..., number of spatial axes], the result [N, C,
    positions...].
    Errors: E-OP-SHAPE, E-OP-DTYPE, E-OP-ATTRIBUTE for an unknown mode or padding.
    Source: ONNX GridSample-22.
    """
    require_elements("grid_sample", "float", x)
    require_elements("grid_sample", "float", grid)
    require(mode in TAPS, "E-OP-ATTRIBUTE", f"mode must be one of {', '.join(TAPS)}, got {mode!r}")
    known = padding in PADDINGS
    require(
        known, "E-OP-ATTRIBUTE", f"padding must be one of {', '.join(PADDINGS)}, got {padding!r}"
    )
    require_rank("grid_sample", x, (3, 4, 5))
    require_rank("grid_sample", grid, [x.rank], "the grid")
    n = grid.shape[-1]
    fits = not isinstance(n, int) or n == x.rank - 2
    require(fits, "E-OP-SHAPE", f"points of {x.type} need {x.rank - 2} coordinates, got {n}")
    batch = same_size(x.shape[0], grid.shape[0], f"the batches of {x.type} and {grid.type} differ")
    return TensorType(x.dtype, (batch, x.shape[1], *grid.shape[1:-1]))


def _border(size: Any, align_corners: bool) -> tuple[Any, Any]:
    """Return the coordinates of the two ends of the image along an axis."""
    return (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)


def _is_moved(mode: str, padding: str) -> bool:
    """Return whether coordinates outside the image are clamped or mirrored before reads.

    Cubic interpolation outside the image reads both border and inner elements, as in torch.
    """
    return padding == "reflection" or (padding == "border" and mode != "cubic")


# The reference in numpy


@grid_sample.reference
def _(x: Array, grid: Array, *, mode: str, padding: str, align_corners: bool) -> Array:
    sizes, n_axes = x.shape[2:], x.ndim - 2
    kind = np.float64 if np.float64 in (x.dtype, grid.dtype) else np.float32
    image = np.moveaxis(widened(x), 1, -1)
    batch = np.arange(len(x)).reshape(-1, *(1,) * n_axes)
    taps: list[list[tuple[Array, Array]]] = []
    for d, size in enumerate(sizes):
        c = grid[..., n_axes - 1 - d].astype(kind)
        c = (c + 1) / 2 * (size - 1) if align_corners else ((c + 1) * size - 1) / 2
        c = np.rint(c) if mode == "nearest" else c
        low, high = _border(size, align_corners)
        if _is_moved(mode, padding):
            moved = np.clip(c, 0, size - 1) if padding == "border" else _mirrored(c, low, high)
            c = np.where((c < low) | (c > high), moved, c)
        first = np.floor(c) - (mode == "cubic")
        weights = _weights(c - np.floor(c), mode)
        taps.append([(first + t, w) for t, w in enumerate(weights)])
    total: Any = 0
    for choice in itertools.product(*taps):
        weight: Any = 1
        places: list[Array] = []
        for (i, w), size in zip(choice, sizes, strict=True):
            i = _mirrored(i, *_border(size, align_corners)) if padding == "reflection" else i
            inside = (i >= 0) & (i <= size - 1)
            weight = weight * (np.where(inside, w, 0) if padding == "zeros" else w)
            places.append(np.clip(np.nan_to_num(i), 0, size - 1).astype(np.int64))
        total = total + image[(batch, *places)] * weight[..., None]
    return rounded(np.moveaxis(np.asarray(total), -1, 1), x)


def _mirrored(c: Array, low: float, high: float) -> Array:
    """Reflect coordinates outside [low, high] at the ends of the interval until they are inside."""
    span = high - low
    if span == 0:
        return np.full_like(c, low)
    beyond = np.maximum(low - c, c - high)
    turns = np.trunc(beyond / span)
    rest = beyond - turns * span
    from_low = (c < low) == (turns % 2 == 0)
    moved = np.where(from_low, low + rest, high - rest)
    return np.where(beyond > 0, moved, c)


def _weights(f: Array, mode: str) -> list[Array]:
    """Return the weight of each neighbour, given the fraction of a coordinate."""
    if mode == "nearest":
        return [np.ones_like(f)]
    if mode == "linear":
        return [1 - f, f]
    a = CUBIC
    outer = [((a * (d + 1) - 5 * a) * (d + 1) + 8 * a) * (d + 1) - 4 * a for d in (f, 1 - f)]
    inner = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (f, 1 - f)]
    return [outer[0], inner[0], inner[1], outer[1]]


# The lowering


@dataclass(frozen=True)
class _Axis:
    """One spatial axis: its size, the coordinates of the image's ends, and the padding mode."""

    k: Lowering
    size: Any
    mode: str
    padding: str
    align_corners: bool

    def coordinate(self, given: Scalar) -> Scalar:
        """Convert a coordinate in -1..1 to elements; the padding mode may clamp or mirror it."""
        k, dtype = self.k, given.dtype
        size = k.index(self.size, dtype)
        if self.align_corners:
            c = (given + 1.0) / 2.0 * (size - 1.0)
        else:
            c = ((given + 1.0) * size - 1.0) / 2.0
        c = k.round(c) if self.mode == "nearest" else c
        if not _is_moved(self.mode, self.padding):
            return c
        low, high = self._ends(dtype)
        moved = k.min(k.max(c, 0.0), size - 1.0) if self.padding == "border" else self.mirrored(c)
        return k.where(k.apply("or", k.lt(c, low), k.gt(c, high)), moved, c)

    def mirrored(self, c: Scalar) -> Scalar:
        """Reflect a coordinate at the ends of the image until it is inside."""
        k = self.k
        low, high = self._ends(c.dtype)
        if self.align_corners and self.size == 1:
            return low
        span = high - low
        beyond = k.max(low - c, c - high)
        turns = k.trunc(beyond / span)
        rest = beyond - turns * span
        is_even = k.eq(k.mod(turns, k.number(2.0, c.dtype)), 0.0)
        moved = k.where(k.eq(k.lt(c, low), is_even), low + rest, high - rest)
        return k.where(k.gt(beyond, 0.0), moved, c)

    def _ends(self, dtype: DType) -> tuple[Scalar, Scalar]:
        low, high = _border(self.k.index(self.size, dtype), self.align_corners)
        return self.k.number(low, dtype), high

    def taps(self, c: Scalar) -> list[tuple[Scalar, Scalar]]:
        """Return the indices (i64) of the elements adjacent to a coordinate, and their weights."""
        k = self.k
        below = k.floor(c)
        first = below - 1.0 if self.mode == "cubic" else below
        found: list[tuple[Scalar, Scalar]] = []
        for t, weight in enumerate(self._weights(c - below)):
            i = first + float(t) if t else first
            if self.padding == "reflection":
                i = self.mirrored(i)
            elif self.padding == "zeros":
                outside = k.apply("or", k.lt(i, 0.0), k.gt(i, k.index(self.size - 1, c.dtype)))
                weight = k.where(outside, 0.0, weight)
            found.append((k.convert(i, DType.i64), weight))
        return found

    def _weights(self, f: Scalar) -> list[Scalar]:
        if self.mode == "nearest":
            return [self.k.number(1.0, f.dtype)]
        if self.mode == "linear":
            return [1.0 - f, f]
        a = CUBIC
        sides: list[Scalar] = [f, 1.0 - f]
        outer = [((a * (d + 1.0) - 5 * a) * (d + 1.0) + 8 * a) * (d + 1.0) - 4 * a for d in sides]
        inner = [((a + 2) * d - (a + 3)) * d * d + 1.0 for d in sides]
        return [outer[0], inner[0], inner[1], outer[1]]


@grid_sample.cost
def _(x: TensorType, grid: TensorType, *, out: TensorType, mode: str, **_: Any) -> Cost:
    n_taps = TAPS[mode] ** (x.rank - 2)
    return traffic([x, grid], out, 2 * n_taps * n_elements(out))


@grid_sample.lower
def _(
    k: Lowering,
    x: Handle,
    grid: Handle,
    out: Handle,
    *,
    mode: str,
    padding: str,
    align_corners: bool,
) -> None:
    dtype = DType.f64 if DType.f64 in (x.dtype, grid.dtype) else DType.f32
    taps: list[list[tuple[Handle, Handle]]] = []
    for d, size in enumerate(x.shape[2:]):
        axis = _Axis(k, size, mode, padding, align_corners)
        index = k.axes(grid.shape[:-1])
        place = k.temporary(grid.shape[:-1], dtype, "place")
        given = k.convert(grid[*index, x.rank - 3 - d], dtype)
        k.assign(place[index], axis.coordinate(given))
        taps.append([])
        for i, weight in axis.taps(place[index]):
            stored = (
                k.temporary(place.shape, DType.i64, "tap"),
                k.temporary(place.shape, dtype, "w"),
            )
            k.assign(stored[0][index], i)
            k.assign(stored[1][index], weight)
            taps[-1].append(stored)
    n, c, *at = k.axes(out.shape)
    total: Scalar | None = None
    for choice in itertools.product(*taps):
        element = k.convert(x.at(n, c, *(i[n, *at] for i, _ in choice)), wide(x.dtype))
        for _, weight in choice:
            element = element * k.convert(weight[n, *at], element.dtype)
        total = element if total is None else total + element
    assert total is not None
    k.assign(out[n, c, *at], k.convert(total, out.dtype))


OLD_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Maps the names of modes before opset 20 to the names since opset 20."""


@grid_sample.onnx("GridSample")
def _(n: OnnxCall) -> Operand | None:
    x, grid = n.operand(0), n.operand(1)
    if x is None or x.type.shape is None or not (3 <= x.rank <= 5 and x.dtype.is_float):
        return None
    mode = n.attr("mode", "linear")
    return grid_sample(
        x,
        grid,
        mode=OLD_MODES.get(mode, mode),
        padding=n.attr("padding_mode", "zeros"),
        align_corners=bool(n.attr("align_corners", 0)),
    )


@grid_sample.export
def _(x: Tensor, grid: Tensor, *, mode: str, padding: str, align_corners: bool) -> Operand:
    return standard(
        "GridSample", x, grid, mode=mode, padding_mode=padding, align_corners=align_corners
    )


@grid_sample.samples
def _() -> Iterator[tuple[Any, ...]]:
    far = np.linspace(-3.1, 2.7, 2 * 3 * 5 * 2, dtype=np.float32).reshape(2, 3, 5, 2)
    for number, (padding, align_corners) in enumerate(itertools.product(PADDINGS, (False, True))):
        attrs = {"padding": padding, "align_corners": align_corners}
        yield ["f32[2,3,4,7]", far], {"mode": ["linear", "nearest", "cubic"][number % 3], **attrs}
    yield ["f32[2,1,4,7]", far], {"mode": "linear", "padding": "reflection"}
    yield ["f32[2,1,4,7]", far], {"mode": "nearest", "padding": "reflection"}
    yield ["f32[1,2,3,4,5]", "f32[1,2,3,2,3]"], {}
    yield ["f16[1,2,6]", "f16[1,19,1]"], {"mode": "cubic", "padding": "reflection"}
    yield ["f64[1,1,1,3]", "f32[1,2,4,2]"], {"padding": "reflection", "align_corners": True}
    yield ["f32[0,2,3,4]", "f32[0,2,2,2]"], {}
