"""Region of interest alignment: regions of an image, resampled to one size."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Read, Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.positions import require_positions
from compiler.ops.type_rules.dims import same_size
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

MODES = ("avg", "max")


@op(kind="opaque", exact=False)
def roi_align(
    x: Tensor,
    rois: Tensor,
    images: Tensor,
    *,
    size: tuple[int, int],
    samples: int = 0,
    scale: float = 1.0,
    mode: str = "avg",
    half_pixel: bool = True,
) -> TensorType:
    """Resample regions of images to one size: the mean or the maximum of the samples in each bin.

    A region is divided into bins, with `samples` x `samples` sampling points per bin. If `samples`
    is 0, the number along each axis is the bin's size in elements, rounded up. The image is
    interpolated linearly at the sampling points. Coordinates are multiplied by `scale` and, with
    `half_pixel`, shifted by half an element.
    Shapes: x [N, C, H, W]; rois [R, 4] as (x1, y1, x2, y2); images [R], the index of each region's
    image. The result is [R, C, *size].
    Errors: E-OP-SHAPE, E-OP-DTYPE, E-OP-ATTRIBUTE for an unknown mode.
    Source: ONNX RoiAlign-22; as in ONNX, the maximum is taken over neighbours multiplied by their
    weights.
    """
    require_elements("roi_align", "float", x, rois)
    require_positions("roi_align", images, "the numbers of images")
    require(
        mode in MODES, "E-OP-ATTRIBUTE", f"mode must be one of {', '.join(MODES)}, got {mode!r}"
    )
    fits = len(size) == 2 and min(size) > 0 and samples >= 0
    message = f"roi_align needs 2 positive sizes and 0 or more samples, got {size} and {samples}"
    require(fits, "E-OP-ATTRIBUTE", message)
    require_rank("roi_align", x, [4])
    require_rank("roi_align", rois, [2], "rois")
    require_rank("roi_align", images, [1], "images")
    require_size("roi_align", "axis 1 of rois", rois.shape[1], 4)
    message = f"{rois.type} and {images.type} differ in the number of regions"
    n = same_size(rois.shape[0], images.shape[0], message)
    return TensorType(x.dtype, (n, x.shape[1], *size))


# The reference in numpy


@roi_align.reference
def _(
    x: Array,
    rois: Array,
    images: Array,
    *,
    size: tuple[int, int],
    samples: int,
    scale: float,
    mode: str,
    half_pixel: bool,
) -> Array:
    made = np.zeros((len(rois), x.shape[1], *size), x.dtype)
    for number, (roi, image) in enumerate(zip(widened(rois), images, strict=True)):
        x1, y1, x2, y2 = roi * roi.dtype.type(scale) - (0.5 if half_pixel else 0)
        axes = [
            _samples(a, b, n, bins, samples, half_pixel)
            for a, b, n, bins in zip((y1, x1), (y2, x2), x.shape[2:], size, strict=True)
        ]
        for by in range(size[0]):
            for bx in range(size[1]):
                bins = axes[0][by], axes[1][bx]
                if bins[0] and bins[1]:
                    bin_ = _read_bin(widened(x[image]), bins, mode)
                    made[number, :, by, bx] = rounded(bin_, x)
    return made


Weighted = list[tuple[tuple[int, Any], tuple[int, Any]]]
"""For each sample along an axis: its two neighbours, each as an index and a weight."""


def _samples(a: Any, b: Any, n: int, bins: int, samples: int, half_pixel: bool) -> list[Weighted]:
    length = b - a if half_pixel else max(b - a, type(a)(1))
    step = length / type(a)(bins)
    count = samples or int(np.ceil(step))
    found: list[Weighted] = []
    for i in range(bins):
        places = [a + i * step + type(a)(s + 0.5) * step / count for s in range(count)]
        found.append([_neighbours(place, n) for place in places])
    return found


def _neighbours(place: Any, n: int) -> tuple[tuple[int, Any], tuple[int, Any]]:
    if place < -1 or place > n:
        return (0, 0 * place), (0, 0 * place)
    inside = min(max(place, 0 * place), place * 0 + n - 1)
    low = int(inside)
    rest = inside - low
    return (low, 1 - rest), (min(low + 1, n - 1), rest)


def _read_bin(image: Array, bins: tuple[Weighted, Weighted], mode: str) -> Array:
    parts = [
        [image[:, i, j] * (wy * wx) for i, wy in vertical for j, wx in horizontal]
        for vertical in bins[0]
        for horizontal in bins[1]
    ]
    if mode == "max":
        return np.max([np.max(corners, axis=0) for corners in parts], axis=0)
    return np.sum(parts, axis=(0, 1)) / len(parts)


# The lowering


class _Region:
    """The regions of interest, with coordinates as scalar expressions."""

    def __init__(
        self, k: Lowering, x: Handle, rois: Handle, size: tuple[int, int], samples: int
    ) -> None:
        self.k, self.x, self.rois, self.size, self.samples = k, x, rois, size, samples
        self.dtype = wide(x.dtype)

    def span(self, r: Expr, d: int, scale: float, half_pixel: bool) -> tuple[Scalar, Scalar]:
        """Return the start of region r along axis d (y, x), and the length of its bins."""
        k = self.k
        first, last = (
            k.convert(self.rois[r, corner], self.dtype) * scale - (0.5 if half_pixel else 0.0)
            for corner in (1 - d, 3 - d)
        )
        length: Scalar = last - first
        if not half_pixel:
            length = k.max(length, 1.0)
        return first, length / float(self.size[d])

    def place(
        self, first: Scalar, step: Scalar, bin_: Scalar, sample: Scalar, count: Scalar | float
    ) -> Scalar:
        """Return the coordinate of a sample, rounded as in the reference and ONNX Runtime."""
        return first + bin_ * step + (sample + 0.5) * step / count

    def neighbours(self, place: Scalar, d: int) -> list[tuple[Scalar, Scalar]]:
        """Return the two elements adjacent to a coordinate along axis d, and their weights."""
        k = self.k
        size = k.index(self.x.shape[2 + d], self.dtype)
        outside = k.apply("or", k.lt(place, -1.0), k.gt(place, size))
        inside = k.min(k.max(place, 0.0), size - 1.0)
        low = k.floor(inside)
        rest = inside - low
        at = k.convert(low, DType.i64)
        return [(at, k.where(outside, 0.0, 1.0 - rest)), (at + 1, k.where(outside, 0.0, rest))]


@roi_align.cost
def _(
    x: TensorType,
    rois: TensorType,
    images: TensorType,
    *,
    out: TensorType,
    samples: int,
    **_: Any,
) -> Cost:
    return traffic([x, rois, images], out, 8 * max(samples, 2) ** 2 * n_elements(out))


@roi_align.lower
def _(
    k: Lowering,
    x: Handle,
    rois: Handle,
    images: Handle,
    out: Handle,
    *,
    size: tuple[int, int],
    samples: int,
    scale: float,
    mode: str,
    half_pixel: bool,
) -> None:
    region = _Region(k, x, rois, size, samples)
    steps = [k.temporary((rois.shape[0], 2), region.dtype, f"step{d}") for d in range(2)]
    for d, step in enumerate(steps):
        r = k.axis(rois.shape[0], "r")
        first, length = region.span(r, d, scale, half_pixel)
        k.assign(step[r, 0], first)
        r = k.axis(rois.shape[0], "r")
        first, length = region.span(r, d, scale, half_pixel)
        k.assign(step[r, 1], length)
    if samples:
        _fixed_samples(region, steps, images, out, mode)
    else:
        _counted_samples(region, steps, images, out, mode)


def _fixed_samples(
    region: _Region, steps: list[Handle], images: Handle, out: Handle, mode: str
) -> None:
    """Lower a fixed number of samples per bin to a reduction over the samples."""
    k, n = region.k, region.samples
    tables: list[list[tuple[Handle, Handle]]] = []
    for d, step in enumerate(steps):
        shape = (out.shape[0], region.size[d], n)
        r, b, s = k.axes(shape, "rbs")
        place = region.place(
            step[r, 0], step[r, 1], k.index(b, region.dtype), k.index(s, region.dtype), float(n)
        )
        tables.append([])
        for at, weight in region.neighbours(place, d):
            kept = k.temporary(shape, DType.i64, "at"), k.temporary(shape, region.dtype, "weight")
            k.assign(kept[0][r, b, s], at)
            k.assign(kept[1][r, b, s], weight)
            tables[-1].append(kept)
    r, c, y, x = k.axes(out.shape, "rcyx")
    sy, sx = k.axis(n, "sy"), k.axis(n, "sx")
    corners = [
        k.convert(region.x.at(images[r], c, ay[r, y, sy], ax[r, x, sx]), region.dtype)
        * (wy[r, y, sy] * wx[r, x, sx])
        for ay, wy in tables[0]
        for ax, wx in tables[1]
    ]
    if mode == "max":
        value = k.reduce("max", _all(k.max, corners), [sy, sx])
    else:
        value = k.sum(_all(k.add, corners), [sy, sx]) * (1 / n**2)
    k.assign(out[r, c, y, x], k.convert(value, out.dtype))


def _all(combine: Callable[[Scalar, Scalar], Scalar], parts: Sequence[Scalar]) -> Scalar:
    first, *rest = parts
    for part in rest:
        first = combine(first, part)
    return first


def _counted_samples(
    region: _Region, steps: list[Handle], images: Handle, out: Handle, mode: str
) -> None:
    """Lower a data-dependent number of samples per bin to loops.

    The coordinates of a sample are computed once for all channels.
    """
    k, channels = region.k, out.shape[1]
    total = k.temporary((channels,), region.dtype, "total")
    with k.routine() as b:
        cells = [b.cell(DType.i64, "sy"), b.cell(DType.i64, "sx")]
        sides = [
            [(b.cell(DType.i64, "at"), b.cell(region.dtype, "share")) for _ in range(2)]
            for _ in range(2)
        ]
        with b.loops((out.shape[0], *out.shape[2:]), "ryx") as (r, *at):
            counts = [k.convert(k.ceil(step[r, 1]), DType.i64) for step in steps]
            with b.loop(channels, "c", kind="vector") as c:
                b.store(total[c], 0.0)
            with _count_up(k, b, cells[0], counts[0]), _count_up(k, b, cells[1], counts[1]):
                for d, (step, i, s, n) in enumerate(zip(steps, at, cells, counts, strict=True)):
                    sample, count = (k.convert(v, region.dtype) for v in (s, n))
                    place = region.place(
                        step[r, 0], step[r, 1], k.index(i, region.dtype), sample, count
                    )
                    for kept, found in zip(sides[d], region.neighbours(place, d), strict=True):
                        for cell, value in zip(kept, found, strict=True):
                            b.store(cell, value)
                with b.loop(channels, "c", kind="vector") as c:
                    corners = [
                        k.convert(region.x.at(images[r], c, i, j), region.dtype) * (wy * wx)
                        for i, wy in sides[0]
                        for j, wx in sides[1]
                    ]
                    if mode == "avg":
                        b.store(total[c], total[c] + _all(k.add, corners))
                    else:
                        largest = _all(k.max, corners)
                        is_first = k.eq(cells[0] + cells[1], 0)
                        b.store(total[c], k.where(is_first, largest, k.max(total[c], largest)))
            n = k.convert(k.max(counts[0] * counts[1], 1), region.dtype)
            with b.loop(channels, "c") as c:
                value = total[c] / n if mode == "avg" else total[c]
                b.store(out[r, c, *at], k.convert(value, out.dtype))


@contextmanager
def _count_up(k: Lowering, b: RoutineBuilder, cell: Read, stop: Scalar) -> Generator[None]:
    """Open a loop whose number of iterations depends on data."""
    b.store(cell, 0)
    with b.repeat(k.lt(cell, stop)):
        yield
        b.store(cell, cell + 1)


@roi_align.onnx("RoiAlign")
def _(n: OnnxCall) -> Operand:
    """Import RoiAlign; by default since opset 16, coordinates are shifted by half an element."""
    transformation = "half_pixel" if n.opset >= 16 else "output_half_pixel"
    transformation = n.attr("coordinate_transformation_mode", transformation)
    return roi_align(
        *(n.operand(i) for i in range(3)),
        size=(n.attr("output_height", 1), n.attr("output_width", 1)),
        samples=n.attr("sampling_ratio", 0),
        scale=n.attr("spatial_scale", 1.0),
        mode=n.attr("mode", "avg"),
        half_pixel=transformation == "half_pixel",
    )


@roi_align.export
def _(
    x: Tensor,
    rois: Tensor,
    images: Tensor,
    *,
    size: tuple[int, int],
    samples: int,
    scale: float,
    mode: str,
    half_pixel: bool,
) -> Operand:
    return standard(
        "RoiAlign",
        x,
        rois,
        images,
        output_height=size[0],
        output_width=size[1],
        sampling_ratio=samples,
        spatial_scale=scale,
        mode=mode,
        coordinate_transformation_mode="half_pixel" if half_pixel else "output_half_pixel",
    )


@roi_align.samples
def _() -> Iterator[tuple[Any, ...]]:
    rois = np.array([[1, 2, 4, 3.5], [0, 0, 2.5, 1], [-2, 4, 3, 9]], np.float32)
    images = np.array([1, 0, 1])
    attrs: dict[str, Any] = {"size": (3, 2)}
    yield ["f32[2,3,6,8]", rois, images], {**attrs, "samples": 2}
    yield ["f32[2,3,6,8]", rois, images], {**attrs, "samples": 2, "mode": "max", "scale": 2.0}
    yield ["f32[2,1,6,8]", rois, images], {**attrs, "samples": 1, "half_pixel": False}
    yield ["f32[2,1,6,8]", rois, images], {"size": (1, 2)}
    yield ["f32[2,1,6,8]", rois, images], {"size": (2, 1), "mode": "max", "half_pixel": False}
    yield ["f32[2,3,5,4]", "f32[0,4]", "i64[0]"], {"size": (2, 2)}
