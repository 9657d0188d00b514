"""Rules that combine the constants of products and sums across operands."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Rule, rule
from compiler.passes.rules.arithmetic import unless_long
from compiler.passes.rules.calls import o
from compiler.passes.rules.reassociate import gathered

X, Y, A, B = Any("x"), Any("y"), Const("a"), Const("b")


@rule(
    o.mul(o.mul(o.mul(X, A), Y), B),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[] = literal(0.5)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[3] = mul(x, a)
      q: f32[2,3] = mul(p, y)
      z: f32[2,3] = mul(q, b)
      return z
    }
    =>
    graph g(x: f32[3], y: f32[2,3]) {
      const z.b: f32[3] = literal(1.0,-1.5,2.5)
      z.a: f32[2,3] = mul(x, y)
      z: f32[2,3] = mul(z.a, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[] = literal(0.5)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[3] = mul(x, a)
      q: f32[2,3] = add(p, y)
      z: f32[2,3] = mul(q, b)
      return z
    }
    """,
)
def gather_factors(x: Tensor, a: ConstTensor, y: Tensor, b: ConstTensor) -> Operand:
    """Combine the constants of a product of several factors at compile time."""
    return unless_long(x) or gathered(np.multiply, a, b, lambda both: o.mul(o.mul(x, y), both))


@rule(
    o.add(o.add(o.add(X, A), Y), B),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[] = literal(0.5)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[3] = add(x, a)
      q: f32[2,3] = add(p, y)
      z: f32[2,3] = add(q, b)
      return z
    }
    =>
    graph g(x: f32[3], y: f32[2,3]) {
      const z.b: f32[3] = literal(2.5,-2.5,5.5)
      z.a: f32[2,3] = add(x, y)
      z: f32[2,3] = add(z.a, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[] = literal(0.5)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[3] = add(x, a)
      q: f32[2,3] = add(p, y)
      z: f32[2,3] = add(q, b)
      return z, q
    }
    """,
)
def gather_terms(x: Tensor, a: ConstTensor, y: Tensor, b: ConstTensor) -> Operand:
    """Combine the constants of a sum of several terms at compile time."""
    return gathered(np.add, a, b, lambda both: o.add(o.add(x, y), both))


@rule(
    o.mul(o.mul(X, A), o.mul(Y, B)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[] = literal(0.5)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[3] = mul(x, a)
      q: f32[2,3] = mul(y, b)
      z: f32[2,3] = mul(p, q)
      return z
    }
    =>
    graph g(x: f32[3], y: f32[2,3]) {
      const z.b: f32[3] = literal(1.0,-1.5,2.5)
      z.a: f32[2,3] = mul(x, y)
      z: f32[2,3] = mul(z.a, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[2,1] = literal(0.5,0.25)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[2,3] = mul(x, a)
      q: f32[2,3] = mul(y, b)
      z: f32[2,3] = mul(p, q)
      return z
    }
    """,
)
def product_of_scaled(x: Tensor, a: ConstTensor, y: Tensor, b: ConstTensor) -> Operand:
    """Multiply the constant scales of two factors at compile time."""
    return unless_long(x) or gathered(np.multiply, a, b, lambda both: o.mul(o.mul(x, y), both))


@rule(
    o.add(o.add(X, A), o.add(Y, B)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[] = literal(0.5)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[3] = add(x, a)
      q: f32[2,3] = add(y, b)
      z: f32[2,3] = add(p, q)
      return z
    }
    =>
    graph g(x: f32[3], y: f32[2,3]) {
      const z.b: f32[3] = literal(2.5,-2.5,5.5)
      z.a: f32[2,3] = add(x, y)
      z: f32[2,3] = add(z.a, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3], y: f32[2,3]) {
      const a: f32[] = literal(0.5)
      const b: f32[3] = literal(2.0,-3.0,5.0)
      p: f32[3] = add(x, a)
      q: f32[2,3] = add(y, b)
      z: f32[2,3] = add(p, q)
      w: f32[2,3] = mul(p, z)
      return w
    }
    """,
)
def sum_of_shifted(x: Tensor, a: ConstTensor, y: Tensor, b: ConstTensor) -> Operand:
    """Add the constant shifts of two terms at compile time."""
    return gathered(np.add, a, b, lambda both: o.add(o.add(x, y), both))


GATHER: list[Rule] = [
    gather_factors,
    gather_terms,
    product_of_scaled,
    sum_of_shifted,
]
"""Rules of `algebraic_simplification` that combine constants of operands, in the order tried."""
