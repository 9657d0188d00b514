"""Rules for identity elements, and for operations on two equal operands."""

from __future__ import annotations

from compiler.ir.operator import Tensor
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import Rule, rule
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.add(X, 0),
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = add(x, zero)
      b: f32[2,3] = relu(a)
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
      const zeros: f32[4,1,1] = splat(0.0)
      a: f32[4,2,3] = add(x, zeros)
      b: f32[4,2,3] = relu(a)
      return b
    }
    """,
)
def drop_add_zero(x: Tensor) -> Tensor:
    """Fold `x + 0` to `x`.

    Only the sign of a zero differs: -0 + 0 is +0, but x keeps its -0.
    """
    return x


@rule(
    o.sub(X, 0),
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = sub(x, zero)
      b: f32[2,3] = relu(a)
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
      a: f32[2,3] = sub(zero, x)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
)
def drop_subtract_zero(x: Tensor) -> Tensor:
    """Fold `x - 0` to `x`."""
    return x


@rule(
    o.mul(X, 1),
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[3] = splat(1.0)
      a: f32[2,3] = mul(x, one)
      b: f32[2,3] = relu(a)
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
      const ones: f32[3] = literal(1.0,1.0,1.5)
      a: f32[2,3] = mul(x, ones)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
)
def drop_multiply_by_one(x: Tensor) -> Tensor:
    """Fold `x * 1` to `x`."""
    return x


@rule(
    o.div(X, 1),
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = div(x, one)
      b: f32[2,3] = relu(a)
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
      const one: f32[] = literal(1.0)
      a: f32[2,3] = div(one, x)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
)
def drop_divide_by_one(x: Tensor) -> Tensor:
    """Fold `x / 1` to `x`."""
    return x


@rule(
    o.pow(X, 1),
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = pow(x, one)
      b: f32[2,3] = relu(a)
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
      const one: f32[] = literal(1.0)
      a: f32[2,3] = pow(one, x)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
)
def drop_power_one(x: Tensor) -> Tensor:
    """Fold `x ** 1` to `x`."""
    return x


@rule(
    o.max(X, X),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = max(x, x)
      b: f32[2,3] = exp(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = exp(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,3], y: f32[2,3]) {
      a: f32[2,3] = max(x, y)
      b: f32[2,3] = exp(a)
      return b
    }
    """,
)
def max_with_itself(x: Tensor) -> Tensor:
    """Fold `max(x, x)` to `x`."""
    return x


@rule(
    o.min(X, X),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = min(x, x)
      b: f32[2,3] = exp(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = exp(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,3], y: f32[2,3]) {
      a: f32[2,3] = min(x, y)
      b: f32[2,3] = exp(a)
      return b
    }
    """,
)
def min_with_itself(x: Tensor) -> Tensor:
    """Fold `min(x, x)` to `x`."""
    return x


NEUTRAL: list[Rule] = [
    drop_add_zero,
    drop_subtract_zero,
    drop_multiply_by_one,
    drop_divide_by_one,
    drop_power_one,
    max_with_itself,
    min_with_itself,
]
"""Rules of `remove_noops` for identity elements and equal operands, in the order they are tried."""
