"""Rules that leave padding to the window that slides over it."""

from __future__ import annotations

from typing import Any as Anything

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Const, ConstTensor, Number
from compiler.passes.engine.rule import Because, Rule, rule
from compiler.passes.rules.affine_parts import Objection, attributes, or_skip
from compiler.passes.rules.calls import o
from compiler.passes.rules.windows import CONV, MAX_POOL, empty_window

X, W = Any("x"), Any("w")
BIAS = Any("bias", optional=True)
PAD = (Const("amounts"), Number("around", optional=True), Const("axes", optional=True))
AVERAGE_POOL = MAX_POOL | attributes("count_include_pad")
LP_POOL = MAX_POOL | attributes("p")


def _joined(
    x: Tensor, amounts: ConstTensor, axes: ConstTensor | None, attrs: dict[str, Anything]
) -> dict[str, Anything]:
    """The attributes of a window that pads what a pad added; Objection when it cannot."""
    if x.type.shape is None:
        raise Objection(f"the rank of {x.name} is not known")
    begins, ends = np.reshape(amounts.stored.array(), (2, -1)).tolist()
    at = range(x.rank) if axes is None else [int(a) % x.rank for a in axes.stored.array()]
    added = {a: pair for a, pair in zip(at, zip(begins, ends, strict=True), strict=True)}
    for axis, pair in added.items():
        if min(pair) < 0:
            raise Objection(f"axis {axis} is cut, by {-min(pair)} elements")
        if axis < 2 and any(pair):
            raise Objection(f"axis {axis} is padded, which is none of the image's")
    if attrs["auto_pad"] not in ("notset", "valid"):
        raise Objection(f"auto_pad={attrs['auto_pad']} chooses pads by the size it sees")
    n = x.rank - 2
    own = attrs["pads"] if attrs["auto_pad"] == "notset" else (0,) * (2 * n)
    more = [added.get(2 + d, (0, 0))[side] for side in (0, 1) for d in range(n)]
    pads = tuple(int(a) + int(b) for a, b in zip(own, more, strict=True))
    return {**attrs, "pads": pads, "auto_pad": "notset"}


def _saving(x: Tensor, pads: tuple[int, ...]) -> str:
    text = f"pads {list(pads)} are those of the window now"
    return f"{text}; a copy of {x.type.nbytes:,} bytes less" if x.type.is_static else text


def _need_zero(around: float | None) -> None:
    if around:
        raise Objection(f"the padding is {around:g}, not 0")


@rule(
    o.conv(o.pad(X, *PAD), W, BIAS, **CONV),
    single_use=True,
    example="""
    graph g(x: f32[1,2,3,4], w: f32[3,2,2,2]) {
      const p: i64[8] = literal(0,0,1,2,0,0,0,1)
      y: f32[1,2,4,7] = pad(x, p)
      z: f32[1,3,4,6] = conv(y, w, strides=[1,1], pads=[1,0,0,0], dilations=[1,1])
      return z
    }
    =>
    graph g(x: f32[1,2,3,4], w: f32[3,2,2,2]) {
      z: f32[1,3,4,6] = conv(x, w, strides=[1,1], pads=[2,2,0,1], dilations=[1,1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3,4], w: f32[3,2,2,2]) {
      const p: i64[8] = literal(0,0,1,2,0,0,0,1)
      const one: f32[] = literal(1.0)
      y: f32[1,2,4,7] = pad(x, p, one)
      z: f32[1,3,3,6] = conv(y, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return z
    }
    """,
)
@or_skip
def pad_into_conv(
    x: Tensor,
    amounts: ConstTensor,
    around: float | None,
    axes: ConstTensor | None,
    w: Tensor,
    bias: Tensor | None,
    **attrs: Anything,
) -> Operand:
    """Zeros around an image are the convolution's own padding.

    The padded image is not written; the convolution knows that the zeros are zeros.
    """
    _need_zero(around)
    window = _joined(x, amounts, axes, attrs)
    made = o.conv(x, w, **window) if bias is None else o.conv(x, w, bias, **window)
    return Because(made, _saving(x, window["pads"]))


@rule(
    o.max_pool(o.pad(X, *PAD), **MAX_POOL),
    single_use=True,
    example="""
    graph g(x: f32[1,2,3,4]) {
      const p: i64[8] = literal(0,0,1,0,0,0,0,1)
      const least: f32[] = literal(-inf)
      y: f32[1,2,4,5] = pad(x, p, least)
      z: f32[1,2,3,3] = max_pool(y, kernel=[2,3], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return z
    }
    =>
    graph g(x: f32[1,2,3,4]) {
      z: f32[1,2,3,3] = max_pool(x, kernel=[2,3], strides=[1,1], pads=[1,0,0,1], dilations=[1,1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3,4]) {
      const p: i64[8] = literal(0,0,1,0,0,0,0,1)
      y: f32[1,2,4,5] = pad(x, p)
      z: f32[1,2,3,3] = max_pool(y, kernel=[2,3], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return z
    }
    """,
)
@or_skip
def pad_into_max_pool(
    x: Tensor,
    amounts: ConstTensor,
    around: float | None,
    axes: ConstTensor | None,
    **attrs: Anything,
) -> Operand:
    """The least number around an image is a maximum's own padding.

    Of an unsigned type that is 0, of a float minus infinity. Other numbers may be the largest of
    their window.
    """
    least = -np.inf if x.dtype.is_float else float(np.iinfo(x.dtype.numpy).min)
    if (around or 0) != least:
        raise Objection(f"the padding is {around or 0:g}, the least {x.dtype} is {least:g}")
    window = _joined(x, amounts, axes, attrs)
    return Because(o.max_pool(x, **window), _saving(x, window["pads"]))


