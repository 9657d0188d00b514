"""Sliding windows over the spatial axes of an image, for convolution and pooling.

Pads are in ONNX's order: all begins, then all ends. `auto_pad` derives the pads from the sizes, so
it stays an attribute until all sizes are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, OnnxCall
from compiler.ir.types import Dim

AUTO_PADS = ("notset", "same_upper", "same_lower", "valid")

MOST = 2**31 - 1
"""The maximum of window sizes, strides and pads; code for larger values would not end in
practice."""

SPATIAL = {1: ("x",), 2: ("y", "x"), 3: ("z", "y", "x")}
"""The names of spatial axes; the names of tap axes have the prefix `k`."""


@dataclass(frozen=True)
class Window:
    """The geometry of a window on each spatial axis; `pads_end` affects only the output sizes."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]

    @property
    def n_taps(self) -> int:
        """The number of elements of one window."""
        return int(np.prod(self.kernel))


def check_window(
    op_name: str,
    n_spatial: int,
    kernel: Sequence[Dim],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    auto_pad: str,
) -> None:
    """Check the attributes of a window.

    Errors: E-OP-ATTRIBUTE for attributes of wrong length or value.
    """
    for what, values, n in (
        ("kernel", kernel, n_spatial),
        ("strides", strides, n_spatial),
        ("dilations", dilations, n_spatial),
        ("pads", pads, 2 * n_spatial),
    ):
        require(
            len(values) == n,
            "E-OP-ATTRIBUTE",
            f"{op_name} needs {n} {what} for {n_spatial} spatial axes, got {list(values)}",
        )
        least = 0 if what == "pads" else 1
        require(
            all(not isinstance(v, int) or v >= least for v in values),
            "E-OP-ATTRIBUTE",
            f"{op_name} needs {what} of at least {least}, got {list(values)}",
        )
        require(
            all(not isinstance(v, int) or v <= MOST for v in values),
            "E-OP-ATTRIBUTE",
            f"{op_name} needs {what} of at most {MOST:,}, got {list(values)}",
        )
    require(
        auto_pad in AUTO_PADS,
        "E-OP-ATTRIBUTE",
        f"{op_name} needs auto_pad as one of {', '.join(AUTO_PADS)}, got {auto_pad!r}",
    )


def extent(kernel: int, dilation: int) -> int:
    """Return the extent of a dilated window, in elements."""
    return dilation * (kernel - 1) + 1


def output_dims(
    dims: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    auto_pad: str,
    ceil_mode: bool = False,
) -> tuple[Dim, ...]:
    """Return the number of window positions along each spatial axis.

    Source: ONNX Conv-11 and MaxPool-12; with `ceil_mode`, no window starts beyond the image.
    """
    n = len(kernel)
    made: list[Dim] = []
    for d, size in enumerate(dims):
        stride, span = strides[d], extent(kernel[d], dilations[d])
        begin, end = (pads[d], pads[n + d]) if auto_pad == "notset" else (0, 0)
        if auto_pad in ("same_upper", "same_lower"):
            made.append(affine.floordiv(size + stride - 1, stride))
            continue
        room = size + begin + end - span
        if ceil_mode:
            places = affine.floordiv(room + stride - 1, stride) + 1
            started = affine.floordiv(size + begin - 1, stride) + 1
            made.append(affine.minimum(places, started))
        else:
            made.append(affine.floordiv(room, stride) + 1)
    return tuple(affine.maximum(m, 0) if isinstance(m, int) else m for m in made)


def resolve(
    dims: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    auto_pad: str,
) -> Window:
    """Return the window of an input of these sizes, with `auto_pad` converted to pads.

    Shapes: `dims` are the spatial sizes of the input.
    """
    begin, end = resolve_pads(dims, kernel, strides, pads, dilations, auto_pad)
    return Window(tuple(kernel), tuple(strides), tuple(dilations), begin, end)


