"""Rules that merge or remove maxima and minima."""

from __future__ import annotations

import math

import numpy as np

from compiler.ir.operator import Operand, Operator, Tensor
from compiler.ir.types import DType
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, Const, ConstTensor, Named, Number
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, objection_to
from compiler.passes.rules.calls import o

X, Y, A, B = Any("x"), Any("y"), Const("a"), Const("b")


def least(dtype: DType) -> float:
    """Return the smallest value of a type, -infinity for floats."""
    return int(np.iinfo(dtype.numpy).min) if _is_plain_integer(dtype) else -math.inf


def greatest(dtype: DType) -> float:
    """Return the largest value of a type, infinity for floats."""
    return int(np.iinfo(dtype.numpy).max) if _is_plain_integer(dtype) else math.inf


def _is_not_least(x: Tensor, bound: float) -> Skip | None:
    return None if bound == least(x.dtype) else Skip(f"{bound:g} is not the smallest {x.dtype}")


def _is_not_greatest(x: Tensor, bound: float) -> Skip | None:
    return None if bound == greatest(x.dtype) else Skip(f"{bound:g} is not the largest {x.dtype}")


def _is_plain_integer(dtype: DType) -> bool:
    return dtype.is_integer and not dtype.is_storage


drop_max_with_least = folds_to_operand(
    "drop_max_with_least",
    o.max(X, Number("bound")),
    "Remove a maximum with the smallest value of the type.",
    example=Example(
        ["const low: i32[] = literal(-2147483648)", "a: i32[2,3] = max(x, low)"],
        inputs="x: i32[2,3], y: i32[3]",
        reader="add({}, y)",
    ),
    near_miss=Example(
        ["const low: i64[] = literal(-2147483648)", "a: i64[2,3] = max(x, low)"],
        inputs="x: i64[2,3], y: i64[3]",
        reader="add({}, y)",
    ),
    unless=_is_not_least,
)


drop_min_with_greatest = folds_to_operand(
    "drop_min_with_greatest",
    o.min(X, Number("bound")),
    "Remove a minimum with the largest value of the type.",
    example=Example(
        ["const high: f32[] = literal(inf)", "a: f32[2,3] = min(x, high)"],
        inputs="x: f32[2,3], y: f32[3]",
        reader="add({}, y)",
    ),
    near_miss=Example(
        ["const high: f32[] = literal(3e38)", "a: f32[2,3] = min(x, high)"],
        inputs="x: f32[2,3], y: f32[3]",
        reader="add({}, y)",
    ),
    unless=_is_not_greatest,
)


@rule(
    o.max(o.max(X, A), B),
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,-3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = max(x, a)
      z: f32[2,3] = max(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(2.0,0.5,5.0)
      z: f32[2,3] = max(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[2,1] = literal(2.0,-3.0)
      const b: f32[3] = literal(0.5,1.0,-4.0)
      y: f32[2,3] = max(x, a)
      z: f32[2,3] = max(y, b)
      return z
    }
    """,
)
def merge_maxima(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Merge two lower bounds into the larger one."""
    return _merged(o.max, np.maximum, x, a, b)


@rule(
    o.min(o.min(X, A), B),
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,-3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = min(x, a)
      z: f32[2,3] = min(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(0.5,-3.0,0.5)
      z: f32[2,3] = min(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,-3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = min(x, a)
      z: f32[2,3] = min(y, b)
      return z, y
    }
    """,
)
def merge_minima(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Merge two upper bounds into the smaller one."""
    return _merged(o.min, np.minimum, x, a, b)


def _merged(operator: Operator, fn: np.ufunc, x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    both = combined(fn, a.stored, b.stored)
    objection = objection_to(both, a.stored, b.stored)
    return Skip(objection) if objection else operator(x, both)


repeated_max = folds_to_operand(
    "repeated_max",
    o.max(X, Named("m", o.max(X, Y))),
    "Fold `max(max(x, y), x)` to `max(x, y)`.",
    example=Example(
        ["b: f32[2,3] = max(a, x)"],
        inputs="x: f32[2,3], y: f32[3]",
        kept=["a: f32[2,3] = max(x, y)"],
        reader="exp({})",
    ),
    near_miss=Example(
        ["a: f32[2,3] = min(x, y)", "b: f32[2,3] = max(a, x)"],
        inputs="x: f32[2,3], y: f32[3]",
        reader="",
    ),
    operand="m",
)


repeated_min = folds_to_operand(
    "repeated_min",
    o.min(X, Named("m", o.min(X, Y))),
    "Fold `min(min(x, y), x)` to `min(x, y)`.",
    example=Example(
        ["b: f32[2,3] = min(a, x)"],
        inputs="x: f32[2,3], y: f32[3]",
        kept=["a: f32[2,3] = min(x, y)"],
        reader="exp({})",
    ),
    near_miss=Example(
        ["a: f32[2,3] = max(x, y)", "b: f32[2,3] = min(a, x)"],
        inputs="x: f32[2,3], y: f32[3]",
        reader="",
    ),
    operand="m",
)


EXTREMES: list[Rule] = [
    drop_max_with_least,
    drop_min_with_greatest,
    merge_maxima,
    merge_minima,
    repeated_max,
    repeated_min,
]
"""Rules of `algebraic_simplification` for maxima and minima, in the order they are tried."""
