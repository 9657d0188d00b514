"""Rules that fold explicit padding into the window operator that reads the padded tensor."""

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
    """Merge a pad into window attributes; raise Objection if that is impossible."""
    if x.type.shape is None:
        raise Objection(f"the rank of {x.name} is not known")
    begins, ends = np.reshape(amounts.stored.array(), (2, -1)).tolist()
    at = range(x.rank) if axes is None else [int(a) % x.rank for a in axes.stored.array()]
    added = {a: pair for a, pair in zip(at, zip(begins, ends, strict=True), strict=True)}
    for axis, pair in added.items():
        if min(pair) < 0:
            raise Objection(f"axis {axis} is cropped by {-min(pair)} elements")
        if axis < 2 and any(pair):
            raise Objection(f"the padded axis {axis} is not a spatial axis")
    if attrs["auto_pad"] not in ("notset", "valid"):
        raise Objection(f"auto_pad={attrs['auto_pad']} computes pads from the operand's size")
    n = x.rank - 2
    own = attrs["pads"] if attrs["auto_pad"] == "notset" else (0,) * (2 * n)
    more = [added.get(2 + d, (0, 0))[side] for side in (0, 1) for d in range(n)]
    pads = tuple(int(a) + int(b) for a, b in zip(own, more, strict=True))
    return {**attrs, "pads": pads, "auto_pad": "notset"}


def _saving(x: Tensor, pads: tuple[int, ...]) -> str:
    text = f"the window now has pads {list(pads)}"
    return f"{text}; saves a copy of {x.type.nbytes:,} bytes" if x.type.is_static else text


def _need_zero(around: float | None) -> None:
    if around:
        raise Objection(f"the padding value is {around:g}, not 0")


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
    """Fold zero padding into the pads of a convolution.

    The padded image is never stored, and the convolution skips the zeros.
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
    """Fold padding with the smallest value of the type into the pads of a max pool.

    The smallest value is 0 for unsigned types and -infinity for floats. A larger padding value
    could be the maximum of a window.
    """
    least = -np.inf if x.dtype.is_float else float(np.iinfo(x.dtype.numpy).min)
    if (around or 0) != least:
        raise Objection(
            f"the padding value is {around or 0:g}, not {least:g}, the smallest {x.dtype}"
        )
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
    """Fold zero padding of a relu's result into a max pool, if every window overlaps the image.

    Elements of a relu's result are non-negative, so zeros of the padding never change a maximum.
    For a window entirely in the padding, the result would change from 0 to the smallest value of
    the type.
    """
    _need_zero(around)
    if not x.dtype.is_float:
        raise Objection(f"{x.dtype} has no -infinity, the identity element of a maximum")
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
    """Fold zero padding into an average pool that counts its padding.

    A pool that excludes its pads from the mean cannot express both kinds of padding.
    """
    _need_zero(around)
    if any(attrs["pads"]) and attrs["auto_pad"] == "notset" and not attrs["count_include_pad"]:
        raise Objection(f"the pads {list(attrs['pads'])} of the pool are excluded from the mean")
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
    """Fold zero padding into an Lp pool: zeros add nothing to a norm."""
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
"""Rules of `fold_affine` for padding, in the order they are tried."""
