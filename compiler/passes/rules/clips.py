"""Rules that form clips from bounds, and remove bounds from clips."""

from __future__ import annotations

import math

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Known, Number
from compiler.passes.engine.ranges import NOT_NEGATIVE
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import scalar
from compiler.passes.rules.calls import o
from compiler.passes.rules.extremes import greatest, least

X = Any("x")

_LO, _HI = Number("lo", optional=True), Number("hi", optional=True)


def clip_to(x: Tensor, lo: float | None, hi: float | None) -> Operand:
    """Build a clip with bounds of x's type; None omits a bound."""
    bounds = [None if b is None else scalar(b, x.dtype) for b in (lo, hi)]
    return o.clip(x, *bounds[: 1 if hi is None else 2])


@rule(
    o.max(X, 0),
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[1] = literal(0.0)
      b: f32[2,3] = max(zero, x)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const zero: f32[4,1,1] = splat(0.0)
      b: f32[4,2,3] = max(zero, x)
      return b
    }
    """,
)
def relu_of_max(x: Tensor) -> Operand:
    """Fold `max(x, 0)` to relu."""
    if x.dtype.label[0] == "u":
        return Skip(f"{x.dtype} has no negative values")
    return o.relu(x)


@rule(
    o.clip(X, _LO, _HI),
    example="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-2.5)
      const hi: f32[] = literal(inf)
      b: f32[2,3] = clip(x, lo, hi)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.lo: f32[] = literal(-2.5)
      b: f32[2,3] = clip(x, b.lo)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-2.5)
      const hi: f32[] = literal(3e38)
      b: f32[2,3] = clip(x, lo, hi)
      return b
    }
    """,
)
def drop_bounds_that_bind_nothing(x: Tensor, lo: float | None, hi: float | None) -> Operand:
    """Remove clip bounds outside the range of the type, and clips without bounds.

    Exporters represent an absent bound by infinity or the largest value of the type.
    """
    low = None if lo == least(x.dtype) else lo
    high = None if hi == greatest(x.dtype) else hi
    if low is None and high is None:
        return x
    if (low, high) == (lo, hi) or low != low or high != high:
        return Skip(f"the bounds {lo} and {hi} may change elements")
    return clip_to(x, low, high)


@rule(
    o.clip(X, 0),
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      b: f32[2,3] = clip(x, zero)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      b: f32[2,3] = clip(x, _, zero)
      return b
    }
    """,
)
def relu_of_lower_bound(x: Tensor) -> Operand:
    """Fold a clip at 0 without an upper bound to relu."""
    if x.dtype.label[0] == "u":
        return Skip(f"{x.dtype} has no negative values")
    return o.relu(x)


@rule(
    o.clip(Known("x", NOT_NEGATIVE), Number("lo"), _HI),
    example="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-1.0)
      const hi: f32[] = literal(6.0)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = clip(a, lo, hi)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.hi: f32[] = literal(6.0)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = clip(a, _, b.hi)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(1.0)
      const hi: f32[] = literal(6.0)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = clip(a, lo, hi)
      return b
    }
    """,
)
def drop_lower_bound_of_positive(x: Tensor, lo: float, hi: float | None) -> Operand:
    """Remove a lower bound of 0 or less if no element is negative."""
    if not -math.inf < lo <= 0:
        return Skip(f"the lower bound {lo:g} may change elements")
    return clip_to(x, None, hi)


CLIPS: list[Rule] = [
    drop_bounds_that_bind_nothing,
    relu_of_lower_bound,
    drop_lower_bound_of_positive,
    relu_of_max,
]
"""Rules of `algebraic_simplification` for single bounds, in the order they are tried."""
