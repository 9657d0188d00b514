"""Resizing of images by nearest neighbours or linear interpolation.

Each index of the result corresponds to a fractional coordinate in the image. Since sizes are known
at compile time, the coordinate is an exact fraction (a*i + b) / c of integers. Integer divisions of
this fraction give neighbours and weights without rounding errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.ir import affine
from compiler.ir.affine import Affine, Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.images.resample import resampled
from compiler.ops.images.resize_scales import meant, scaled_size
from compiler.ops.type_rules.requirements import (
    is_one_of,
    n_elements,
    normal_axis,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@op(traits=("channelwise",), kind="movement", exact=False)
def resize(
    x: Tensor,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
    *,
    axes: tuple[int, ...],
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    nearest: str = "round_prefer_floor",
) -> TensorType:
    """Resize along some axes, by factors (`scales`) or to given `sizes`.

    The mode `coordinates` determines the map from indices of the result to coordinates in the
    image. Mode "nearest" selects the nearest element (`nearest` is the rounding), and mode "linear"
    interpolates between the two neighbours along each axis. Coordinates outside the image are
    clamped.
    Shapes: `scales` or `sizes` has one element for each axis in `axes`. With `scales`, an axis of
    size n becomes floor(n * scale).
    Errors: E-OP-ATTRIBUTE, E-OP-OPERANDS unless exactly one of scales and sizes is present,
    E-SHAPE-OPEN for unknown elements.
    Source: ONNX Resize-19.
    """
    require_elements("resize", "number", x)
    for what, value, allowed in (
        ("mode", mode, ("nearest", "linear")),
        ("coordinates", coordinates, COORDINATES),
        ("nearest", nearest, NEAREST),
    ):
        require(
            value in allowed,
            "E-OP-ATTRIBUTE",
            f"resize needs {what} as one of {', '.join(allowed)}, got {value!r}",
        )
    require(
        (scales is None) != (sizes is None),
        "E-OP-OPERANDS",
        "resize takes either scales or sizes, not both",
    )
    if x.type.shape is None:
        return x.type
    dims = list(x.shape)
    wanted = _wanted_sizes(x, scales, sizes, axes)
    for axis, size in zip(axes, wanted, strict=True):
        dims[normal_axis(axis, x.rank)] = size
    return TensorType(x.dtype, tuple(dims))


def _wanted_sizes(
    x: Tensor, scales: Tensor | None, sizes: Tensor | None, axes: tuple[int, ...]
) -> list[Dim]:
    given = sizes if scales is None else scales
    assert given is not None
    if given.value is None:
        raise CompileError("E-SHAPE-OPEN", "resize needs scales or sizes known at compile time")
    require(
        given.value.shape == (len(axes),),
        "E-OP-SHAPE",
        f"resize needs {len(axes)} scales or sizes, got {list(given.value.shape)}",
    )
    if scales is None:
        sizes_given = [n if isinstance(n, Affine) else int(n) for n in given.value.tolist()]
        require(
            all(isinstance(n, Affine) or n >= 0 for n in sizes_given),
            "E-OP-SHAPE",
            f"resize needs sizes of at least 0, got {sizes_given}",
        )
        return sizes_given
    return [
        scaled_size(x.shape[normal_axis(axis, x.rank)], meant(scale))
        for axis, scale in zip(axes, scales.known.reshape(-1), strict=True)
    ]


# Coordinates as exact fractions


@dataclass(frozen=True)
class Line:
    """A linear function: the coordinate (a*i + b) / c of index i of the result."""

    a: int
    b: int
    c: int

    @staticmethod
    def of(slope: Fraction, start: Fraction) -> Line:
        """Return the linear function start + slope*i."""
        c = lcm(slope.denominator, start.denominator)
        return Line(int(slope * c), int(start * c), c)

    def plus(self, offset: Fraction) -> Line:
        """Return the linear function plus an offset."""
        return Line.of(Fraction(self.a, self.c), Fraction(self.b, self.c) + offset)

    def floor(self, i: Expr) -> Expr:
        """Return the coordinate for index i, rounded down."""
        return affine.floordiv(i * self.a + self.b, self.c)

    def ceil(self, i: Expr) -> Expr:
        """Return the coordinate for index i, rounded up."""
        return affine.floordiv(i * self.a + self.b + (self.c - 1), self.c)


def line(coordinates: str, size: int, new_size: int, scale: Fraction) -> Line:
    """Map the indices of an axis of `new_size` to coordinates on an axis of `size`.

    ONNX's `length_resized` is `new_size`, rounded down; ONNX's `output_width` is not rounded.
    Errors: Undecided if a size is open and size 1 needs another function than other sizes.
    """
    half = Fraction(1, 2)
    match coordinates:
        case "asymmetric":
            return Line.of(1 / scale, Fraction(0))
        case "align_corners":
            steps = Fraction(size - 1, new_size - 1) if new_size != 1 else Fraction(0)
            return Line.of(steps, Fraction(0))
        case "tf_half_pixel_for_nn":
            return Line.of(1 / scale, half / scale)
        case "pytorch_half_pixel" if scale < 1 and new_size <= 1:
            return Line.of(Fraction(0), Fraction(0))
        case "half_pixel_symmetric":
            # The centres stay aligned if floor() has reduced the size.
            adjustment = new_size / (size * scale)
            offset = Fraction(size, 2) * (1 - adjustment)
            return Line.of(1 / scale, offset + half / scale - half)
        case _:
            return Line.of(1 / scale, half / scale - half)


def nearest_index(at: Line, i: Expr, rounding: str) -> Expr:
    """Round a coordinate by a rounding mode."""
    match rounding:
        case "floor":
            return at.floor(i)
        case "ceil":
            return at.ceil(i)
        case "round_prefer_ceil":
            return at.plus(Fraction(1, 2)).floor(i)
        case _:
            return at.plus(Fraction(-1, 2)).ceil(i)


@dataclass(frozen=True)
class _Resized:
    """A resized axis: its number, its size in the image, and the coordinates of its indices."""

    axis: int
    size: int
    line: Line


def _resized(
    shape: Sequence[int],
    new_shape: Sequence[int],
    scales: Array | None,
    axes: tuple[int, ...],
    coordinates: str,
) -> list[_Resized]:
    found: list[_Resized] = []
    for position, a in enumerate(axes):
        axis = normal_axis(a, len(shape))
        size, new_size = shape[axis], new_shape[axis]
        if size == 0 or new_size == 0:
            continue
        if scales is not None:
            scale = meant(scales.reshape(-1)[position])
        else:
            scale = _ratio(new_size, size)
        if scale != 1:
            found.append(_Resized(axis, size, line(coordinates, size, new_size, scale)))
    return found


def _ratio(new_size: Expr, size: Expr) -> Fraction:
    """Return the ratio of two sizes of an axis; for open sizes, the ratio must be constant."""
    if isinstance(new_size, int) and isinstance(size, int):
        return Fraction(new_size, size)
    times, parts = affine.floordiv(new_size, size), affine.floordiv(size, new_size)
    if isinstance(times, int) and size * times == new_size:
        return Fraction(times)
    if isinstance(parts, int) and new_size * parts == size:
        return Fraction(1, parts)
    raise affine.Undecided(f"the ratio of {new_size} to {size} depends on the sizes")


@resize.reference
def _(
    x: Array,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    axes: tuple[int, ...],
    mode: str,
    coordinates: str,
    nearest: str,
) -> Array:
    new_shape = list(x.shape)
    for position, a in enumerate(axes):
        axis = normal_axis(a, x.ndim)
        if sizes is not None:
            new_shape[axis] = int(sizes[position])
        elif scales is not None:
            new_shape[axis] = int(scaled_size(x.shape[axis], meant(scales[position])))
    if 0 in new_shape:
        return np.empty(new_shape, x.dtype)
    made = widened(x)
    for r in _resized(x.shape, new_shape, scales, axes, coordinates):
        at = np.arange(new_shape[r.axis]) * (r.line.a / r.line.c) + r.line.b / r.line.c
        if mode == "nearest":
            exact = [int(nearest_index(r.line, i, nearest)) for i in range(new_shape[r.axis])]
            made = np.take(made, np.clip(exact, 0, r.size - 1), axis=r.axis)
            continue
        low = np.floor(at).astype(np.int64)
        weight = (at - low).astype(made.dtype if made.dtype.kind == "f" else np.float64)
        weight = weight.reshape([-1 if d == r.axis else 1 for d in range(x.ndim)])
        before = np.take(made, np.clip(low, 0, r.size - 1), axis=r.axis)
        after = np.take(made, np.clip(low + 1, 0, r.size - 1), axis=r.axis)
        made = before * (1 - weight) + after * weight
    return rounded(made, x)


@resize.cost
def _(x: TensorType, *parameters: Any, out: TensorType, mode: str, axes: Any, **_: Any) -> Cost:
    flops = 0 if mode == "nearest" else 3 * (2 ** len(axes) - 1) * n_elements(out)
    return traffic([x], out, flops)


@resize.lower
def _(
    k: Lowering,
    x: Handle,
    scales: Handle | None,
    sizes: Handle | None,
    out: Handle,
    *,
    axes: tuple[int, ...],
    mode: str,
    coordinates: str,
    nearest: str,
) -> None:
    factors = None
    if scales is not None:
        if scales.value is None:
            raise CompileError("E-SHAPE-OPEN", "resize needs scales known at compile time")
        factors = scales.value
    index = k.axes(out.shape)
    changed = _resized(x.shape, out.shape, factors, axes, coordinates)
    if mode == "nearest":
        source = list(index)
        for r in changed:
            at = nearest_index(r.line, index[r.axis], nearest)
            source[r.axis] = _clamped(at, index[r.axis], out.shape[r.axis], r.size)
        k.assign(out[index], x[source])
        return
    dtype = wide(x.dtype) if x.dtype.is_float else DType.f64
    value = _mixed(k, x, list(index), index, changed, out.shape, dtype)
    k.assign(out[index], k.convert(value, out.dtype))


def _clamped(at: Expr, i: Expr, n_places: int, size: int) -> Expr:
    """Clamp an index to the image's axis if the index can be out of bounds."""
    inside = affine.maximum(affine.minimum(at, size - 1), 0)
    return affine.simplify(inside, {str(i): (0, max(affine.last_of(n_places), 0))})


