"""Rules for absolute values, signs, and the positive and negative parts of a value."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.mul(o.abs(X), o.sign(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = abs(x)
      b: f32[2,3] = sign(x)
      c: f32[2,3] = mul(a, b)
      d: f32[2,3] = exp(c)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = exp(x)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = abs(x)
      b: f32[3] = sign(y)
      c: f32[2,3] = mul(a, b)
      return c
    }
    """,
)
def magnitude_times_sign(x: Tensor) -> Operand:
    """Fold `abs(x) * sign(x)` to `x`."""
    return x


@rule(
    o.mul(X, o.sign(X)),
    example="""
    graph g(x: f32[2,3]) {
      b: f32[2,3] = sign(x)
      c: f32[2,3] = mul(x, b)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = abs(x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = sign(x)
      c: f32[2,3] = mul(b, y)
      return c
    }
    """,
)
def times_its_sign(x: Tensor) -> Operand:
    """Fold `x * sign(x)` to `abs(x)`."""
    return o.abs(x)


@rule(
    o.mul(o.abs(X), o.abs(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = abs(x)
      b: f32[2,3] = mul(a, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = mul(x, x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = abs(x)
      b: f32[2,3] = mul(a, x)
      return b
    }
    """,
)
def square_of_abs(x: Tensor) -> Operand:
    """Fold the square of `abs(x)` to the square of x."""
    return o.mul(x, x)


@rule(
    o.max(X, o.neg(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = neg(x)
      b: f32[2,3] = max(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = abs(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[3] = neg(y)
      b: f32[2,3] = max(x, a)
      return b
    }
    """,
)
def larger_of_both_signs(x: Tensor) -> Operand:
    """Fold `max(x, -x)` to `abs(x)`."""
    return o.abs(x)


@rule(
    o.add(o.relu(X), o.relu(o.neg(X))),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      n: f32[2,3] = neg(x)
      b: f32[2,3] = relu(n)
      c: f32[2,3] = add(a, b)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = abs(x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = relu(x)
      n: f32[3] = neg(y)
      b: f32[3] = relu(n)
      c: f32[2,3] = add(a, b)
      return c
    }
    """,
)
def sum_of_both_parts(x: Tensor) -> Operand:
    """Fold `relu(x) + relu(-x)` to `abs(x)`."""
    if not x.dtype.is_float:
        return Skip(f"the smallest {x.dtype} overflows when negated")
    return o.abs(x)


@rule(
    o.sub(o.relu(X), o.relu(o.neg(X))),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      n: f32[2,3] = neg(x)
      b: f32[2,3] = relu(n)
      c: f32[2,3] = sub(a, b)
      d: f32[2,3] = exp(c)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = exp(x)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      n: f32[2,3] = neg(x)
      b: f32[2,3] = relu(n)
      c: f32[2,3] = sub(b, a)
      return c
    }
    """,
)
def difference_of_both_parts(x: Tensor) -> Operand:
    """Fold `relu(x) - relu(-x)` to `x`."""
    if not x.dtype.is_float:
        return Skip(f"the smallest {x.dtype} overflows when negated")
    return x


MAGNITUDES: list[Rule] = [
    magnitude_times_sign,
    times_its_sign,
    square_of_abs,
    larger_of_both_signs,
    sum_of_both_parts,
    difference_of_both_parts,
]
"""Rules of `algebraic_simplification` for magnitudes, in the order they are tried."""
