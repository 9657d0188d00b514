"""Rules that replace constant powers with products, roots and reciprocals."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, Known
from compiler.passes.engine.ranges import ABOVE_ZERO, NOT_NEGATIVE, SQUARABLE
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import unless_long
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.pow(X, 2),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const two: f32[] = literal(2.0)
      b: f32[2,3] = pow(x, two)
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
      const twos: f32[3] = literal(2.0,2.0,2.5)
      b: f32[2,3] = pow(x, twos)
      return b
    }
    """,
)
def square(x: Tensor) -> Operand:
    """Rewrite `x ** 2` as `x * x`: a multiplication instead of a logarithm and an exponential."""
    return o.mul(x, x)


@rule(
    o.pow(X, 3),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      b: f32[2,3] = pow(x, three)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b.a: f32[2,3] = mul(x, x)
      b: f32[2,3] = mul(b.a, x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.5)
      b: f32[2,3] = pow(x, three)
      return b
    }
    """,
)
def cube(x: Tensor) -> Operand:
    """Rewrite `x ** 3` as two multiplications, which take a tenth of the time of a power."""
    return o.mul(o.mul(x, x), x)


@rule(
    o.pow(X, -1),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[] = literal(-1.0)
      b: f32[2,3] = pow(x, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = reciprocal(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: i32[2,3]) {
      const c: i32[] = literal(-1)
      b: i32[2,3] = pow(x, c)
      return b
    }
    """,
)
def power_minus_one(x: Tensor) -> Operand:
    """Rewrite `x ** -1` as the reciprocal of x."""
    return o.reciprocal(x) if x.dtype.is_float else Skip(f"{x.dtype} has no reciprocals")


@rule(
    o.pow(Known("x", NOT_NEGATIVE), 0.5),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const half: f32[] = literal(0.5)
      a: f32[2,3] = mul(x, x)
      b: f32[2,3] = pow(a, half)
      c: f32[2,3] = sub(b, x)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = mul(x, x)
      b: f32[2,3] = sqrt(a)
      c: f32[2,3] = sub(b, x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const half: f32[] = literal(0.5)
      b: f32[2,3] = pow(x, half)
      return b
    }
    """,
)
def power_one_half(x: Tensor) -> Operand:
    """Rewrite `x ** 0.5` as the square root of x, for non-negative x.

    At minus infinity the power is infinity, but the square root is NaN.
    Source: IEEE 754-2019, 9.2.1, pow.
    """
    return o.sqrt(x)


@rule(
    o.pow(Known("x", ABOVE_ZERO), -0.5),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const eps: f32[] = literal(0.001)
      const c: f32[] = literal(-0.5)
      m: f32[2,3] = mul(x, x)
      a: f32[2,3] = add(m, eps)
      b: f32[2,3] = pow(a, c)
      d: f32[2,3] = mul(b, x)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      const eps: f32[] = literal(0.001)
      m: f32[2,3] = mul(x, x)
      a: f32[2,3] = add(m, eps)
      b.x: f32[2,3] = sqrt(a)
      b: f32[2,3] = reciprocal(b.x)
      d: f32[2,3] = mul(b, x)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[] = literal(-0.5)
      a: f32[2,3] = sqrt(x)
      b: f32[2,3] = pow(a, c)
      return b
    }
    """,
)
def power_minus_one_half(x: Tensor) -> Operand:
    """Rewrite `x ** -0.5` as the reciprocal of the square root, for positive x.

    At -0 the power is infinity, but the reciprocal of the square root is -infinity.
    """
    return o.reciprocal(o.sqrt(x))


@rule(
    o.sqrt(o.mul(Known("x", SQUARABLE), Known("x", SQUARABLE))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      t: f32[2,3] = tanh(x)
      a: f32[2,3] = mul(t, t)
      b: f32[2,3] = sqrt(a)
      c: f32[2,3] = add(b, y)
      return c
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      t: f32[2,3] = tanh(x)
      b: f32[2,3] = abs(t)
      c: f32[2,3] = add(b, y)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = mul(x, x)
      b: f32[2,3] = sqrt(a)
      c: f32[2,3] = add(b, y)
      return c
    }
    """,
)
def root_of_square(x: Tensor) -> Operand:
    """Fold `sqrt(x * x)` to `abs(x)`, if no square overflows.

    Squares overflow in f32 from 2e19 on, in f16 from 256 on.
    """
    return unless_long(x) or o.abs(x)


square_of_root = folds_to_operand(
    "square_of_root",
    o.mul(o.sqrt(Known("x", NOT_NEGATIVE)), o.sqrt(Known("x", NOT_NEGATIVE))),
    "Fold `sqrt(x) ** 2` to `x`, for non-negative x.",
    example=Example(
        ["a: f32[2,3] = sqrt(e)", "b: f32[2,3] = mul(a, a)"],
        kept=["e: f32[2,3] = exp(x)"],
        reader="add({}, x)",
    ),
    near_miss=Example(["a: f32[2,3] = sqrt(x)", "b: f32[2,3] = mul(a, a)"], reader="add({}, x)"),
    error=ROUNDINGS,
)


POWERS: list[Rule] = [
    square,
    cube,
    power_minus_one,
    power_one_half,
    power_minus_one_half,
    root_of_square,
    square_of_root,
]
"""Rules of `algebraic_simplification` for powers and roots, in the order they are tried."""