def resolve_pads(
    dims: Sequence[Any],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    auto_pad: str,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the start pads and end pads of a window; `auto_pad` derives them from the sizes.

    If the total padding is odd, `same_upper` adds the extra element at the end and `same_lower` at
    the start.
    """
    n = len(kernel)
    if auto_pad == "notset":
        return tuple(pads[:n]), tuple(pads[n:])
    if auto_pad == "valid":
        return (0,) * n, (0,) * n
    begin: list[Any] = []  # numbers, or expressions if sizes are open
    end: list[Any] = []
    for d, size in enumerate(dims):
        places = -(-size // strides[d])
        reach = (places - 1) * strides[d] + extent(kernel[d], dilations[d])
        total = affine.maximum(reach - size, 0)
        smaller, larger = total // 2, total - total // 2
        begin.append(smaller if auto_pad == "same_upper" else larger)
        end.append(larger if auto_pad == "same_upper" else smaller)
    return tuple(begin), tuple(end)


def onnx_window(n: OnnxCall, kernel: Sequence[int]) -> dict[str, Any]:
    """Return the attributes of an ONNX node that describe its window, with defaults."""
    n_spatial = len(kernel)
    return {
        "strides": tuple(n.attr("strides") or (1,) * n_spatial),
        "pads": tuple(n.attr("pads") or (0,) * (2 * n_spatial)),
        "dilations": tuple(n.attr("dilations") or (1,) * n_spatial),
        "auto_pad": str(n.attr("auto_pad", "NOTSET")).lower(),
    }


def exported_window(auto_pad: str, pads: Sequence[int], **rest: Any) -> dict[str, Any]:
    """Return the ONNX attributes of a window: pads, or auto_pad."""
    if "kernel" in rest:
        rest["kernel_shape"] = rest.pop("kernel")
    if auto_pad == "notset":
        return {**rest, "pads": pads}
    return {**rest, "auto_pad": auto_pad.upper()}


# Windows mostly outside the image


LEAST_PLACES, MOST_KEPT = 8, 0.85
"""The minimum number of positions of a part, and the maximum fraction of products that may remain
after the division.

A part with fewer positions does not fill a register tile (measured: 4 positions halve the speed).
Each part has an overhead, so the window is divided only if at most the fraction `MOST_KEPT` of the
products remains.
"""


@dataclass(frozen=True)
class TapPart:
    """Consecutive positions along an axis whose windows have the same taps inside the image."""

    first: int
    n_places: int
    tap: int
    n_taps: int


def tap_parts(sizes: Sequence[Dim], places: Sequence[Dim], w: Window) -> list[list[TapPart]] | None:
    """Divide each axis into parts of equal taps, for dilated windows; None if unprofitable.

    The division into parts avoids products with padding zeros.
    """
    if all(d == 1 for d in w.dilations):
        return None
    axes: list[list[TapPart]] = []
    kept = 1.0
    for d, (size, n) in enumerate(zip(sizes, places, strict=True)):
        if not isinstance(size, int) or not isinstance(n, int) or n < 1:
            return None
        parts = _parts_of_axis(size, n, w, d)
        if len(parts) > 1 and any(p.n_places < LEAST_PLACES for p in parts):
            return None
        kept *= sum(p.n_places * p.n_taps for p in parts) / (n * w.kernel[d])
        axes.append(parts)
    return axes if kept <= MOST_KEPT else None


def _parts_of_axis(size: int, n: int, w: Window, d: int) -> list[TapPart]:
    found: list[TapPart] = []
    for place in range(n):
        start = place * w.strides[d] - w.pads_begin[d]
        inside = [k for k in range(w.kernel[d]) if 0 <= start + k * w.dilations[d] < size]
        tap, n_taps = (inside[0], len(inside)) if inside else (0, 0)
        last = found[-1] if found else None
        if last is not None and (last.tap, last.n_taps) == (tap, n_taps):
            found[-1] = replace(last, n_places=last.n_places + 1)
        else:
            found.append(TapPart(place, 1, tap, n_taps))
    return found


# The windows of an array, for references


def windows(x: Array, w: Window, places: Sequence[int], fill: Any) -> Array:
    """Return a view whose last axes are the taps of every window.

    Shapes: x [N, C, spatial...] gives [N, C, positions..., kernel...]; `fill` is the padding value.
    """
    widths: list[tuple[int, int]] = []
    for d, size in enumerate(x.shape[2:]):
        needed = (places[d] - 1) * w.strides[d] + extent(w.kernel[d], w.dilations[d])
        behind = max(needed - size - w.pads_begin[d], 0)
        widths.append((max(w.pads_begin[d], 0), behind))
    cut = (slice(max(-begin, 0), None) for begin in w.pads_begin)
    padded = np.pad(x[:, :, *cut], [(0, 0), (0, 0), *widths], constant_values=fill)
    outer = padded.strides[2:]
    return np.lib.stride_tricks.as_strided(
        padded,
        (*x.shape[:2], *places, *w.kernel),
        (
            *padded.strides[:2],
            *(s * stride for s, stride in zip(outer, w.strides, strict=True)),
            *(s * step for s, step in zip(outer, w.dilations, strict=True)),
        ),
        writeable=False,
    )


# The windows in lowerings


def spatial_axes(k: Lowering, sizes: Sequence[Expr], prefix: str = "") -> list[Expr]:
    """Create new indices of spatial axes, named y and x, or ky and kx for taps."""
    return [k.axis(n, prefix + name) for n, name in zip(sizes, SPATIAL[len(sizes)], strict=True)]


def window_axes(
    k: Lowering, shape: Sequence[int], window: Window
) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """Create new indices for batch and channel, for positions, and for taps."""
    outer = [k.axis(shape[0], "n"), k.axis(shape[1], "c")]
    return outer, spatial_axes(k, shape[2:]), spatial_axes(k, window.kernel, "k")


def tap(
    k: Lowering,
    x: Handle,
    outer: Sequence[Expr],
    places: Sequence[Expr],
    taps: Sequence[Expr],
    w: Window,
    n_places: Sequence[int],
    otherwise: Scalar | float | int,
) -> Scalar:
    """Read the element below a tap at a position; return `otherwise` outside the image.

    No test is emitted for an axis on which all windows are inside the image.
    """
    index: list[Expr] = []
    tests: list[tuple[Expr, Expr]] = []
    for d, size in enumerate(x.shape[2:]):
        e = places[d] * w.strides[d] + taps[d] * w.dilations[d] - w.pads_begin[d]
        last = (n_places[d] - 1) * w.strides[d] + extent(w.kernel[d], w.dilations[d])
        if affine.may_exceed(w.pads_begin[d], 0) or affine.may_exceed(last - w.pads_begin[d], size):
            tests.append((e, size))
        index.append(e)
    read = x[*outer, *index]
    return k.inside(tests, read, otherwise) if tests else read
