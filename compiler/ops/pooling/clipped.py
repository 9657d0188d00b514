"""Windows clipped to the image, without taps that are outside at every window position."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import Dim
from compiler.ops.convolution.window import Window, extent

LARGE = 32
"""Along an axis of open size, a window is clipped only if it has more taps than this number."""


def clipped(sizes: Sequence[Expr], places: Sequence[Expr], w: Window) -> Window:
    """Remove the outer taps that are outside the image at every window position.

    The start pads of the clipped window are relative to its first tap. A pad is negative if, at the
    first window position, this tap is after the first element of the image.
    """
    first, n_taps = [0] * len(sizes), list(w.kernel)
    for d, (size, n) in enumerate(zip(sizes, places, strict=True)):
        if isinstance(size, int) and isinstance(n, int) and isinstance(w.pads_begin[d], int):
            first[d], n_taps[d] = _seen(size, n, w, d)
        elif w.kernel[d] > LARGE:
            reach = affine.floordiv(size + w.pads_begin[d] - 1, w.dilations[d]) + 1
            n_taps[d] = affine.maximum(affine.minimum(reach, w.kernel[d]), 1)  # pyright: ignore[reportArgumentType, reportCallIssue]
    moved = zip(w.pads_begin, first, w.dilations, strict=True)
    begins = tuple(begin - skipped * step for begin, skipped, step in moved)
    return Window(tuple(n_taps), w.strides, w.dilations, begins, w.pads_end)


def _seen(size: int, n_places: int, w: Window, d: int) -> tuple[int, int]:
    """Return the range of taps that are inside the image at some position: its start and length."""
    begin, step = w.pads_begin[d], w.dilations[d]
    last_start = max(n_places - 1, 0) * w.strides[d] - begin
    first = max(-(last_start // step), 0)
    behind = min((size + begin - 1) // step + 1, w.kernel[d])
    return (first, behind - first) if behind > first else (0, 1)


def covers_all(sizes: Sequence[Dim], places: Sequence[Dim], w: Window) -> bool:
    """Return whether the window covers the entire image at each position. Shapes: known sizes."""
    for d, (size, n) in enumerate(zip(sizes, places, strict=True)):
        if not isinstance(size, int) or not isinstance(n, int) or size < 1 or n < 1:
            return False
        if w.dilations[d] != 1 and size > 1:
            return False
        last_start = (n - 1) * w.strides[d] - w.pads_begin[d]
        if last_start > 0 or w.kernel[d] - w.pads_begin[d] < size:
            return False
        if size == 1 and not _every_place_sees_the_pixel(n, w, d):
            return False
    return True


def _every_place_sees_the_pixel(n_places: int, w: Window, d: int) -> bool:
    starts = (place * w.strides[d] - w.pads_begin[d] for place in range(n_places))
    step, span = w.dilations[d], extent(w.kernel[d], w.dilations[d])
    return all(start <= 0 < start + span and start % step == 0 for start in starts)


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A window with fewer taps and nonnegative pads that has the same number of positions.

    `first` is the first remaining tap's index in the original window, along each axis.
    """

    first: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]


def trimmed(sizes: Sequence[int], places: Sequence[int], w: Window) -> Trimmed | None:
    """Express the clipped window as attributes of a window operator; None if impossible."""
    axes = [_trimmed_axis(sizes[d], places[d], w, d) for d in range(len(sizes))]
    if any(axis is None for axis in axes):
        return None
    first, kernel, strides, begins, ends = zip(*(a for a in axes if a is not None), strict=True)
    return Trimmed(first, kernel, strides, (*begins, *ends))


def _trimmed_axis(size: int, n: int, w: Window, d: int) -> tuple[int, int, int, int, int] | None:
    step, stride = w.dilations[d], w.strides[d]
    seen, n_taps = _seen(size, n, w, d)
    first = min(seen, w.pads_begin[d] // step)
    kernel, begin = n_taps + seen - first, w.pads_begin[d] - first * step
    span = extent(kernel, step)
    end = max((n - 1) * stride + span - size - begin, 0)
    room = size + begin + end - span
    if n == 1:
        stride = max(stride if room < stride else room + 1, 1)
    return (first, kernel, stride, begin, end) if room // stride + 1 == n else None
