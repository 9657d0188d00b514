"""Rules for operations with a constant result, such as `x * 0` and `x - x`."""

from __future__ import annotations

from compiler.ir.constant import Constant
from compiler.ir.operator import Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import filled
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.mul(X, 0),
    example="""
    graph g(x: i32[2,3], y: i32[3]) {
      const zero: i32[] = literal(0)
      a: i32[2,3] = mul(x, zero)
      b: i32[2,3] = add(a, y)
      return b
    }
    =>
    graph g(x: i32[2,3], y: i32[3]) {
      const a: i32[2,3] = splat(0)
      b: i32[2,3] = add(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = mul(x, zero)
      b: f32[2,3] = add(a, y)
      return b
    }
    """,
    result="t",
)
def multiply_by_zero(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `x * 0` to 0, for integers.

    The fold is illegal for floats: infinity times 0 and NaN times 0 are NaN.
    """
    if not t.dtype.is_integer:
        return Skip(f"NaN times 0 and infinity times 0 are NaN, so {t} * 0 is not always 0")
    return filled(0, t)


@rule(
    o.pow(X, 0),
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = pow(x, zero)
      b: f32[2,3] = add(a, y)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      const a: f32[2,3] = splat(1.0)
      b: f32[2,3] = add(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = pow(zero, x)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
    result="t",
)
def power_zero(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `x ** 0` to 1, even for 0 and NaN.

    Source: IEEE 754-2019, 9.2.1, pow.
    """
    return filled(1, t)


@rule(
    o.sub(X, X),
    example="""
    graph g(x: i32[2,3], y: i32[3]) {
      a: i32[2,3] = sub(x, x)
      b: i32[2,3] = add(a, y)
      return b
    }
    =>
    graph g(x: i32[2,3], y: i32[3]) {
      const a: i32[2,3] = splat(0)
      b: i32[2,3] = add(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = sub(x, x)
      b: f32[2,3] = add(a, y)
      return b
    }
    """,
    result="t",
)
def subtract_itself(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `x - x` to 0, for integers.

    The fold is illegal for floats: infinity minus infinity and NaN minus NaN are NaN.
    """
    if not t.dtype.is_integer:
        return Skip("infinity minus infinity is NaN, so x - x is not always 0")
    return filled(0, t)


@rule(
    o.mod(X, 1, fmod=AnyAttr("fmod")),
    example="""
    graph g(x: i32[2,3], y: i32[3]) {
      const one: i32[] = literal(1)
      a: i32[2,3] = mod(x, one)
      b: i32[2,3] = add(a, y)
      return b
    }
    =>
    graph g(x: i32[2,3], y: i32[3]) {
      const a: i32[2,3] = splat(0)
      b: i32[2,3] = add(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = mod(x, one, fmod=true)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
    result="t",
)
def remainder_by_one(x: Tensor, fmod: bool, t: TensorType) -> Constant | Skip:
    """Fold `x mod 1` to 0, for integers."""
    if not t.dtype.is_integer:
        return Skip(f"the remainder of a {t.dtype} number divided by 1 is its fractional part")
    return filled(0, t)


@rule(
    o.div(0, X),
    example="""
    graph g(x: i32[2,3], y: i32[3]) {
      const zero: i32[] = literal(0)
      a: i32[2,3] = div(zero, x)
      b: i32[2,3] = add(a, y)
      return b
    }
    =>
    graph g(x: i32[2,3], y: i32[3]) {
      const a: i32[2,3] = splat(0)
      b: i32[2,3] = add(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = div(zero, x)
      b: f32[2,3] = add(a, y)
      return b
    }
    """,
    result="t",
)
def zero_divided(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `0 / x` to 0, for integers; the IR defines 0 / 0 as 0.

    The fold is illegal for floats: 0/0 is NaN.
    """
    if not t.dtype.is_integer:
        return Skip("0/0 is NaN, so 0/x is not always 0")
    return filled(0, t)


DECIDING: list[Rule] = [
    multiply_by_zero,
    power_zero,
    subtract_itself,
    remainder_by_one,
    zero_divided,
]
"""Rules of `remove_noops` for absorbing elements, in the order they are tried."""
