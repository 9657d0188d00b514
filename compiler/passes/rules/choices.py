"""Rules that turn selections between true, false, 1 and 0 into logic or casts."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

C, X, Y, Z = Any("c"), Any("x"), Any("y"), Any("z")


@rule(
    o.where(C, 1, 0),
    example="""
    graph g(c: bool[2,3]) {
      const one: f32[] = literal(1.0)
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = where(c, one, zero)
      return a
    }
    =>
    graph g(c: bool[2,3]) {
      a: f32[2,3] = cast(c, to=f32)
      return a
    }
    """,
    near_miss="""
    graph g(c: bool[2,3]) {
      const one: f32[] = literal(1.0)
      const low: f32[] = literal(-1.0)
      a: f32[2,3] = where(c, one, low)
      return a
    }
    """,
    result="t",
)
def where_one_or_zero(c: Tensor, t: TensorType) -> Operand:
    """Fold `where(c, 1, 0)` to the condition cast to a number."""
    return c if t.dtype is DType.bool else o.cast(c, to=t.dtype)


@rule(
    o.where(C, 0, 1),
    example="""
    graph g(c: bool[2,3]) {
      const no: bool[] = literal(false)
      const yes: bool[] = literal(true)
      a: bool[2,3] = where(c, no, yes)
      return a
    }
    =>
    graph g(c: bool[2,3]) {
      a: bool[2,3] = logical_not(c)
      return a
    }
    """,
    near_miss="""
    graph g(c: bool[2,3]) {
      const no: bool[3] = literal(false,false,true)
      const yes: bool[] = literal(true)
      a: bool[2,3] = where(c, no, yes)
      return a
    }
    """,
    result="t",
)
def where_false_or_true(c: Tensor, t: TensorType) -> Operand:
    """Fold `where(c, false, true)` to `not c`."""
    if t.dtype is not DType.bool:
        return Skip(f"a {t.dtype} result would take two nodes: a negation and a cast")
    return o.logical_not(c)


@rule(
    o.where(C, X, 0),
    example="""
    graph g(c: bool[2,3], x: bool[3]) {
      const no: bool[] = literal(false)
      a: bool[2,3] = where(c, x, no)
      return a
    }
    =>
    graph g(c: bool[2,3], x: bool[3]) {
      a: bool[2,3] = logical_and(c, x)
      return a
    }
    """,
    near_miss="""
    graph g(c: bool[2,3], x: f32[3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = where(c, x, zero)
      return a
    }
    """,
)
def where_or_false(c: Tensor, x: Tensor) -> Operand:
    """Fold `where(c, x, false)` to `c and x`."""
    if x.dtype is not DType.bool:
        return Skip(f"{x.dtype} is not boolean")
    return o.logical_and(c, x)


@rule(
    o.where(C, 1, X),
    example="""
    graph g(c: bool[2,3], x: bool[3]) {
      const yes: bool[] = literal(true)
      a: bool[2,3] = where(c, yes, x)
      return a
    }
    =>
    graph g(c: bool[2,3], x: bool[3]) {
      a: bool[2,3] = logical_or(c, x)
      return a
    }
    """,
    near_miss="""
    graph g(c: bool[2,3], x: i32[3]) {
      const one: i32[] = literal(1)
      a: i32[2,3] = where(c, one, x)
      return a
    }
    """,
)
def where_true_or(c: Tensor, x: Tensor) -> Operand:
    """Fold `where(c, true, x)` to `c or x`."""
    if x.dtype is not DType.bool:
        return Skip(f"{x.dtype} is not boolean")
    return o.logical_or(c, x)


CHOICES: list[Rule] = [
    where_one_or_zero,
    where_false_or_true,
    where_or_false,
    where_true_or,
]
"""Rules of `algebraic_simplification` for selections between constants, in the order tried."""
