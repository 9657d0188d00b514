"""Resizing with precomputed weights: cubic, antialiased, cropped, or with a fixed aspect ratio.

Each element of the result is a weighted sum of a few elements of the image. Axes are resized one
after the other. Indices and weights depend only on sizes and attributes, so they are computed at
compile time.
Source: ONNX Resize-19; the formulas follow its reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.limits import check_bytes
from compiler.ops.data_movement.gather import gather
from compiler.ops.elementwise.compare import where
from compiler.ops.images.resize_scales import meant, scaled_size
from compiler.ops.type_rules.dims import LARGEST_SIZE
from compiler.ops.type_rules.requirements import (
    n_elements,
    normal_axis,
    require_elements,
    require_rank,
    require_size,
    rounded,
    traffic,
    wide,
    widened,
)

TAP_BYTES = 64
"""The memory that the computation of weights needs per tap. Units: bytes."""


@op(kind="reduction", exact=False)
def resample(x: Tensor, places: Tensor, weights: Tensor, *, axis: int) -> TensorType:
    """Compute each element along an axis as a weighted sum of elements of x along this axis.

    Shapes: places (indices) and weights are [M, T], for an axis of size M in the result; indices
    are in bounds.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-AXIS.
    Source: ONNX Resize-19, along one axis.
    """
    require_elements("resample", "float", x, weights)
    require(places.dtype is DType.i64, "E-OP-DTYPE", f"places must be i64, got {places.type}")
    require_rank("resample", places, (2,), "places")
    require_rank("resample", weights, (2,), "weights")
    for d in range(2):
        require_size("resample", f"axis {d} of the weights", weights.shape[d], places.shape[d])
    at = normal_axis(axis, x.rank)
    return TensorType(x.dtype, (*x.shape[:at], places.shape[0], *x.shape[at + 1 :]))


@resample.reference
def _(x: Array, places: Array, weights: Array, *, axis: int) -> Array:
    at = axis % x.ndim
    shape = [1] * at + list(weights.shape) + [1] * (x.ndim - at - 1)
    taken = np.take(widened(x), places, at) * widened(weights).reshape(shape)
    return rounded(taken.sum(axis=at + 1), x)


@resample.cost
def _(x: TensorType, places: TensorType, weights: TensorType, *, out: TensorType, **_: Any) -> Cost:
    return traffic([x, places, weights], out, 2 * n_elements(out) * int(places.static_shape[1]))


@resample.lower
def _(k: Lowering, x: Handle, places: Handle, weights: Handle, out: Handle, *, axis: int) -> None:
    at = axis % x.rank
    index = k.axes(out.shape)
    t = k.axis(weights.shape[1], "t")
    place = places[index[at], t]
    element = k.convert(x.at(*index[:at], place, *index[at + 1 :]), wide(x.dtype))
    weight = k.convert(weights[index[at], t], element.dtype)
    k.assign(out[index], k.convert(k.sum(weight * element, over=t), out.dtype))


@resample.samples
def _() -> Iterator[tuple[Any, ...]]:
    places = np.array([[0, 1], [2, 2], [3, 0]])
    yield ["f32[4,5]", places, "f32[3,2]"], {"axis": 0}
    yield ["f32[2,4,3]", places, "f32[3,2]"], {"axis": 1}
    yield ["f16[2,4]", places, "f16[3,2]"], {"axis": -1}
    yield ["f64[0,4]", places[:1], "f64[1,2]"], {"axis": 1}


@resample.export
def _(x: Tensor, places: Tensor, weights: Tensor, *, axis: int) -> Operand:
    """Export as a gather, a multiplication by weights and a sum (in f32 for short floats)."""
    at = normal_axis(axis, x.rank)
    short = wide(x.dtype) is not x.dtype
    given: Operand = standard("Cast", x, to=wide(x.dtype)) if short else x
    taken = standard("Gather", given, places, axis=at)
    factors: Operand = standard("Cast", weights, to=wide(x.dtype))
    behind = x.rank - at - 1
    if behind:
        axes = np.arange(2, 2 + behind)
        factors = standard("Unsqueeze", factors, axes)
    parts = standard("Mul", taken, factors)
    total = standard("ReduceSum", parts, np.array([at + 1]), keepdims=False)
    return standard("Cast", total, to=x.dtype) if short else total


# Weights


Coefficients = Callable[[float, float], Array]
"""A function from the fraction of a coordinate and the scale to the weights of the neighbours."""


def _cubic(a: float) -> Coefficients:
    def weights(ratio: float, scale: float) -> Array:
        return _keys(np.array([1 + ratio, ratio, 1 - ratio, 2 - ratio]), a)

    return weights


def _keys(distance: Array, a: float) -> Array:
    """Keys' cubic convolution kernel. Source: Keys 1981, equation 15."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _cubic_smooth(a: float) -> Coefficients:
    def weights(ratio: float, scale: float) -> Array:
        scale = min(scale, 1.0)
        start = int(np.floor(-2 / scale)) + 1
        found = _keys(scale * (np.arange(start, 2 - start) - ratio), a)
        return found / found.sum()

    return weights


