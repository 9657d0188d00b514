"""Rules for scaled sums and means, and for argmax and argmin of a single element."""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, Number, OneOf
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.arithmetic import scalar
from compiler.passes.rules.calls import o

X = Any("x")
Axes = tuple[int, ...]
_ATTRS = {"axes": AnyAttr("axes"), "keepdims": AnyAttr("keepdims")}


@rule(
    OneOf(
        o.argmax(X, axis=AnyAttr("axis"), keepdims=AnyAttr("keepdims"), last=AnyAttr("last")),
        o.argmin(X, axis=AnyAttr("axis"), keepdims=AnyAttr("keepdims"), last=AnyAttr("last")),
    ),
    example="""
    graph g(x: f32[2,1,3], y: i64[3]) {
      a: i64[2,3] = argmax(x, axis=1, keepdims=false)
      b: i64[2,3] = sub(a, y)
      return b
    }
    =>
    graph g(x: f32[2,1,3], y: i64[3]) {
      const a: i64[2,3] = splat(0)
      b: i64[2,3] = sub(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,1,3], y: i64[3]) {
      a: i64[1,3] = argmax(x, axis=0, keepdims=false)
      b: i64[1,3] = sub(a, y)
      return b
    }
    """,
    result="t",
)
def place_of_one(
    x: Tensor, axis: int, keepdims: bool, last: bool, t: TensorType
) -> Constant | Skip:
    """Fold argmax and argmin over a single element to 0."""
    if x.type.shape is None or x.shape[axis] != 1 or not t.is_static:
        return Skip("the axis is not known to have one element, or the shape is open")
    return Constant.splat(0, t)


@rule(
    o.reduce_sum(o.mul(X, Number("n")), **_ATTRS),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const n: f32[] = literal(0.3)
      a: f32[2,3] = mul(x, n)
      b: f32[2] = reduce_sum(a, axes=[1], keepdims=false)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.b: f32[] = literal(0.3)
      b.a: f32[2] = reduce_sum(x, axes=[1], keepdims=false)
      b: f32[2] = mul(b.a, b.b)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const n: f32[3] = literal(0.3,0.5,-1.0)
      a: f32[2,3] = mul(x, n)
      b: f32[2] = reduce_sum(a, axes=[1], keepdims=false)
      return b
    }
    """,
    result="t",
)
def sum_of_scaled_elements(
    x: Tensor, n: float, axes: Axes, keepdims: bool, t: TensorType
) -> Operand:
    """Scale a sum instead of its terms: one multiplication instead of many."""
    if x.dtype.is_float and (x.dtype.bits < 32 or not np.isfinite(n)):
        return Skip(f"a sum of unscaled {x.dtype} elements may overflow")
    if not (x.type.is_static and t.is_static):
        return Skip("sizes are open, so the numbers of operations cannot be compared")
    if x.type.n_elements <= t.n_elements:
        return Skip(f"{t} has as many elements as {x.type}")
    because = f"{t.n_elements:,} multiplications instead of {x.type.n_elements:,}"
    return Because(
        o.mul(o.reduce_sum(x, axes=axes, keepdims=keepdims), scalar(n, x.dtype)), because
    )


@rule(
    o.mul(o.reduce_mean(X, **_ATTRS), Number("n")),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,5]) {
      const n: f32[] = literal(5.0)
      a: f32[2] = reduce_mean(x, axes=[1], keepdims=false)
      b: f32[2] = mul(a, n)
      return b
    }
    =>
    graph g(x: f32[2,5]) {
      b: f32[2] = reduce_sum(x, axes=[1], keepdims=false)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,5]) {
      const n: f32[] = literal(2.0)
      a: f32[2] = reduce_mean(x, axes=[1], keepdims=false)
      b: f32[2] = mul(a, n)
      return b
    }
    """,
)
def sum_by_mean(x: Tensor, n: float, axes: Axes, keepdims: bool) -> Operand:
    """Rewrite the mean of n elements times n as their sum."""
    count = _count(x, axes)
    if not x.dtype.is_float or x.dtype.bits < 32:
        return Skip(f"a sum of {x.dtype} elements may overflow or round, unlike their mean")
    if count is None or n != count:
        return Skip(f"the factor {n:g} is not known to be the number of elements")
    return o.reduce_sum(x, axes=axes, keepdims=keepdims)


def _count(x: Tensor, axes: Axes) -> int | None:
    """Return the number of elements per result, or None if it is open."""
    if not x.type.is_static:
        return None
    return int(np.prod([x.type.static_shape[a] for a in axes], dtype=np.int64))


SCALED_SUMS: list[Rule] = [
    place_of_one,
    sum_by_mean,
    sum_of_scaled_elements,
]
"""Rules of `algebraic_simplification` for scaled sums and means, in the order they are tried."""