def _mixed(
    k: Lowering,
    x: Handle,
    source: list[Expr],
    index: Sequence[Expr],
    changed: Sequence[_Resized],
    new_shape: Sequence[int],
    dtype: DType,
) -> Scalar:
    """Interpolate linearly along the last resized axis, and recursively along the other axes."""
    if not changed:
        return k.convert(x[source], dtype)
    *others, r = changed
    i = index[r.axis]
    low = r.line.floor(i)
    ends: list[Scalar] = []
    for at in (low, low + 1):
        moved = [*source]
        moved[r.axis] = _clamped(at, i, new_shape[r.axis], r.size)
        ends.append(_mixed(k, x, moved, index, others, new_shape, dtype))
    weight = k.index(affine.mod(i * r.line.a + r.line.b, r.line.c), dtype) * (1 / r.line.c)
    return ends[0] * (1.0 - weight) + ends[1] * weight


@resize.samples
def _() -> Iterator[tuple[Any, ...]]:
    def scales(*values: float) -> Array:
        return np.array(values, np.float32)

    for coordinates in COORDINATES:
        for nearest in NEAREST:
            attrs = {"axes": (2, 3), "coordinates": coordinates, "nearest": nearest}
            yield ["f32[1,2,5,4]", None, np.array([7, 9])], attrs
            yield ["f32[1,2,5,7]", scales(0.6, 1.5)], attrs
        attrs = {"axes": (2, 3), "coordinates": coordinates, "mode": "linear"}
        yield ["f32[1,2,5,4]", None, np.array([3, 9])], attrs
        yield ["f32[1,2,5,7]", scales(2.0, 0.4)], attrs
        yield ["f32[1,2,5,4]", None, np.array([1, 1])], attrs
    yield ["f32[1,2,3,4]", scales(1, 1, 2, 2)], {"axes": (0, 1, 2, 3), "coordinates": "asymmetric"}
    yield ["f32[2,3,4]", scales(1.7)], {"axes": (-1,), "mode": "linear"}
    yield ["u8[1,1,3,4]", scales(2, 3)], {"axes": (2, 3)}
    yield ["f16[1,1,3,4]", scales(2, 3)], {"axes": (2, 3), "mode": "linear"}
    yield ["f32[2,1,3]", scales(0.6)], {"axes": (1,), "mode": "linear"}
    yield ["f32[0,2,3,4]", scales(2, 3)], {"axes": (2, 3), "mode": "linear"}


