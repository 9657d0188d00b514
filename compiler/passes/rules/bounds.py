"""Rules for lower and upper bounds: relu, clip, and minima of maxima."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Number
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.clips import clip_to

X = Any("x")
_LO, _HI = Number("lo", optional=True), Number("hi", optional=True)


@rule(
    o.clip(o.relu(X), _LO, _HI),
    example="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-1.0)
      const hi: f32[] = literal(6.0)
      a: f32[2,3] = relu(x)
      b: f32[2,3] = clip(a, lo, hi)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.lo: f32[] = literal(0.0)
      const b.hi: f32[] = literal(6.0)
      b: f32[2,3] = clip(x, b.lo, b.hi)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], hi: f32[]) {
      const lo: f32[] = literal(-1.0)
      a: f32[2,3] = relu(x)
      b: f32[2,3] = clip(a, lo, hi)
      return b
    }
    """,
)
def clip_of_relu(x: Tensor, lo: float | None, hi: float | None) -> Operand:
    """Merge a relu into the clip that reads it."""
    return clip_to(x, max(lo or 0, 0), hi)


@rule(
    o.relu(o.clip(X, _LO, _HI)),
    example="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-1.0)
      const hi: f32[] = literal(6.0)
      a: f32[2,3] = clip(x, lo, hi)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.lo: f32[] = literal(0.0)
      const b.hi: f32[] = literal(6.0)
      b: f32[2,3] = clip(x, b.lo, b.hi)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], lo: f32[]) {
      const hi: f32[] = literal(6.0)
      a: f32[2,3] = clip(x, lo, hi)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
)
def relu_of_clip(x: Tensor, lo: float | None, hi: float | None) -> Operand:
    """Merge a relu into the clip before it."""
    return clip_to(x, max(lo or 0, 0), None if hi is None else max(hi, 0))


@rule(
    o.clip(
        o.clip(X, Number("a", optional=True), Number("b", optional=True)),
        Number("c", optional=True),
        Number("d", optional=True),
    ),
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[] = literal(-2.0)
      const b: f32[] = literal(4.0)
      const c: f32[] = literal(-1.0)
      const d: f32[] = literal(6.0)
      y: f32[2,3] = clip(x, a, b)
      z: f32[2,3] = clip(y, c, d)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.lo: f32[] = literal(-1.0)
      const z.hi: f32[] = literal(4.0)
      z: f32[2,3] = clip(x, z.lo, z.hi)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[] = literal(-2.0)
      const b: f32[] = literal(hex("0000c07f"))
      const c: f32[] = literal(1.5)
      y: f32[2,3] = clip(x, a, c)
      z: f32[2,3] = clip(y, b, c)
      return z
    }
    """,
)
def merge_clips(
    x: Tensor, a: float | None, b: float | None, c: float | None, d: float | None
) -> Operand:
    """Merge two consecutive clips: clip the bounds of the first to the bounds of the second.

    The merge is correct even if a lower bound exceeds the upper bound, since a clip is monotonic.
    """
    if any(bound is not None and bound != bound for bound in (a, b, c, d)):
        return Skip("a bound is NaN, which makes every result NaN")
    lo = _clamped(a, c, d) if a is not None else c
    hi = _clamped(b, c, d) if b is not None else d
    return clip_to(x, lo, hi)


def _clamped(v: float, lo: float | None, hi: float | None) -> float:
    v = v if lo is None else max(v, lo)
    return v if hi is None else min(v, hi)


@rule(
    o.min(o.max(X, Number("lo")), Number("hi")),
    example="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-1.5)
      const hi: f32[1] = literal(2.0)
      a: f32[2,3] = max(x, lo)
      b: f32[2,3] = min(a, hi)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.lo: f32[] = literal(-1.5)
      const b.hi: f32[] = literal(2.0)
      b: f32[2,3] = clip(x, b.lo, b.hi)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const lo: f32[3] = literal(-1.5,-1.0,-0.5)
      const hi: f32[] = literal(2.0)
      a: f32[2,3] = max(x, lo)
      b: f32[2,3] = min(a, hi)
      return b
    }
    """,
)
def min_of_max(x: Tensor, lo: float, hi: float) -> Operand:
    """Combine a lower and an upper bound into a clip."""
    return clip_to(x, lo, hi)


@rule(
    o.max(o.min(X, Number("hi")), Number("lo")),
    example="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-1.5)
      const hi: f32[1] = literal(2.0)
      a: f32[2,3] = min(x, hi)
      b: f32[2,3] = max(a, lo)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.lo: f32[] = literal(-1.5)
      const b.hi: f32[] = literal(2.0)
      b: f32[2,3] = clip(x, b.lo, b.hi)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(2.5)
      const hi: f32[] = literal(-1.0)
      a: f32[2,3] = min(x, hi)
      b: f32[2,3] = max(a, lo)
      return b
    }
    """,
)
def max_of_min(x: Tensor, lo: float, hi: float) -> Operand:
    """Combine an upper and a lower bound into a clip, if the bounds do not cross.

    For crossed bounds the result is the bound applied last, and a clip applies its upper bound
    last.
    """
    if not lo <= hi:
        return Skip(f"the bounds {lo:g} and {hi:g} cross, or one of them is NaN")
    return clip_to(x, lo, hi)


@rule(
    o.min(o.relu(X), Number("hi")),
    example="""
    graph g(x: f32[2,3]) {
      const hi: f32[] = literal(6.0)
      a: f32[2,3] = relu(x)
      b: f32[2,3] = min(a, hi)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.lo: f32[] = literal(0.0)
      const b.hi: f32[] = literal(6.0)
      b: f32[2,3] = clip(x, b.lo, b.hi)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const hi: f32[3] = literal(6.0,4.0,2.0)
      a: f32[2,3] = relu(x)
      b: f32[2,3] = min(a, hi)
      return b
    }
    """,
)
def min_of_relu(x: Tensor, hi: float) -> Operand:
    """Combine a relu and an upper bound into a clip."""
    return clip_to(x, 0, hi)


@rule(
    o.relu(o.min(X, Number("hi"))),
    example="""
    graph g(x: f32[2,3]) {
      const hi: f32[] = literal(6.0)
      a: f32[2,3] = min(x, hi)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.lo: f32[] = literal(0.0)
      const b.hi: f32[] = literal(6.0)
      b: f32[2,3] = clip(x, b.lo, b.hi)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], hi: f32[]) {
      a: f32[2,3] = min(x, hi)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
)
def relu_of_min(x: Tensor, hi: float) -> Operand:
    """Combine an upper bound and the relu after it into a clip."""
    return Skip("the bound is NaN") if hi != hi else clip_to(x, 0, max(hi, 0))


BOUNDS: list[Rule] = [
    clip_of_relu,
    relu_of_clip,
    merge_clips,
    min_of_max,
    max_of_min,
    min_of_relu,
    relu_of_min,
]
"""Rules of `algebraic_simplification` for bounds, in the order they are tried."""
