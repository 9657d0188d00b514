"""Rules that recognise piecewise linear activations: hard sigmoid and hard swish."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr, Number, OneOf, Product, is_near
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")
_SIZE = Number("size")
_SIX_PLACES = OneOf(
    o.clip(o.add(X, 3), 0, 6), o.min(o.relu(o.add(X, 3)), 6), o.min(o.max(o.add(X, 3), 0), 6)
)


@rule(
    Product(X, _SIX_PLACES, _SIZE),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const six: f32[] = literal(6.0)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, six)
      c: f32[2,3] = mul(x, b)
      d: f32[2,3] = div(c, six)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = hard_swish(x)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const six: f32[] = literal(6.0)
      const fifth: f32[] = literal(0.2)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, six)
      c: f32[2,3] = mul(x, b)
      d: f32[2,3] = mul(c, fifth)
      return d
    }
    """,
)
def hard_swish_written_out(x: Tensor, size: float) -> Operand:
    """Recognise `x*clip(x+3, 0, 6)/6` as hard swish.

    The operator is a single loop, and its name shows the intent of the model's author.
    """
    return _hard_swish(x, size)


def _hard_swish(x: Tensor, scale: float) -> Operand:
    if not x.dtype.is_float:
        return Skip(f"hard swish is not defined for {x.dtype}")
    if not is_near(scale, 1 / 6, x.dtype):
        return Skip(f"the scale is {scale:g}, and hard swish requires 1/6")
    return o.hard_swish(x)


@rule(
    o.mul(X, o.hard_sigmoid(X, alpha=AnyAttr("alpha"), beta=AnyAttr("beta"))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = hard_sigmoid(x, alpha=0.16666666666666666, beta=0.5)
      b: f32[2,3] = mul(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = hard_swish(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = hard_sigmoid(x, alpha=0.2, beta=0.5)
      b: f32[2,3] = mul(x, a)
      return b
    }
    """,
)
def hard_swish_of_hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Operand:
    """Recognise x times its hard sigmoid as hard swish."""
    if not is_near(beta, 0.5, x.dtype):
        return Skip(f"the shift is {beta:g}, and hard swish requires 0.5")
    return _hard_swish(x, alpha)


@rule(
    Product(o.clip(o.add(X, Number("shift")), Number("lo"), Number("hi")), _SIZE),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const four: f32[] = literal(4.0)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, four)
      c: f32[2,3] = div(b, four)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = hard_sigmoid(x, alpha=0.25, beta=0.75)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const third: f32[] = literal(0.25)
      const six: f32[] = literal(6.0)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, six)
      c: f32[2,3] = mul(b, third)
      return c
    }
    """,
)
def hard_sigmoid_written_out(x: Tensor, shift: float, lo: float, hi: float, size: float) -> Operand:
    """Recognise `clip(x+3, 0, 6)/6` as a hard sigmoid."""
    if not x.dtype.is_float:
        return Skip(f"hard sigmoid is not defined for {x.dtype}")
    if lo != 0 or not is_near(hi * size, 1, x.dtype):
        return Skip(
            f"the range is {lo * size:g} to {hi * size:g}, but a hard sigmoid ranges from 0 to 1"
        )
    return o.hard_sigmoid(x, alpha=float(size), beta=float(shift * size))


@rule(
    o.clip(o.add(Product(X, Number("alpha")), Number("beta")), 0, 1),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const alpha: f32[] = literal(0.25)
      const beta: f32[] = literal(0.75)
      const zero: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      a: f32[2,3] = mul(x, alpha)
      b: f32[2,3] = add(a, beta)
      c: f32[2,3] = clip(b, zero, one)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = hard_sigmoid(x, alpha=0.25, beta=0.75)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const alpha: f32[3] = literal(0.25,0.25,0.5)
      const beta: f32[] = literal(0.75)
      const zero: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      a: f32[2,3] = mul(x, alpha)
      b: f32[2,3] = add(a, beta)
      c: f32[2,3] = clip(b, zero, one)
      return c
    }
    """,
)
def hard_sigmoid_of_line(x: Tensor, alpha: float, beta: float) -> Operand:
    """Recognise a linear function clipped to 0 and 1 as a hard sigmoid."""
    if not x.dtype.is_float:
        return Skip(f"hard sigmoid is not defined for {x.dtype}")
    return o.hard_sigmoid(x, alpha=float(alpha), beta=float(beta))


HARD: list[Rule] = [
    hard_swish_written_out,
    hard_sigmoid_written_out,
    hard_sigmoid_of_line,
    hard_swish_of_hard_sigmoid,
]
"""Rules for piecewise linear activations, in the order they are tried."""