# ONNX


@resize.onnx("Resize")
def _(n: OnnxCall) -> Operand | None:
    """Import nearest and linear modes with exact fractions, and other modes by `resampled`."""
    x = n.operand(0)
    assert x is not None
    mode = str(n.attr("mode", "nearest"))
    if n.opset < 11:
        return _upsampled(x, n.operand(1), mode)
    coordinates = str(n.attr("coordinate_transformation_mode", "half_pixel"))
    kept = str(n.attr("keep_aspect_ratio_policy", "stretch")) == "stretch"
    special = n.attr("antialias", 0) or n.attr("exclude_outside", 0)
    scales, sizes = _if_any(n.operand(2)), _if_any(n.operand(3))
    given = sizes if scales is None else scales
    if x.type.shape is None or given is None or given.value is None or not _is_plain(x):
        return None
    if special or not kept or coordinates not in COORDINATES or mode not in ("nearest", "linear"):
        numbers = None if given.value.dtype == np.object_ else given.value.reshape(-1)
        if numbers is None:
            return None
        return resampled(n, *((numbers, None) if scales is not None else (None, numbers)))
    axes = tuple(normal_axis(int(a), x.rank) for a in n.attr("axes") or range(x.rank))
    return resize(
        x,
        scales,
        None if scales is not None else sizes,
        axes=axes,
        mode=mode,
        coordinates=coordinates,
        nearest=str(n.attr("nearest_mode", "round_prefer_floor")),
    )


