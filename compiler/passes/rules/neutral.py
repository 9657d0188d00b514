"""Rules about neutral elements, and about operands that decide the result whatever the other is."""

from __future__ import annotations

from compiler.ir.constant import Constant
from compiler.ir.operator import Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, Skip, rule
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
    """Adding 0 gives the same numbers.

    The one difference is the sign of a zero: -0 + 0 is +0, and stays -0 without the addition.
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
    """Subtracting 0 gives the same numbers."""
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
    """Multiplying by 1 gives the same numbers."""
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
    """Dividing by 1 gives the same numbers."""
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
    """The first power of a number is that number."""
    return x


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
    """Whole numbers times 0 are 0.

    Not so for floating point numbers: infinity times 0 and NaN times 0 are NaN.
    """
    if not t.dtype.is_integer:
        return Skip(f"NaN times 0 and infinity times 0 are NaN, so {t} * 0 is not always 0")
    return _filled(0, t)


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
    """To the power of 0 everything is 1, even 0 and NaN.

    Source: IEEE 754-2019, 9.2.1, pow.
    """
    return _filled(1, t)


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
    """A whole number minus itself is 0.

    Not so for floating point numbers: infinity minus infinity and NaN minus NaN are NaN.
    """
    if not t.dtype.is_integer:
        return Skip("infinity minus infinity is NaN, so x - x is not always 0")
    return _filled(0, t)


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
    """Dividing whole numbers by 1 leaves no remainder."""
    if not t.dtype.is_integer:
        return Skip(f"the remainder of a {t.dtype} is its fraction")
    return _filled(0, t)


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
    """The whole number 0 divided by anything is 0, even by 0 as division is defined here.

    Not so for floating point numbers: 0/0 is NaN.
    """
    if not t.dtype.is_integer:
        return Skip("0/0 is NaN, so 0/x is not always 0")
    return _filled(0, t)


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
    """The larger of a number and itself is that number."""
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
    """The smaller of a number and itself is that number."""
    return x


def _filled(value: int, t: TensorType) -> Constant | Skip:
    if not t.is_static:
        return Skip(f"the shape of {t} is open, so there is no constant of that shape")
    return Constant.splat(value, t)


NEUTRAL: list[Rule] = [
    drop_add_zero,
    drop_subtract_zero,
    drop_multiply_by_one,
    drop_divide_by_one,
    drop_power_one,
    multiply_by_zero,
    power_zero,
    subtract_itself,
    remainder_by_one,
    zero_divided,
    max_with_itself,
    min_with_itself,
]
"""Rules of `remove_noops` about neutral and deciding operands, in the order they are tried."""
