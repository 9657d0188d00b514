"""Rules for quotients with a constant numerator: scales fold into the numerator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, objection_to
from compiler.passes.rules.calls import o

X, Y, Z, A, B = Any("x"), Any("y"), Any("z"), Const("a"), Const("b")


@rule(
    o.mul(o.div(A, X), B),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[] = literal(3.0)
      const b: f32[3] = literal(0.5,1.5,-2.0)
      y: f32[2,3] = div(a, x)
      z: f32[2,3] = mul(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.a: f32[3] = literal(1.5,4.5,-6.0)
      z: f32[2,3] = div(z.a, x)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[2,1] = literal(3.0,5.0)
      const b: f32[3] = literal(0.5,1.5,-2.0)
      y: f32[2,3] = div(a, x)
      z: f32[2,3] = mul(y, b)
      return z
    }
    """,
)
def scaled_inverse(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Fold a scale of `a/x` into the constant a."""
    if not x.dtype.is_float:
        return Skip(f"quotients of {x.dtype} are truncated before the multiplication")
    both = combined(np.multiply, a.stored, b.stored)
    objection = objection_to(both, a.stored, b.stored)
    return Skip(objection) if objection else o.div(both, x)


@rule(
    o.div(A, o.mul(X, B)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(3.0,1.0,5.0)
      const b: f32[] = literal(-2.0)
      y: f32[2,3] = mul(x, b)
      z: f32[2,3] = div(a, y)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.a: f32[3] = literal(-1.5,-0.5,-2.5)
      z: f32[2,3] = div(z.a, x)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(3.0,1.0,5.0)
      const b: f32[] = literal(0.0)
      y: f32[2,3] = mul(x, b)
      z: f32[2,3] = div(a, y)
      return z
    }
    """,
)
def inverse_of_scaled(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Fold a scale of the divisor into the constant numerator."""
    return _inverse(x, a, b, o.div)


@rule(
    o.div(A, o.div(B, X)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(3.0,1.0,5.0)
      const b: f32[] = literal(-2.0)
      y: f32[2,3] = div(b, x)
      z: f32[2,3] = div(a, y)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(-1.5,-0.5,-2.5)
      z: f32[2,3] = mul(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(3.0,1.0,5.0)
      const b: f32[] = literal(0.0)
      y: f32[2,3] = div(b, x)
      z: f32[2,3] = div(a, y)
      return z
    }
    """,
)
def inverse_of_inverse(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Fold `a / (b / x)` to `x * (a / b)`, for constants a and b: no division remains."""
    return _inverse(x, a, b, lambda ratio, x: o.mul(x, ratio))


def _inverse(
    x: Tensor, a: ConstTensor, b: ConstTensor, made: Callable[[Constant, Tensor], Operand]
) -> Operand:
    if not x.dtype.is_float:
        return Skip(f"quotients of {x.dtype} are rounded")
    ratio = combined(np.divide, a.stored, b.stored)
    objection = objection_to(ratio, a.stored, b.stored)
    return Skip(objection) if objection else made(ratio, x)


INVERSES: list[Rule] = [
    inverse_of_scaled,
    inverse_of_inverse,
    scaled_inverse,
]
"""Rules of `algebraic_simplification` for constant numerators, in the order tried."""
