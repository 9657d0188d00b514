"""Rules that fold negations into constants."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined
from compiler.passes.rules.calls import o

X, Y, A = Any("x"), Any("y"), Const("a")


@rule(
    o.sub(X, A),
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(1.0,2.5,-3.0)
      b: f32[2,3] = sub(x, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.b: f32[3] = literal(-1.0,-2.5,3.0)
      b: f32[2,3] = add(x, b.b)
      return b
    }
    """,
    near_miss="""
    graph g(x: i32[2,3]) {
      const c: i32[3] = literal(1,2,-3)
      b: i32[2,3] = sub(x, c)
      return b
    }
    """,
)
def subtract_constant(x: Tensor, a: ConstTensor) -> Operand:
    """Canonicalise `x - constant` to `x + (-constant)`.

    The addition is not cheaper by itself, but rules that match shifts need only match additions.
    """
    if not x.dtype.is_float:
        return Skip(f"the negative of a {x.dtype} may overflow {x.dtype}")
    return o.add(x, combined(np.negative, a.stored))


@rule(
    o.mul(X, -1),
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[] = literal(-1.0)
      b: f32[2,3] = mul(x, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = neg(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(-1.0,1.0,-1.0)
      b: f32[2,3] = mul(x, c)
      return b
    }
    """,
)
def multiply_by_minus_one(x: Tensor) -> Operand:
    """Canonicalise `x * -1` to `-x`, which other rules match."""
    return o.neg(x)


@rule(
    o.mul(o.neg(X), A),
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(2.0,-5.0,0.5)
      a: f32[2,3] = neg(x)
      b: f32[2,3] = mul(a, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.b: f32[3] = literal(-2.0,5.0,-0.5)
      b: f32[2,3] = mul(x, b.b)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(2.0,-5.0,0.5)
      a: f32[2,3] = neg(x)
      b: f32[2,3] = pow(a, c)
      d: f32[2,3] = mul(b, c)
      return d
    }
    """,
)
def scale_of_negated(x: Tensor, a: ConstTensor) -> Operand:
    """Fold a negation into the scale that follows."""
    return o.mul(x, combined(np.negative, a.stored))


@rule(
    o.neg(o.mul(X, A)),
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(2.0,-5.0,0.5)
      a: f32[2,3] = mul(x, c)
      b: f32[2,3] = neg(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.b: f32[3] = literal(-2.0,5.0,-0.5)
      b: f32[2,3] = mul(x, b.b)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(2.0,-5.0,0.5)
      a: f32[2,3] = mul(x, c)
      b: f32[2,3] = neg(a)
      return b, a
    }
    """,
)
def negated_scale(x: Tensor, a: ConstTensor) -> Operand:
    """Fold a negation into the preceding scale."""
    return o.mul(x, combined(np.negative, a.stored))


@rule(
    o.neg(o.add(X, A)),
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(2.0,-5.0,0.5)
      a: f32[2,3] = add(x, c)
      b: f32[2,3] = neg(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.a: f32[3] = literal(-2.0,5.0,-0.5)
      b: f32[2,3] = sub(b.a, x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], c: f32[3]) {
      a: f32[2,3] = add(x, c)
      b: f32[2,3] = neg(a)
      return b
    }
    """,
)
def negated_shift(x: Tensor, a: ConstTensor) -> Operand:
    """Rewrite `-(x + c)` as `-c - x`: one operation instead of two."""
    return o.sub(combined(np.negative, a.stored), x)


NEGATED_CONSTANTS: list[Rule] = [
    subtract_constant,
    multiply_by_minus_one,
    scale_of_negated,
    negated_scale,
    negated_shift,
]
"""Rules of `algebraic_simplification` that negate constants, in the order they are tried."""
