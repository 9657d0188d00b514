"""Rules that shorten windows: remove taps outside the image, and separate large windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any as Anything

import numpy as np

from compiler.ir.affine import ASSUMED_SIZE
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import Dim
from compiler.ops.convolution.window import Window, extent, output_dims, resolve
from compiler.ops.pooling.clipped import Trimmed, clipped, covers_all, trimmed
from compiler.ops.pooling.geometry import Pooling, pooling_of
from compiler.passes.engine.declaration import rules_pass
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, rule
from compiler.passes.rules.affine_pad import AVERAGE_POOL, LP_POOL
from compiler.passes.rules.affine_parts import Objection, or_skip
from compiler.passes.rules.calls import o
from compiler.passes.rules.windows import CONV, MAX_POOL

X = Any("x")
Attrs = dict[str, Anything]

LEAST_GAIN = 1.5
"""Smallest ratio of taps before a rewrite to taps after it; a pass stores an intermediate image."""
LEAST_TAPS = 16
"""Smallest number of taps of a window worth separating; shorter windows stay in registers."""


def _image(x: Tensor) -> tuple[Dim, ...]:
    """Return the spatial sizes of a tensor. Errors: Objection if the rank is open."""
    if x.type.shape is None:
        raise Objection(f"the rank of {x.name} is open")
    return x.shape[2:]


def _numbers(x: Tensor) -> list[int]:
    """Return the spatial sizes as numbers. Errors: Objection if a size is open."""
    sizes = [size for size in _image(x) if isinstance(size, int)]
    if len(sizes) < x.rank - 2:
        raise Objection(f"the size of {x.name} is open")
    return sizes


def _known(x: Tensor, attrs: Attrs) -> tuple[list[int], list[int], Window]:
    """Return sizes, positions and window of a pool. Errors: Objection for open or zero sizes."""
    return _placed(x, pooling_of(attrs), _numbers(x))


def _estimated(x: Tensor, attrs: Attrs) -> tuple[list[int], list[int], Window]:
    """Return the same as `_known`, with at least four windows along each open size."""
    pooling = pooling_of(attrs)
    spans = map(extent, pooling.kernel, pooling.dilations)
    sizes = [
        size if isinstance(size, int) else max(ASSUMED_SIZE, 4 * span)
        for size, span in zip(_image(x), spans, strict=True)
    ]
    return _placed(x, pooling, sizes)


def _placed(x: Tensor, pooling: Pooling, sizes: list[int]) -> tuple[list[int], list[int], Window]:
    places = [int(n) for n in pooling.places(sizes)]
    if not all(sizes) or not all(places):
        raise Objection(f"{x.name} or its pool has no elements")
    return sizes, places, pooling.window(sizes)


# Global windows


def _everything(x: Tensor, attrs: Attrs) -> tuple[tuple[int, ...], list[int], Window]:
    sizes, places, window = _known(x, attrs)
    if not covers_all(sizes, places, window):
        raise Objection(f"windows of {list(window.kernel)} do not cover all of {sizes}")
    return tuple(range(2, x.rank)), places, window


def _at_all_places(x: Tensor, made: Operand, places: list[int]) -> Operand:
    if all(n == 1 for n in places):
        return made
    if not x.type.is_static:
        raise Objection(f"the shape of {x.name} is open, and so is the shape of the result")
    shape = [*x.type.static_shape[:2], *places]
    return o.expand(made, np.array(shape, np.int64))


def _said(x: Tensor, places: list[int]) -> str:
    n = math.prod(places)
    return f"each of {n:,} windows covers all of {list(x.shape[2:])}"


@rule(
    o.max_pool(X, **MAX_POOL),
    example="""
    graph g(x: f32[2,3,5,4]) {
      y: f32[2,3,1,1] = max_pool(x, kernel=[9,20], strides=[9,20], pads=[0,0,0,0],
        dilations=[1,1], ceil_mode=true)
      return y
    }
    =>
    graph g(x: f32[2,3,5,4]) {
      y: f32[2,3,1,1] = reduce_max(x, axes=[2,3])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5,4]) {
      y: f32[2,3,2,1] = max_pool(x, kernel=[4,4], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    """,
)
@or_skip
def max_pool_of_everything(x: Tensor, **attrs: Anything) -> Operand:
    """Replace a max pool whose windows all cover the image with a maximum reduction."""
    axes, places, _ = _everything(x, attrs)
    return Because(_at_all_places(x, o.reduce_max(x, axes=axes), places), _said(x, places))


@rule(
    o.average_pool(X, **AVERAGE_POOL),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,5,4]) {
      y: f32[2,3,1,1] = average_pool(x, kernel=[9,20], strides=[9,20], pads=[0,0,0,0],
        dilations=[1,1], ceil_mode=true)
      return y
    }
    =>
    graph g(x: f32[2,3,5,4]) {
      y: f32[2,3,1,1] = reduce_mean(x, axes=[2,3])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5,4]) {
      y: f32[2,3,1,1] = average_pool(x, kernel=[7,4], strides=[9,9], pads=[1,0,1,0],
        dilations=[1,1], count_include_pad=true)
      return y
    }
    """,
)
@or_skip
def average_pool_of_everything(x: Tensor, **attrs: Anything) -> Operand:
    """Replace an average pool whose windows all cover the image with a mean reduction."""
    axes, places, window = _everything(x, attrs)
    if attrs["count_include_pad"] and any((*window.pads_begin, *window.pads_end)):
        raise Objection("the mean counts its padding")
    return Because(_at_all_places(x, o.reduce_mean(x, axes=axes), places), _said(x, places))


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
        raise Objection(f"{after:,} taps {image} axis by axis, {before:,} at once: gain too small")
    return Because(made, f"{after:,} taps {image} instead of {before:,}")


def _estimate_of(x: Tensor, sizes: list[int]) -> str:
    """Describe the image to which a number of taps refers."""
    if x.shape[2:] == tuple(sizes):
        return "per image"
    return f"per image of {'x'.join(map(str, sizes))}"


def _along(d: int, size: Dim, attrs: Attrs, w: Window) -> Attrs:
    """Return the attributes of a window that extends only along axis d.

    Padding that depends on an open size stays an attribute of the window.
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

    The number of elements in a window is a product over axes, even with padding and at the borders.
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

    The total number of taps is smallest if the number of taps of the first window is about the
    square root of the original number.
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
            raise Objection(f"pads cannot express the part of the window inside {sizes}")
        return found
    if attrs["ceil_mode"] or attrs["auto_pad"] in ("same_upper", "same_lower"):
        raise Objection(f"the end of the windows depends on the open size of {x.name}")
    pads = (*window.pads_begin, *window.pads_end)
    return Trimmed((0,) * len(sizes), window.kernel, window.strides, pads)


def _runs(n_taps: int) -> tuple[int, int, int]:
    """Split a window of `n_taps`: taps of the first window, taps and dilation of the second."""
    root = math.isqrt(n_taps)
    found: list[tuple[int, int, int]] = []
    for run in range(root, 2 * root + 1):
        left = n_taps - run
        least = -(-left // run)
        steps = next(n for n in range(least, left + 1) if left % n == 0)
        found.append((run, steps + 1, left // steps))
    return min(found, key=lambda f: f[0] + f[1])


# Taps of a convolution outside the image


@rule(
    o.conv(X, Const("w"), Any("bias", optional=True), **CONV),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[1,2,1,4]) {
      const w: f32[1,2,3,1] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      y: f32[1,1,1,4] = conv(x, w, strides=[1,1], pads=[1,0,1,0], dilations=[1,1])
      return y
    }
    =>
    graph g(x: f32[1,2,1,4]) {
      const y.w: f32[1,2,1,1] = literal(2.0,5.0)
      y: f32[1,1,1,4] = conv(x, y.w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,2,4]) {
      const w: f32[1,2,3,1] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      y: f32[1,1,2,4] = conv(x, w, strides=[1,1], pads=[1,0,1,0], dilations=[1,1])
      return y
    }
    """,
)
@or_skip
def taps_off_the_image(
    x: Tensor, w: ConstTensor, bias: Tensor | None, groups: int, **attrs: Anything
) -> Operand:
    """Remove the weights that read only padding at all positions of a convolution."""
    sizes, kernel = _numbers(x), tuple(w.type.static_shape[2:])
    given = (attrs["strides"], attrs["pads"], attrs["dilations"], attrs["auto_pad"])
    window = resolve(sizes, kernel, *given)
    places = [int(n) for n in output_dims(sizes, kernel, *given)]
    if not all(sizes) or not all(places) or not w.type.n_elements:
        raise Objection(f"{x.name} or its convolution has no elements")
    fewer = trimmed(sizes, places, window)
    if fewer is None:
        raise Objection(f"pads cannot express the part of the window inside {sizes}")
    if fewer.kernel == kernel:
        raise Objection("each tap reads the image at some position")
    kept = (slice(f, f + n) for f, n in zip(fewer.first, fewer.kernel, strict=True))
    made = o.conv(
        x,
        np.ascontiguousarray(w.stored.array()[:, :, *kept]),
        *([] if bias is None else [bias]),
        strides=fewer.strides,
        pads=fewer.pads,
        dilations=attrs["dilations"],
        groups=groups,
    )
    return Because(made, f"windows of {list(fewer.kernel)} instead of {list(kernel)}")


SHORTER_WINDOWS: list[Rule] = [
    max_pool_of_everything,
    average_pool_of_everything,
    max_pool_by_axes,
    average_pool_by_axes,
    lp_pool_by_axes,
    max_pool_in_two,
    taps_off_the_image,
]

shorten_windows = rules_pass(
    "shorten_windows",
    SHORTER_WINDOWS,
    """Shrink the windows of pools and convolutions.

    A window that covers the whole image becomes a reduction. Large windows are separated by axis.
    Weights that read only padding are removed.
    """,
    needs=["constants"],
    for_code=True,
)