def _linear(ratio: float, scale: float) -> Array:
    return np.array([1 - ratio, ratio])


def _linear_smooth(ratio: float, scale: float) -> Array:
    scale = min(scale, 1.0)
    start = int(np.floor(-1 / scale)) + 1
    found = np.clip(1 - np.abs(np.arange(start, 2 - start) - ratio) * scale, 0, 1)
    return found / found.sum()


def _nearest(rounding: str) -> Coefficients:
    def weights(ratio: float, scale: float) -> Array:
        upper = {
            "round_prefer_floor": ratio > 0.5,
            "round_prefer_ceil": ratio >= 0.5,
            "floor": ratio == 1,
            "ceil": True,
        }[rounding]
        return np.array([not upper, upper], np.float64)

    return weights


@dataclass(frozen=True)
class Taps:
    """Taps along an axis: indices and weights [M, T], and a mask [M] of results outside x."""

    places: Array
    weights: Array
    outside: Array


def coordinates_of(
    mode: str, size: int, new_size: int, scale: float, crop: tuple[float, float]
) -> Array:
    """Map each index along an axis of the result to a coordinate in the image."""
    i = np.arange(new_size, dtype=np.float64)
    match mode:
        case "align_corners":
            return i * 0 if new_size == 1 else i * (size - 1) / (new_size - 1)
        case "asymmetric":
            return i / scale
        case "tf_crop_and_resize":
            begin, span = crop[0] * (size - 1), (crop[1] - crop[0]) * (size - 1)
            return begin + (i * 0 + span / 2 if new_size == 1 else i * span / (new_size - 1))
        case "pytorch_half_pixel" if new_size == 1:
            return i * 0
        case "tf_half_pixel_for_nn":
            return (i + 0.5) / scale
        case "half_pixel_symmetric":
            return size / 2 * (1 - new_size / (scale * size)) + (i + 0.5) / scale - 0.5
        case _:
            return (i + 0.5) / scale - 0.5


def taps(at: Array, size: int, scale: float, weigh: Coefficients, *, inside_only: bool) -> Taps:
    """Return the elements adjacent to each coordinate, and their weights.

    With `inside_only`, neighbours outside the image have weight 0; otherwise, their indices are
    clamped. For an integral coordinate, the interval on its left is used, with fraction 1.
    """
    whole = np.floor(at)
    ratios = np.where(at == whole, 1.0, at - whole)
    weights = np.stack([weigh(float(r), scale) for r in ratios])
    n = weights.shape[1]
    if n % 2 == 0:
        first = whole - n // 2 + (at != whole)
    else:
        first = whole - (n - 1) // 2 + (at - whole > 0.5)
    places = first.astype(np.int64)[:, None] + np.arange(n)
    if inside_only:
        weights = np.where((places < 0) | (places >= size), 0.0, weights)
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return Taps(np.clip(places, 0, size - 1), weights, (at < 0) | (at > size - 1))


# ONNX


