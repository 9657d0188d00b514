"""Rules of Boolean algebra: double negation, absorption, contradiction, De Morgan's laws."""

from __future__ import annotations

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, OneOf
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import filled
from compiler.passes.rules.calls import o

X, Y = Any("x"), Any("y")


drop_double_not = folds_to_operand(
    "drop_double_not",
    o.logical_not(o.logical_not(X)),
    "Fold `not not c` to `c`.",
    example=Example(
        ["a: bool[2,3] = logical_not(x)", "b: bool[2,3] = logical_not(a)"],
        inputs="x: bool[2,3], y: bool[3]",
        reader="logical_and({}, y)",
    ),
    near_miss=Example(
        [
            "a: bool[2,3] = logical_not(x)",
            "b: bool[2,3] = logical_and(a, y)",
            "c: bool[2,3] = logical_not(b)",
        ],
        inputs="x: bool[2,3], y: bool[3]",
        reader="",
    ),
)


drop_double_bit_not = folds_to_operand(
    "drop_double_bit_not",
    o.bit_not(o.bit_not(X)),
    "Fold `~~x` to `x`.",
    example=Example(
        ["a: i32[2,3] = bit_not(x)", "b: i32[2,3] = bit_not(a)"],
        inputs="x: i32[2,3], y: i32[3]",
        reader="bit_or({}, y)",
    ),
    near_miss=Example(
        ["a: i32[2,3] = neg(x)", "b: i32[2,3] = bit_not(a)"], inputs="x: i32[2,3]", reader=""
    ),
)


condition_with_itself = folds_to_operand(
    "condition_with_itself",
    OneOf(o.logical_and(X, X), o.logical_or(X, X), o.bit_and(X, X), o.bit_or(X, X)),
    "Fold `x and x`, and `x or x`, to `x`.",
    example=Example(
        ["a: bool[2,3] = logical_or(x, x)"],
        inputs="x: bool[2,3], y: bool[3]",
        reader="logical_xor({}, y)",
    ),
    near_miss=Example(
        [
            "a: bool[2,3] = logical_or(x, y)",
            "b: bool[2,3] = logical_and(a, y)",
            "c: bool[2,3] = logical_xor(b, x)",
        ],
        inputs="x: bool[1,3], y: bool[2,3]",
        reader="",
    ),
)


@rule(
    OneOf(o.logical_xor(X, X), o.bit_xor(X, X)),
    example="""
    graph g(x: i32[2,3], y: i32[3]) {
      a: i32[2,3] = bit_xor(x, x)
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
    graph g(x: i32[2,3], y: i32[3]) {
      a: i32[2,3] = bit_xor(x, y)
      b: i32[2,3] = add(a, y)
      return b
    }
    """,
    result="t",
)
def difference_to_itself(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `x xor x` to 0."""
    return filled(0, t)


@rule(
    o.logical_and(X, o.logical_not(X)),
    example="""
    graph g(x: bool[2,3], y: bool[3]) {
      n: bool[2,3] = logical_not(x)
      a: bool[2,3] = logical_and(n, x)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    =>
    graph g(x: bool[2,3], y: bool[3]) {
      const a: bool[2,3] = splat(false)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: bool[2,3], y: bool[3]) {
      n: bool[3] = logical_not(y)
      a: bool[2,3] = logical_and(n, x)
      return a
    }
    """,
    result="t",
)
def contradiction(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `c and not c` to false."""
    return filled(0, t)


@rule(
    o.logical_or(X, o.logical_not(X)),
    example="""
    graph g(x: bool[2,3], y: bool[3]) {
      n: bool[2,3] = logical_not(x)
      a: bool[2,3] = logical_or(n, x)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    =>
    graph g(x: bool[2,3], y: bool[3]) {
      const a: bool[2,3] = splat(true)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: bool[2,3], y: bool[3]) {
      n: bool[3] = logical_not(y)
      a: bool[2,3] = logical_or(n, x)
      return a
    }
    """,
    result="t",
)
def excluded_middle(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `c or not c` to true."""
    return filled(1, t)


absorbed_condition = folds_to_operand(
    "absorbed_condition",
    OneOf(
        o.logical_and(X, o.logical_or(X, Y)),
        o.logical_or(X, o.logical_and(X, Y)),
        o.bit_and(X, o.bit_or(X, Y)),
        o.bit_or(X, o.bit_and(X, Y)),
    ),
    "Remove the weaker of two conditions by absorption: a and (a or b) = a or (a and b) = a.",
    example=Example(
        ["a: bool[2,3] = logical_or(y, x)", "b: bool[2,3] = logical_and(x, a)"],
        inputs="x: bool[2,3], y: bool[3]",
        reader="logical_xor({}, y)",
    ),
    near_miss=Example(
        ["a: bool[2,3] = logical_or(y, x)", "b: bool[2,3] = logical_and(x, a)"],
        inputs="x: bool[3], y: bool[2,3]",
        reader="",
    ),
)


@rule(
    o.logical_and(o.logical_not(X), o.logical_not(Y)),
    single_use=True,
    example="""
    graph g(x: bool[2,3], y: bool[3]) {
      a: bool[2,3] = logical_not(x)
      b: bool[3] = logical_not(y)
      c: bool[2,3] = logical_and(a, b)
      return c
    }
    =>
    graph g(x: bool[2,3], y: bool[3]) {
      c.x: bool[2,3] = logical_or(x, y)
      c: bool[2,3] = logical_not(c.x)
      return c
    }
    """,
    near_miss="""
    graph g(x: bool[2,3], y: bool[3]) {
      a: bool[2,3] = logical_not(x)
      b: bool[3] = logical_not(y)
      c: bool[2,3] = logical_and(a, b)
      return c, b
    }
    """,
)
def neither(x: Tensor, y: Tensor) -> Operand:
    """Rewrite `not a and not b` as `not (a or b)`, with one negation instead of two (De Morgan)."""
    return o.logical_not(o.logical_or(x, y))


@rule(
    o.logical_or(o.logical_not(X), o.logical_not(Y)),
    single_use=True,
    example="""
    graph g(x: bool[2,3], y: bool[3]) {
      a: bool[2,3] = logical_not(x)
      b: bool[3] = logical_not(y)
      c: bool[2,3] = logical_or(a, b)
      return c
    }
    =>
    graph g(x: bool[2,3], y: bool[3]) {
      c.x: bool[2,3] = logical_and(x, y)
      c: bool[2,3] = logical_not(c.x)
      return c
    }
    """,
    near_miss="""
    graph g(x: bool[2,3], y: bool[3]) {
      a: bool[2,3] = logical_not(x)
      c: bool[2,3] = logical_or(a, y)
      return c
    }
    """,
)
def not_both(x: Tensor, y: Tensor) -> Operand:
    """Rewrite `not a or not b` as `not (a and b)`, with one negation instead of two (De Morgan)."""
    return o.logical_not(o.logical_and(x, y))


LOGIC: list[Rule] = [
    drop_double_not,
    drop_double_bit_not,
    condition_with_itself,
    difference_to_itself,
    contradiction,
    excluded_middle,
    absorbed_condition,
    neither,
    not_both,
]
"""Rules of `algebraic_simplification` for conditions, in the order they are tried."""
