"""Rules that split a pool with large windows into a pass per axis, or into two passes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any as Anything

from compiler.ir.affine import ASSUMED_SIZE
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import Dim
from compiler.ops.convolution.window import Window, extent
from compiler.ops.pooling.clipped import Trimmed, clipped, trimmed
from compiler.ops.pooling.geometry import pooling_of
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, rule
from compiler.passes.rules.affine_pad import AVERAGE_POOL, LP_POOL
from compiler.passes.rules.affine_parts import Objection, or_skip
from compiler.passes.rules.calls import o
from compiler.passes.rules.windows import MAX_POOL, placed, spatial_dims

X = Any("x")
Attrs = dict[str, Anything]

LEAST_GAIN = 1.5
"""Smallest ratio of taps before to taps after a rewrite that justifies an intermediate image."""
LEAST_TAPS = 16
"""Smallest number of taps of a window worth separating; shorter windows stay in registers."""


def _estimated(x: Tensor, attrs: Attrs) -> tuple[list[int], list[int], Window]:
    """Return sizes, positions and window of a pool, with assumed numbers for open sizes.

    The number assumed for an open size is at least four times the extent of the window.
    """
    pooling = pooling_of(attrs)
    spans = map(extent, pooling.kernel, pooling.dilations)
    sizes = [
        size if isinstance(size, int) else max(ASSUMED_SIZE, 4 * span)
        for size, span in zip(spatial_dims(x), spans, strict=True)
    ]
    return placed(x, pooling, sizes)


# Separation by axes


def _axis_by_axis(x: Tensor, attrs: Attrs, pool: Callable[..., Operand]) -> Operand:
    """Return the pool as one pass for each axis, and the reason for the ledger.

    The number of positions along an axis depends only on that axis, so the rewrite is correct for
    open sizes.
    """
    sizes, places, window = _estimated(x, attrs)
    taps = list(clipped(sizes, places, window).kernel)
    if sum(t > 1 for t in taps) < 2:
        raise Objection(f"windows of {taps} extend along a single axis")
    if math.prod(taps) < LEAST_TAPS:
        raise Objection(f"windows of {taps} have fewer than {LEAST_TAPS} taps")
    before, after = math.prod((*taps, *places)), 0
    made: Operand = x
    for d, n_taps in enumerate(taps):
        after += n_taps * math.prod((*places[: d + 1], *sizes[d + 1 :]))
        made = pool(made, **_along(d, x.shape[2 + d], attrs, window))
    image = _estimate_of(x, sizes)
    if after * LEAST_GAIN > before:
        words = f"{after:,} taps {image} axis by axis, {before:,} at once"
        raise Objection(f"{words}: the gain is too small")
    return Because(made, f"{after:,} taps {image} instead of {before:,}")


def _estimate_of(x: Tensor, sizes: list[int]) -> str:
    """Describe the image to which a number of taps refers."""
    if x.shape[2:] == tuple(sizes):
        return "per image"
    return f"per image of {'x'.join(map(str, sizes))}"


def _along(d: int, size: Dim, attrs: Attrs, w: Window) -> Attrs:
    """Return the attributes of a window that extends only along axis d.

    Padding that depends on an open size stays an attribute of the pass.
    """
    kept = {k: v for k, v in attrs.items() if k in ("count_include_pad", "p")}
    axes = w.kernel
    by_size = attrs["auto_pad"] in ("same_upper", "same_lower")
    if by_size and not isinstance(size, int):
        kept["auto_pad"], pads = attrs["auto_pad"], (0,) * (2 * len(axes))
    else:
        begin = _only(d, w.pads_begin[d], w.pads_begin, 0)
        pads = (*begin, *_only(d, w.pads_end[d], w.pads_end, 0))
    return {
        **kept,
        "kernel": _only(d, w.kernel[d], axes, 1),
        "strides": _only(d, w.strides[d], axes, 1),
        "pads": pads,
        "dilations": _only(d, w.dilations[d], axes, 1),
        "ceil_mode": attrs["ceil_mode"] and not by_size,
    }


def _only(d: int, value: int, axes: Sequence[int], otherwise: int) -> tuple[int, ...]:
    """Return a number for each axis: `value` for axis d, `otherwise` for other axes."""
    return tuple(value if i == d else otherwise for i in range(len(axes)))


@rule(
    o.max_pool(X, **MAX_POOL),
    example="""
    graph g(x: f32[1,2,8,9]) {
      y: f32[1,2,8,9] = max_pool(x, kernel=[5,7], strides=[1,1], pads=[2,3,2,3], dilations=[1,1])
      return y
    }
    =>
    graph g(x: f32[1,2,8,9]) {
      y.x: f32[1,2,8,9] = max_pool(x, kernel=[5,1], strides=[1,1], pads=[2,0,2,0],
        dilations=[1,1])
      y: f32[1,2,8,9] = max_pool(y.x, kernel=[1,7], strides=[1,1], pads=[0,3,0,3],
        dilations=[1,1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,8,9]) {
      y: f32[1,2,8,9] = max_pool(x, kernel=[3,3], strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      return y
    }
    """,
)
@or_skip
def max_pool_by_axes(x: Tensor, **attrs: Anything) -> Operand:
    """Separate a max pool into a pass per axis."""
    return _axis_by_axis(x, attrs, o.max_pool)


def _need_wide(x: Tensor) -> None:
    if x.dtype.nbytes < 4:
        raise Objection(f"intermediate results would be rounded to {x.dtype}")


@rule(
    o.average_pool(X, **AVERAGE_POOL),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[1,2,8,9]) {
      y: f32[1,2,8,9] = average_pool(x, kernel=[5,7], strides=[1,1], pads=[2,3,2,3],
        dilations=[1,1])
      return y
    }
    =>
    graph g(x: f32[1,2,8,9]) {
      y.x: f32[1,2,8,9] = average_pool(x, kernel=[5,1], strides=[1,1], pads=[2,0,2,0],
        dilations=[1,1])
      y: f32[1,2,8,9] = average_pool(y.x, kernel=[1,7], strides=[1,1], pads=[0,3,0,3],
        dilations=[1,1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f16[1,2,8,9]) {
      y: f16[1,2,8,9] = average_pool(x, kernel=[5,7], strides=[1,1], pads=[2,3,2,3],
        dilations=[1,1])
      return y
    }
    """,
)
@or_skip
def average_pool_by_axes(x: Tensor, **attrs: Anything) -> Operand:
    """Separate an average pool into a pass per axis, if all elements have equal weight.

    The number of elements in a window is the product of the numbers along each axis, even with
    padding and at the borders.
    """
    _need_wide(x)
    return _axis_by_axis(x, attrs, o.average_pool)


@rule(
    o.lp_pool(X, **LP_POOL),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[1,2,8,9]) {
      y: f32[1,2,4,3] = lp_pool(x, kernel=[5,7], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    =>
    graph g(x: f32[1,2,8,9]) {
      y.x: f32[1,2,4,9] = lp_pool(x, kernel=[5,1], strides=[1,1], pads=[0,0,0,0],
        dilations=[1,1])
      y: f32[1,2,4,3] = lp_pool(y.x, kernel=[1,7], strides=[1,1], pads=[0,0,0,0],
        dilations=[1,1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,8,9]) {
      y: f32[1,2,4,9] = lp_pool(x, kernel=[5,1], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    """,
)
@or_skip
def lp_pool_by_axes(x: Tensor, **attrs: Anything) -> Operand:
    """Separate an Lp pool into a pass per axis."""
    _need_wide(x)
    return _axis_by_axis(x, attrs, o.lp_pool)


# Composition of two short windows


@rule(
    o.max_pool(X, **MAX_POOL),
    example="""
    graph g(x: f32[2,3,90]) {
      y: f32[2,3,51] = max_pool(x, kernel=[40], strides=[1], pads=[0,0], dilations=[1])
      return y
    }
    =>
    graph g(x: f32[2,3,90]) {
      y.x: f32[2,3,83] = max_pool(x, kernel=[8], strides=[1], pads=[0,0], dilations=[1])
      y: f32[2,3,51] = max_pool(y.x, kernel=[5], strides=[1], pads=[0,0], dilations=[8])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,90]) {
      y: f32[2,3,3] = max_pool(x, kernel=[40], strides=[25], pads=[0,0], dilations=[1])
      return y
    }
    """,
)
@or_skip
def max_pool_in_two(x: Tensor, **attrs: Anything) -> Operand:
    """Compose a long max window from two passes of short, overlapping windows.

    Let n be the number of taps of the long window. Both passes together have the fewest taps if the
    first window has about sqrt(n) taps.
    Source: the idea of van Herk 1992 and Gil and Werman 1993, with windows instead of running
    maxima.
    """
    sizes, places, window = _estimated(x, attrs)
    fewer = _fewer(x, attrs, sizes, places, window)
    long = [d for d, n in enumerate(fewer.kernel) if n > 1]
    if len(long) != 1 or fewer.kernel[long[0]] < LEAST_TAPS:
        raise Objection(
            f"windows of {list(fewer.kernel)} do not have at least {LEAST_TAPS} taps along one axis"
        )
    d = long[0]
    n_taps, step = fewer.kernel[d], window.dilations[d]
    run, count, apart = _runs(n_taps)
    begin, end = fewer.pads[d], fewer.pads[len(sizes) + d]
    between = sizes[d] + begin + end - (run - 1) * step
    before, after = n_taps * places[d], run * between + count * places[d]
    if after * LEAST_GAIN > before:
        raise Objection(
            f"{after:,} taps per row in two passes, {before:,} in one: the gain is too small"
        )
    made = o.max_pool(
        x,
        kernel=_only(d, run, sizes, 1),
        strides=(1,) * len(sizes),
        pads=(*_only(d, begin, sizes, 0), *_only(d, end, sizes, 0)),
        dilations=_only(d, step, sizes, 1),
    )
    made = o.max_pool(
        made,
        kernel=_only(d, count, sizes, 1),
        strides=fewer.strides,
        pads=tuple(0 if i % len(sizes) == d else pad for i, pad in enumerate(fewer.pads)),
        dilations=_only(d, apart * step, sizes, 1),
    )
    return Because(made, f"{after:,} taps per row instead of {before:,}")


def _fewer(x: Tensor, attrs: Attrs, sizes: list[int], places: list[int], window: Window) -> Trimmed:
    """Return the window clipped to a known image, or the original window for open sizes.

    Errors: Objection for windows that pads cannot express.
    """
    if x.shape[2:] == tuple(sizes):
        found = trimmed(sizes, places, window)
        if found is None:
            raise Objection(f"pads cannot express the part of the window inside the image {sizes}")
        return found
    if attrs["ceil_mode"] or attrs["auto_pad"] in ("same_upper", "same_lower"):
        raise Objection(f"the end of the windows depends on the open size of {x.name}")
    pads = (*window.pads_begin, *window.pads_end)
    return Trimmed((0,) * len(sizes), window.kernel, window.strides, pads)


def _runs(n_taps: int) -> tuple[int, int, int]:
    """Split a window in two; return the taps of the first, and taps and dilation of the second."""
    root = math.isqrt(n_taps)
    found: list[tuple[int, int, int]] = []
    for run in range(root, 2 * root + 1):
        left = n_taps - run
        least = -(-left // run)
        steps = next(n for n in range(least, left + 1) if left % n == 0)
        found.append((run, steps + 1, left // steps))
    return min(found, key=lambda f: f[0] + f[1])


SEPARABLE_WINDOWS: list[Rule] = [
    max_pool_by_axes,
    average_pool_by_axes,
    lp_pool_by_axes,
    max_pool_in_two,
]
"""Rules of `shorten_windows` for large windows, in the order they are tried."""