def resampled(n: OnnxCall, scales: Array | None, sizes: Array | None) -> Operand | None:
    """Import a Resize as one `resample` or gather per axis; return None if it stays foreign."""
    x, roi = n.operand(0), n.operand(1)
    assert x is not None
    mode = str(n.attr("mode", "nearest"))
    coordinates = str(n.attr("coordinate_transformation_mode", "half_pixel"))
    weigh = _weigher(n, mode)
    if weigh is None or not x.type.is_static or 0 in x.shape:
        return None
    if not x.dtype.is_float and mode != "nearest":
        return None
    axes = [normal_axis(int(a), x.rank) for a in n.attr("axes") or range(x.rank)]
    crops = _crops(roi, len(axes)) if coordinates == "tf_crop_and_resize" else [(0.0, 1.0)] * 64
    if crops is None:
        return None
    policy = str(n.attr("keep_aspect_ratio_policy", "stretch"))
    shape = x.type.static_shape
    targets = _targets([shape[a] for a in axes], scales, sizes, policy)
    made: Operand = x
    for axis, (new_size, scale), crop in zip(axes, targets, crops, strict=False):
        size = shape[axis]
        if scale == 1 and new_size == size and crop == (0.0, 1.0):
            continue
        at = coordinates_of(coordinates, size, new_size, scale, crop)
        if not at.size:
            return None
        found = taps(at, size, scale, weigh, inside_only=bool(n.attr("exclude_outside", 0)))
        made = _along(made, x, axis, found, mode)
        if coordinates == "tf_crop_and_resize" and found.outside.any():
            beyond = np.asarray(n.attr("extrapolation_value", 0.0), x.dtype.numpy)
            column = found.outside.reshape([-1, *[1] * (x.rank - axis - 1)])
            made = where(column, beyond, made)
    return made


def _along(made: Operand, x: Tensor, axis: int, found: Taps, mode: str) -> Operand:
    if mode == "nearest":
        best = found.weights.argmax(axis=1)[:, None]
        return gather(made, np.take_along_axis(found.places, best, 1)[:, 0], axis=axis)
    return resample(made, found.places, found.weights.astype(x.dtype.numpy), axis=axis)


def _weigher(n: OnnxCall, mode: str) -> Coefficients | None:
    a, smooth = float(n.attr("cubic_coeff_a", -0.75)), bool(n.attr("antialias", 0))
    match mode, smooth:
        case "cubic", _:
            return _cubic_smooth(a) if smooth else _cubic(a)
        case "linear", _:
            return _linear_smooth if smooth else _linear
        case "nearest", False:
            return _nearest(str(n.attr("nearest_mode", "round_prefer_floor")))
        case _:
            return None


def _crops(roi: Tensor | None, n_axes: int) -> list[tuple[float, float]] | None:
    """Return the start and end of the resized region along each axis; None if unknown."""
    if roi is None or roi.value is None or roi.value.size != 2 * n_axes:
        return None
    ends = roi.known.astype(np.float64).reshape(2, n_axes)
    return [(float(b), float(e)) for b, e in ends.T]


def _targets(
    old: Sequence[int], scales: Array | None, sizes: Array | None, policy: str
) -> list[tuple[int, float]]:
    """Return the new size and scale of each axis.

    Errors: E-OP-SHAPE for a wrong number of scales or sizes.
    """
    given = sizes if scales is None else scales
    assert given is not None
    fits = given.size == len(old)
    require(fits, "E-OP-SHAPE", f"resize needs {len(old)} scales or sizes, got {given.size}")
    numbers = [float(v) for v in given]
    fits = all(math.isfinite(v) and v >= 0 for v in numbers)
    require(fits, "E-OP-ATTRIBUTE", f"resize needs scales or sizes of at least 0, got {numbers}")
    new = [v * n for v, n in zip(numbers, old, strict=True)] if scales is not None else numbers
    for size in new:
        message = f"resize would return an axis of {size:.3g} elements"
        require(size <= LARGEST_SIZE, "E-OP-SHAPE", message)
        check_bytes(int(size) * TAP_BYTES, f"the weights of {int(size):,} elements")
    if scales is not None:
        exact = [meant(s) for s in scales]
        return [(int(scaled_size(n, s)), float(s)) for s, n in zip(exact, old, strict=True)]
    wanted = [int(v) for v in given]
    factors = [new / n for new, n in zip(wanted, old, strict=True)]
    if policy == "stretch":
        return list(zip(wanted, factors, strict=True))
    factor = min(factors) if policy == "not_larger" else max(factors)
    return [(int(factor * n + 0.5), factor) for n in old]
