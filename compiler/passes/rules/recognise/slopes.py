"""Rules that recognise leaky relu and prelu: different slopes above and below zero."""

from __future__ import annotations

from math import isfinite

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, Const, ConstTensor, Number, OneOf, Product
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, is_finite
from compiler.passes.rules.calls import o

X = Any("x")
_RELU = OneOf(o.relu(X), o.max(X, 0))
_MIRRORED = OneOf(o.relu(o.neg(X)), o.max(o.neg(X), 0))


@rule(
    o.max(X, Product(X, Number("alpha"))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const slope: f32[] = literal(0.125)
      a: f32[2,3] = mul(x, slope)
      b: f32[2,3] = max(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = leaky_relu(x, alpha=0.125)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const slope: f32[] = literal(1.5)
      a: f32[2,3] = mul(x, slope)
      b: f32[2,3] = max(x, a)
      return b
    }
    """,
)
def leaky_relu_of_max(x: Tensor, alpha: float) -> Operand:
    """Recognise the maximum of x and a fraction of x as leaky relu."""
    if not x.dtype.is_float:
        return Skip(f"leaky relu is not defined for {x.dtype}")
    if not 0 < alpha < 1:
        return Skip(
            f"the slope is {alpha:g}; the maximum is leaky relu only for slopes between 0 and 1"
        )
    return o.leaky_relu(x, alpha=float(alpha))


@rule(
    OneOf(
        o.where(
            OneOf(o.greater(X, 0), o.greater_equal(X, 0)),
            X,
            OneOf(Product(X, Number("alpha")), o.mul(X, Const("slope"))),
        ),
        o.where(
            OneOf(o.less(X, 0), o.less_equal(X, 0)),
            OneOf(Product(X, Number("alpha")), o.mul(X, Const("slope"))),
            X,
        ),
    ),
    result="t",
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const s: f32[3] = literal(0.5,-0.25,2.0)
      const zero: f32[] = literal(0.0)
      c: bool[2,3] = greater(x, zero)
      a: f32[2,3] = mul(s, x)
      b: f32[2,3] = where(c, x, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const s: f32[3] = literal(0.5,-0.25,2.0)
      b: f32[2,3] = prelu(x, s)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const s: f32[3] = literal(0.5,-0.25,2.0)
      const one: f32[] = literal(1.0)
      c: bool[2,3] = greater(x, one)
      a: f32[2,3] = mul(s, x)
      b: f32[2,3] = where(c, x, a)
      return b
    }
    """,
)
def leaky_relu_of_where(
    x: Tensor, alpha: float | None, slope: ConstTensor | None, t: TensorType
) -> Operand:
    """Recognise `where(x > 0, x, slope * x)` as leaky relu, or as prelu if the slope is learned."""
    if not x.dtype.is_float:
        return Skip(f"leaky relu is not defined for {x.dtype}")
    if not (is_finite(slope.stored) if slope is not None else isfinite(alpha or 0)):
        return Skip("a slope is not finite, so 0 times the slope is NaN")
    if slope is None:
        return o.leaky_relu(x, alpha=float(alpha or 0))
    if t != x.type.logical:
        return Skip(f"the slope broadcasts {x.type} to {t}")
    return o.prelu(x, slope)


@rule(
    OneOf(
        o.add(_RELU, o.mul(Const("falling"), _MIRRORED)),
        o.add(_RELU, o.mul(Const("slope"), o.min(X, 0))),
        o.sub(_RELU, o.mul(Const("slope"), _MIRRORED)),
    ),
    result="t",
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const s: f32[3] = literal(-0.5,-0.25,-0.125)
      p: f32[2,3] = relu(x)
      n: f32[2,3] = neg(x)
      m: f32[2,3] = relu(n)
      a: f32[2,3] = mul(m, s)
      b: f32[2,3] = add(p, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.slope: f32[3] = literal(0.5,0.25,0.125)
      b: f32[2,3] = prelu(x, b.slope)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[2,3]) {
      const s: f32[3] = literal(-0.5,-0.25,-0.125)
      p: f32[2,3] = relu(x)
      n: f32[2,3] = neg(y)
      m: f32[2,3] = relu(n)
      a: f32[2,3] = mul(m, s)
      b: f32[2,3] = add(p, a)
      return b
    }
    """,
)
def prelu_of_parts(
    x: Tensor, falling: ConstTensor | None, slope: ConstTensor | None, t: TensorType
) -> Operand:
    """Recognise the positive part of x plus a multiple of its negative part as prelu (Keras)."""
    if not x.dtype.is_float:
        return Skip(f"prelu is not defined for {x.dtype}")
    if t != x.type.logical:
        return Skip(f"the slope broadcasts {x.type} to {t}")
    if slope is not None:
        return o.prelu(x, slope)
    assert falling is not None, "one of the two represents the slope"
    return o.prelu(x, combined(lambda s: -s, falling.stored))


SLOPES: list[Rule] = [leaky_relu_of_max, leaky_relu_of_where, prelu_of_parts]
"""Rules for leaky relu and prelu, in the order they are tried."""