@rule(
    o.max_pool(o.pad(o.relu(X), *PAD), **MAX_POOL),
    single_use=True,
    example="""
    graph g(x: f32[1,2,3,4]) {
      const p: i64[8] = literal(0,0,1,0,0,0,0,1)
      r: f32[1,2,3,4] = relu(x)
      y: f32[1,2,4,5] = pad(r, p)
      z: f32[1,2,3,3] = max_pool(y, kernel=[2,3], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return z
    }
    =>
    graph g(x: f32[1,2,3,4]) {
      z.x: f32[1,2,3,4] = relu(x)
      z: f32[1,2,3,3] = max_pool(z.x, kernel=[2,3], strides=[1,1], pads=[1,0,0,1],
        dilations=[1,1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3,4]) {
      const p: i64[8] = literal(0,0,2,0,0,0,0,1)
      r: f32[1,2,3,4] = relu(x)
      y: f32[1,2,5,5] = pad(r, p)
      z: f32[1,2,4,3] = max_pool(y, kernel=[2,3], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return z
    }
    """,
)
@or_skip
def pad_into_max_pool_of_relu(
    x: Tensor,
    amounts: ConstTensor,
    around: float | None,
    axes: ConstTensor | None,
    **attrs: Anything,
) -> Operand:
    """Zeros around what a relu gives change no maximum, as long as each window meets the image.

    No element is below them. A window that lay in the padding altogether would be 0, and is the
    least number without it.
    """
    _need_zero(around)
    if not x.dtype.is_float:
        raise Objection(f"{x.dtype} has no least number that stands for nothing")
    window = _joined(x, amounts, axes, attrs)
    pads, n = window["pads"], x.rank - 2
    if objection := empty_window(window):
        raise Objection(objection)
    if any(pads[d] + pads[n + d] and x.shape[2 + d] == 0 for d in range(n)):
        raise Objection(f"{x.name} has no elements")
    return Because(o.max_pool(o.relu(x), **window), _saving(x, pads))


@rule(
    o.average_pool(o.pad(X, *PAD), **AVERAGE_POOL),
    single_use=True,
    example="""
    graph g(x: f32[1,2,3,4]) {
      const p: i64[8] = literal(0,0,1,0,0,0,0,1)
      y: f32[1,2,4,5] = pad(x, p)
      z: f32[1,2,3,3] = average_pool(y, kernel=[2,3], strides=[1,1], pads=[0,0,0,0],
        dilations=[1,1])
      return z
    }
    =>
    graph g(x: f32[1,2,3,4]) {
      z: f32[1,2,3,3] = average_pool(x, kernel=[2,3], strides=[1,1], pads=[1,0,0,1],
        dilations=[1,1], count_include_pad=true)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3,4]) {
      const p: i64[8] = literal(0,0,1,0,0,0,0,1)
      y: f32[1,2,4,5] = pad(x, p)
      own: f32[1,2,4,3] = average_pool(y, kernel=[2,3], strides=[1,1], pads=[1,0,0,0],
        dilations=[1,1])
      return own
    }
    """,
)
@or_skip
def pad_into_average_pool(
    x: Tensor,
    amounts: ConstTensor,
    around: float | None,
    axes: ConstTensor | None,
    **attrs: Anything,
) -> Operand:
    """Zeros around an image are padding that counts in the mean.

    A pool that pads by itself, and does not count that, cannot pad in both ways.
    """
    _need_zero(around)
    if any(attrs["pads"]) and attrs["auto_pad"] == "notset" and not attrs["count_include_pad"]:
        raise Objection(f"its own pads {list(attrs['pads'])} do not count in the mean")
    window = _joined(x, amounts, axes, attrs)
    made = o.average_pool(x, **{**window, "count_include_pad": True})
    return Because(made, _saving(x, window["pads"]))


@rule(
    o.lp_pool(o.pad(X, *PAD), **LP_POOL),
    single_use=True,
    example="""
    graph g(x: f32[1,2,3,4]) {
      const p: i64[4] = literal(1,0,0,1)
      const images: i64[2] = literal(2,-1)
      y: f32[1,2,4,5] = pad(x, p, _, images)
      z: f32[1,2,3,3] = lp_pool(y, kernel=[2,3], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return z
    }
    =>
    graph g(x: f32[1,2,3,4]) {
      z: f32[1,2,3,3] = lp_pool(x, kernel=[2,3], strides=[1,1], pads=[1,0,0,1], dilations=[1,1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3,4]) {
      const channels_too: i64[8] = literal(0,1,1,0,0,0,0,1)
      y: f32[1,3,4,5] = pad(x, channels_too)
      z: f32[1,3,3,3] = lp_pool(y, kernel=[2,3], strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return z
    }
    """,
)
@or_skip
def pad_into_lp_pool(
    x: Tensor,
    amounts: ConstTensor,
    around: float | None,
    axes: ConstTensor | None,
    **attrs: Anything,
) -> Operand:
    """Zeros around an image add nothing to a norm, as the pool's own padding adds nothing."""
    _need_zero(around)
    window = _joined(x, amounts, axes, attrs)
    return Because(o.lp_pool(x, **window), _saving(x, window["pads"]))


PAD_RULES: list[Rule] = [
    pad_into_conv,
    pad_into_max_pool_of_relu,
    pad_into_max_pool,
    pad_into_average_pool,
    pad_into_lp_pool,
]
"""Rules of `fold_affine` about padding, in the order they are tried."""
