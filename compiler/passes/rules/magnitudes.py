"""Rules for absolute values, signs, and the positive and negative parts of a value."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")


magnitude_times_sign = folds_to_operand(
    "magnitude_times_sign",
    o.mul(o.abs(X), o.sign(X)),
    "Fold `abs(x) * sign(x)` to `x`.",
    example=Example(
        ["a: f32[2,3] = abs(x)", "b: f32[2,3] = sign(x)", "c: f32[2,3] = mul(a, b)"],
        reader="exp({})",
    ),
    near_miss=Example(
        ["a: f32[2,3] = abs(x)", "b: f32[3] = sign(y)", "c: f32[2,3] = mul(a, b)"],
        inputs="x: f32[2,3], y: f32[3]",
        reader="",
    ),
)


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
    return _overflows_negated(x) or o.abs(x)


def _overflows_negated(x: Tensor) -> Skip | None:
    return None if x.dtype.is_float else Skip(f"the smallest {x.dtype} overflows when negated")


difference_of_both_parts = folds_to_operand(
    "difference_of_both_parts",
    o.sub(o.relu(X), o.relu(o.neg(X))),
    "Fold `relu(x) - relu(-x)` to `x`.",
    example=Example(
        [
            "a: f32[2,3] = relu(x)",
            "n: f32[2,3] = neg(x)",
            "b: f32[2,3] = relu(n)",
            "c: f32[2,3] = sub(a, b)",
        ],
        reader="exp({})",
    ),
    near_miss=Example(
        [
            "a: f32[2,3] = relu(x)",
            "n: f32[2,3] = neg(x)",
            "b: f32[2,3] = relu(n)",
            "c: f32[2,3] = sub(b, a)",
        ],
        reader="",
    ),
    unless=_overflows_negated,
)


MAGNITUDES: list[Rule] = [
    magnitude_times_sign,
    times_its_sign,
    square_of_abs,
    larger_of_both_signs,
    sum_of_both_parts,
    difference_of_both_parts,
]
"""Rules of `algebraic_simplification` for magnitudes, in the order they are tried."""
