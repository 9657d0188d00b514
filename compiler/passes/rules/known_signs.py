"""Rules for operands with a known sign, or with known integral values."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Known
from compiler.passes.engine.ranges import NOT_NEGATIVE, WHOLE
from compiler.passes.engine.rule import Rule, rule
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.relu(Known("x", NOT_NEGATIVE)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      b: f32[2,3] = relu(a)
      c: f32[2,3] = exp(b)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      c: f32[2,3] = exp(a)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = relu(x)
      d: f32[2,3] = sub(a, y)
      b: f32[2,3] = relu(d)
      return b
    }
    """,
)
def drop_relu_of_positive(x: Tensor) -> Operand:
    """Remove the relu of a non-negative operand.

    Results of relu, exponential, sigmoid and sums of squares are non-negative.
    """
    return x


@rule(
    o.abs(Known("x", NOT_NEGATIVE)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = abs(x)
      b: f32[2,3] = abs(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = abs(x)
      return b=a
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = tanh(x)
      b: f32[2,3] = abs(a)
      return b
    }
    """,
)
def drop_abs_of_positive(x: Tensor) -> Operand:
    """Remove the absolute value of a non-negative operand."""
    return x


@rule(
    o.floor(Known("x", WHOLE)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = ceil(x)
      b: f32[2,3] = floor(a)
      c: f32[2,3] = exp(b)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = ceil(x)
      c: f32[2,3] = exp(a)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = ceil(x)
      d: f32[2,3] = mul(a, y)
      b: f32[2,3] = floor(d)
      return b
    }
    """,
)
def drop_floor_of_whole(x: Tensor) -> Operand:
    """Remove the floor of an integral operand."""
    return x


@rule(
    o.ceil(Known("x", WHOLE)),
    example="""
    graph g(x: i32[2,3]) {
      a: f32[2,3] = cast(x, to=f32)
      b: f32[2,3] = ceil(a)
      c: f32[2,3] = exp(b)
      return c
    }
    =>
    graph g(x: i32[2,3]) {
      a: f32[2,3] = cast(x, to=f32)
      c: f32[2,3] = exp(a)
      return c
    }
    """,
    near_miss="""
    graph g(x: f16[2,3]) {
      a: f32[2,3] = cast(x, to=f32)
      b: f32[2,3] = ceil(a)
      return b
    }
    """,
)
def drop_ceil_of_whole(x: Tensor) -> Operand:
    """Remove the ceiling of an integral operand."""
    return x


@rule(
    o.round(Known("x", WHOLE)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = floor(x)
      b: f32[2,3] = round(a)
      c: f32[2,3] = exp(b)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = floor(x)
      c: f32[2,3] = exp(a)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const half: f32[] = literal(0.5)
      a: f32[2,3] = floor(x)
      d: f32[2,3] = mul(a, half)
      b: f32[2,3] = round(d)
      return b
    }
    """,
)
def drop_round_of_whole(x: Tensor) -> Operand:
    """Remove the rounding of an integral operand."""
    return x


KNOWN_SIGNS: list[Rule] = [
    drop_relu_of_positive,
    drop_abs_of_positive,
    drop_floor_of_whole,
    drop_ceil_of_whole,
    drop_round_of_whole,
]
"""Rules of `algebraic_simplification` for known signs and integral values, in the order tried."""
