"""Rules that merge pads, and replace pads of negative widths with slices."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr, Number
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.cuts import FAR, Cut, places, sliced

X = Any("x")
_PADS, _AXES = Any("pads"), Any("axes", optional=True)


@rule(
    o.pad(
        o.pad(X, Any("p"), Number("v", optional=True), Any("a", optional=True), mode=AnyAttr("m")),
        _PADS,
        Number("value", optional=True),
        _AXES,
        mode=AnyAttr("mode"),
    ),
    example="""
    graph g(x: f32[2,3]) {
      const p: i64[4] = literal(1,0,0,2)
      const q: i64[2] = literal(3,1)
      const at: i64[1] = literal(-1)
      a: f32[3,5] = pad(x, p)
      b: f32[3,9] = pad(a, q, _, at)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.pads: i64[4] = literal(1,3,0,3)
      b: f32[3,9] = pad(x, b.pads)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const p: i64[4] = literal(1,0,0,2)
      const q: i64[4] = literal(0,3,0,1)
      const v: f32[] = literal(0.5)
      a: f32[3,5] = pad(x, p)
      b: f32[3,9] = pad(a, q, v)
      return b
    }
    """,
)
def merge_pads(
    x: Tensor,
    p: Tensor,
    v: float | None,
    a: Tensor | None,
    m: str,
    pads: Tensor,
    value: float | None,
    axes: Tensor | None,
    mode: str,
) -> Operand:
    """Merge two consecutive pads with the same value."""
    if m != mode or mode not in ("constant", "edge"):
        return Skip(f"a pad of mode {mode} and an inner pad of mode {m} do not merge")
    if mode == "constant" and (v or 0) != (value or 0):
        return Skip(f"the inner padding value is {v or 0:g}, the outer value is {value or 0:g}")
    first, second = places(x.rank, p, a), places(x.rank, pads, axes)
    if first is None or second is None:
        return Skip("the pads are computed at run time")
    both = {
        i: tuple(b + c for b, c in zip(first.get(i, (0, 0)), second.get(i, (0, 0)), strict=True))
        for i in range(x.rank)
    }
    amounts = [n for pair in (*first.values(), *second.values()) for n in pair]
    if min(amounts, default=0) < 0:
        return Skip(f"one of the pads crops {-min(amounts)} positions")
    total = np.array([both[i][k] for k in (0, 1) for i in range(x.rank)], np.int64)
    filler = [] if value is None else [np.array(value, x.dtype.numpy)]
    return o.pad(x, total, *filler, mode=mode)


@rule(
    o.pad(X, _PADS, Any("value", optional=True), _AXES, mode=AnyAttr("mode")),
    example="""
    graph g(x: f32[5,7]) {
      const p: i64[4] = literal(-1,0,-2,-3)
      b: f32[2,4] = pad(x, p)
      return b
    }
    =>
    graph g(x: f32[5,7]) {
      const b.starts: i64[2] = literal(1,0)
      const b.ends: i64[2] = literal(-2,-3)
      const b.axes: i64[2] = literal(0,1)
      b: f32[2,4] = slice(x, b.starts, b.ends, b.axes)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[5,7]) {
      const p: i64[4] = literal(-1,0,-2,3)
      b: f32[2,10] = pad(x, p)
      return b
    }
    """,
)
def pad_is_slice(
    x: Tensor, pads: Tensor, value: Tensor | None, axes: Tensor | None, mode: str
) -> Operand:
    """Replace a pad with negative widths with a slice."""
    border = places(x.rank, pads, axes)
    if border is None:
        return Skip("the pads are computed at run time")
    widest = max((n for pair in border.values() for n in pair), default=0)
    if widest > 0:
        return Skip(f"up to {widest} positions are added")
    for axis, (begin, end) in border.items():
        size = x.shape[axis]
        if begin and end and not isinstance(size, int):
            return Skip(f"axis {axis} of open size {size} may be shorter than the crop")
    taken = {i: Cut(-b, e if e else FAR, 1) for i, (b, e) in border.items()}
    return Because(sliced(x, taken), f"{-sum(map(sum, border.values()))} positions are cropped")


PADS: list[Rule] = [merge_pads, pad_is_slice]
"""Rules for pads, in the order they are tried."""
