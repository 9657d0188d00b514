"""Rules that cancel negations, or merge them into sums, differences and absolute values."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, Const
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

X, Y, A = Any("x"), Any("y"), Const("a")


drop_double_negation = folds_to_operand(
    "drop_double_negation",
    o.neg(o.neg(X)),
    "Fold `-(-x)` to `x`.",
    example=Example(["a: f32[2,3] = neg(x)", "b: f32[2,3] = neg(a)"]),
    near_miss=Example(
        ["a: f32[2,3] = neg(x)", "b: f32[2,3] = abs(a)", "c: f32[2,3] = neg(b)"], reader=""
    ),
)


@rule(
    o.add(X, o.neg(Y)),
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[3] = neg(y)
      b: f32[2,3] = add(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = sub(x, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = add(x, y)
      b: f32[2,3] = neg(a)
      c: f32[2,3] = mul(b, y)
      d: f32[2,3] = add(x, c)
      return d
    }
    """,
)
def add_negated(x: Tensor, y: Tensor) -> Operand:
    """Fold `x + (-y)` to `x - y`."""
    return o.sub(x, y)


@rule(
    o.sub(X, o.neg(Y)),
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[3] = neg(y)
      b: f32[2,3] = sub(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = add(x, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[3] = neg(y)
      b: f32[2,3] = sub(a, x)
      return b
    }
    """,
)
def subtract_negated(x: Tensor, y: Tensor) -> Operand:
    """Fold `x - (-y)` to `x + y`."""
    return o.add(x, y)


@rule(
    o.abs(o.neg(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = neg(x)
      b: f32[2,3] = abs(a)
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
      n: f32[2,3] = neg(x)
      a: f32[2,3] = sub(n, y)
      b: f32[2,3] = abs(a)
      return b
    }
    """,
)
def abs_of_negated(x: Tensor) -> Operand:
    """Fold `abs(-x)` to `abs(x)`."""
    return o.abs(x)


@rule(
    o.mul(o.neg(X), o.neg(Y)),
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = neg(x)
      b: f32[3] = neg(y)
      c: f32[2,3] = mul(a, b)
      return c
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      c: f32[2,3] = mul(x, y)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = neg(x)
      c: f32[2,3] = mul(a, y)
      return c
    }
    """,
)
def product_of_negated(x: Tensor, y: Tensor) -> Operand:
    """Fold `(-x) * (-y)` to `x * y`."""
    return o.mul(x, y)


@rule(
    o.div(o.neg(X), o.neg(Y)),
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = neg(x)
      b: f32[3] = neg(y)
      c: f32[2,3] = div(a, b)
      return c
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      c: f32[2,3] = div(x, y)
      return c
    }
    """,
    near_miss="""
    graph g(x: i8[2,3], y: i8[3]) {
      a: i8[2,3] = neg(x)
      b: i8[3] = neg(y)
      c: i8[2,3] = div(a, b)
      return c
    }
    """,
)
def quotient_of_negated(x: Tensor, y: Tensor) -> Operand:
    """Fold `(-x) / (-y)` to `x / y`.

    The fold is illegal for integers: in i8 the negative of -128 is -128.
    """
    if not x.dtype.is_float:
        return Skip(f"the smallest {x.dtype} is its own negative")
    return o.div(x, y)


@rule(
    o.neg(o.sub(X, Y)),
    single_use=True,
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = sub(x, y)
      b: f32[2,3] = neg(a)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = sub(y, x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = sub(x, y)
      b: f32[2,3] = neg(a)
      c: f32[2,3] = mul(a, b)
      return c
    }
    """,
)
def negated_difference(x: Tensor, y: Tensor) -> Operand:
    """Fold `-(x - y)` to `y - x`."""
    return o.sub(y, x)


SIGNS: list[Rule] = [
    drop_double_negation,
    add_negated,
    subtract_negated,
    abs_of_negated,
    product_of_negated,
    quotient_of_negated,
    negated_difference,
]
"""Rules of `algebraic_simplification` for negatives, in the order they are tried."""