@resize.onnx("Upsample")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    mode = str(n.attr("mode", "nearest"))
    if n.opset >= 9:
        return _upsampled(x, n.operand(1), mode)
    given = n.attr("scales")
    if given is None:
        given = [1.0, 1.0, n.attr("height_scale", 1.0), n.attr("width_scale", 1.0)]
    scales = np.array(given, np.float32)
    return _upsampled(x, Tensor("", TensorType(DType.f32, scales.shape), scales), mode)


@resize.export
def _(
    x: Tensor,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
    *,
    axes: tuple[int, ...],
    mode: str,
    coordinates: str,
    nearest: str,
) -> Operand:
    every = x.type.shape is not None and axes == tuple(range(x.rank))
    return standard(
        "Resize",
        x,
        None,
        scales,
        sizes,
        axes=None if every else axes,
        mode=mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode=nearest,
    )


def _upsampled(x: Tensor, scales: Tensor | None, mode: str) -> Operand | None:
    mode = {"bilinear": "linear"}.get(mode, mode)
    known = scales is not None and scales.value is not None
    if not known or x.type.shape is None or mode not in ("nearest", "linear") or not _is_plain(x):
        return None
    axes = tuple(range(x.rank))
    return resize(x, scales, axes=axes, mode=mode, coordinates="asymmetric", nearest="floor")


def _if_any(t: Tensor | None) -> Tensor | None:
    """Treat an empty tensor as omitted, as ONNX does."""
    return None if t is None or t.type.shape == (0,) else t


def _is_plain(x: Tensor) -> bool:
    return is_one_of(x.dtype, "number")
