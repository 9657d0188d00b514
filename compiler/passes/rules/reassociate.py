"""Reassociation rules: the constants in a chain of products or sums merge into one constant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Operator, Tensor
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, objection_to
from compiler.passes.rules.calls import o

X, Y, A, B = Any("x"), Any("y"), Const("a"), Const("b")


@rule(
    o.mul(o.mul(X, A), B),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = mul(x, a)
      z: f32[2,3] = mul(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(1.0,1.5,2.5)
      z: f32[2,3] = mul(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[2,1] = literal(2.0,3.0)
      const b: f32[3] = literal(0.5,1.5,2.5)
      y: f32[2,3] = mul(x, a)
      z: f32[2,3] = mul(y, b)
      return z
    }
    """,
)
def merge_multiplications(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Merge two multiplications by constants: (x a) b = x (a b)."""
    return _merged(o.mul, np.multiply, x, a, b)


@rule(
    o.add(o.add(X, A), B),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = add(x, a)
      z: f32[2,3] = add(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(2.5,3.5,5.5)
      z: f32[2,3] = add(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = add(x, a)
      z: f32[2,3] = add(y, b)
      return z, y
    }
    """,
)
def merge_additions(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Merge two additions of constants: (x + a) + b = x + (a + b)."""
    return _merged(o.add, np.add, x, a, b)


def _merged(operator: Operator, fn: np.ufunc, x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    return gathered(fn, a, b, lambda both: operator(x, both))


def gathered(
    fn: Callable[..., object], a: ConstTensor, b: ConstTensor, made: Callable[[Constant], Operand]
) -> Operand:
    """Combine two constants and build the result; Skip if the constant grows or overflows."""
    both = combined(fn, a.stored, b.stored)
    objection = objection_to(both, a.stored, b.stored)
    return Skip(objection) if objection else made(both)


@rule(
    o.sub(A, o.add(X, B)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,4.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = add(x, b)
      z: f32[2,3] = sub(a, y)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.a: f32[3] = literal(0.5,1.5,3.5)
      z: f32[2,3] = sub(z.a, x)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,4.0)
      const b: f32[2,1] = literal(0.5,0.25)
      y: f32[2,3] = add(x, b)
      z: f32[2,3] = sub(a, y)
      return z
    }
    """,
)
def subtract_shifted(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Fold `a - (x + b)` to `(a - b) - x`, for constants a and b."""
    return gathered(np.subtract, a, b, lambda both: o.sub(both, x))


@rule(
    o.add(o.sub(A, X), B),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,4.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = sub(a, x)
      z: f32[2,3] = add(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.a: f32[3] = literal(1.5,2.5,4.5)
      z: f32[2,3] = sub(z.a, x)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], b: f32[]) {
      const a: f32[3] = literal(1.0,2.0,4.0)
      y: f32[2,3] = sub(a, x)
      z: f32[2,3] = add(y, b)
      return z
    }
    """,
)
def shift_of_difference(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Fold `(a - x) + b` to `(a + b) - x`, for constants a and b."""
    return gathered(np.add, a, b, lambda both: o.sub(both, x))


@rule(
    o.sub(A, o.sub(B, X)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,4.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = sub(b, x)
      z: f32[2,3] = sub(a, y)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(0.5,1.5,3.5)
      z: f32[2,3] = add(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,4.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = sub(x, b)
      z: f32[2,3] = sub(y, a)
      return z
    }
    """,
)
def difference_of_difference(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Fold `a - (b - x)` to `x + (a - b)`, for constants a and b."""
    return gathered(np.subtract, a, b, lambda both: o.add(x, both))


@rule(
    o.sub(o.sub(X, A), B),
    single_use=True,
    example="""
    graph g(x: i32[2,3]) {
      const a: i32[3] = literal(1,2,4)
      const b: i32[] = literal(5)
      y: i32[2,3] = sub(x, a)
      z: i32[2,3] = sub(y, b)
      return z
    }
    =>
    graph g(x: i32[2,3]) {
      const z.b: i32[3] = literal(6,7,9)
      z: i32[2,3] = sub(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,4.0)
      const b: f32[] = literal(5.0)
      y: f32[2,3] = sub(x, a)
      z: f32[2,3] = sub(y, b)
      return z
    }
    """,
)
def merge_subtractions(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Merge two subtractions of integer constants: (x - a) - b = x - (a + b).

    Overflow wraps around, so both forms agree.
    """
    if not x.dtype.is_integer:
        return Skip("a subtraction of a float constant becomes an addition first")
    return gathered(np.add, a, b, lambda both: o.sub(x, both))


REASSOCIATE: list[Rule] = [
    merge_multiplications,
    merge_additions,
    subtract_shifted,
    shift_of_difference,
    difference_of_difference,
    merge_subtractions,
]
"""Reassociation rules of `algebraic_simplification`, in the order they are tried."""
