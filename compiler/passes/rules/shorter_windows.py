"""Rules that remove taps outside the image, and windows that cover the whole image."""

from __future__ import annotations

import math
from typing import Any as Anything

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.ops.convolution.window import Window, output_dims, resolve
from compiler.ops.pooling.clipped import covers_all, trimmed
from compiler.ops.pooling.geometry import pooling_of
from compiler.passes.engine.declaration import rules_pass
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, rule
from compiler.passes.rules.affine_pad import AVERAGE_POOL
from compiler.passes.rules.affine_parts import Objection, or_skip
from compiler.passes.rules.calls import o
from compiler.passes.rules.separable_windows import SEPARABLE_WINDOWS
from compiler.passes.rules.windows import CONV, MAX_POOL, placed, spatial_sizes

X = Any("x")


# Global windows


def _everything(x: Tensor, attrs: dict[str, Anything]) -> tuple[tuple[int, ...], list[int], Window]:
    sizes, places, window = placed(x, pooling_of(attrs), spatial_sizes(x))
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
    which = "the only window" if n == 1 else f"each of {n:,} windows"
    return f"{which} covers all of {list(x.shape[2:])}"


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
        raise Objection("the mean includes padding")
    return Because(_at_all_places(x, o.reduce_mean(x, axes=axes), places), _said(x, places))


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
    """Remove weights that read only padding at all positions of the convolution."""
    sizes, kernel = spatial_sizes(x), tuple(w.type.static_shape[2:])
    given = (attrs["strides"], attrs["pads"], attrs["dilations"], attrs["auto_pad"])
    window = resolve(sizes, kernel, *given)
    places = [int(n) for n in output_dims(sizes, kernel, *given)]
    if not all(sizes) or not all(places) or not w.type.n_elements:
        raise Objection(f"{x.name} or its convolution has no elements")
    fewer = trimmed(sizes, places, window)
    if fewer is None:
        raise Objection(f"pads cannot express the part of the window inside the image {sizes}")
    if fewer.kernel == kernel:
        raise Objection("each tap of the window reads the image at some position")
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
    *SEPARABLE_WINDOWS,
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
