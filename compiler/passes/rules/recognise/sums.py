"""Rules that recognise reductions written as an elementwise operation and a plain sum."""

from __future__ import annotations

from math import prod

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr, Number, OneOf, Product, is_near
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")
_HOW = {"axes": AnyAttr("axes"), "keepdims": AnyAttr("keepdims")}


@rule(
    Product(o.reduce_sum(X, **_HOW), Number("share")),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3,4]) {
      const n: f32[] = literal(4.0)
      s: f32[2,3,1] = reduce_sum(x, axes=[2])
      y: f32[2,3,1] = div(s, n)
      return y
    }
    =>
    graph g(x: f32[2,3,4]) {
      y: f32[2,3,1] = reduce_mean(x, axes=[2])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4]) {
      const n: f32[] = literal(3.0)
      s: f32[2,3,1] = reduce_sum(x, axes=[2])
      y: f32[2,3,1] = div(s, n)
      return y
    }
    """,
)
def mean_of_sum(x: Tensor, axes: tuple[int, ...], keepdims: bool, share: float) -> Operand:
    """Recognise a sum divided by the number of its terms as the mean.

    Patterns of normalisations match means.
    """
    reason = _no_mean(x, axes, share)
    return Skip(reason) if reason else o.reduce_mean(x, axes=axes, keepdims=keepdims)


def _no_mean(x: Tensor, axes: tuple[int, ...], share: float) -> str:
    """Return the reason that a fraction of a sum is not the mean, or "" if it is."""
    if not x.dtype.is_float:
        return f"the mean of {x.dtype} elements is rounded to an integer"
    if x.type.shape is None:
        return f"the rank of {x.name} is open"
    sizes = [x.shape[a] for a in axes]
    if not all(isinstance(n, int) for n in sizes):
        return f"the sizes {', '.join(map(str, sizes))} are open"
    n = prod(n for n in sizes if isinstance(n, int))
    if not is_near(share * n, 1, x.dtype):
        return f"the sum of {n} numbers is multiplied by {share:g}, not by 1/{n}"
    return ""


@rule(
    Product(o.reduce_sum_square(X, **_HOW), Number("share")),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3,4]) {
      const n: f32[] = literal(0.25)
      s: f32[2,3,1] = reduce_sum_square(x, axes=[2])
      y: f32[2,3,1] = mul(s, n)
      return y
    }
    =>
    graph g(x: f32[2,3,4]) {
      y.x: f32[2,3,4] = mul(x, x)
      y: f32[2,3,1] = reduce_mean(y.x, axes=[2])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4]) {
      const n: f32[] = literal(0.25)
      s: f32[2,1,4] = reduce_sum_square(x, axes=[1])
      y: f32[2,1,4] = mul(s, n)
      return y
    }
    """,
)
def mean_of_squares(x: Tensor, axes: tuple[int, ...], keepdims: bool, share: float) -> Operand:
    """Recognise a sum of squares divided by the number of its terms as the mean of the squares.

    The scaled sum and the mean are a single kernel each, but patterns of normalisations match the
    mean.
    """
    reason = _no_mean(x, axes, share)
    return Skip(reason) if reason else o.reduce_mean(o.mul(x, x), axes=axes, keepdims=keepdims)


@rule(
    o.sqrt(OneOf(o.reduce_sum_square(X, **_HOW), o.reduce_sum(o.mul(X, X), **_HOW))),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = mul(x, x)
      t: f32[2,1] = reduce_sum(s, axes=[1])
      y: f32[2,1] = sqrt(t)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y: f32[2,1] = reduce_l2(x, axes=[1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], z: f32[2,3]) {
      s: f32[2,3] = mul(x, z)
      t: f32[2,1] = reduce_sum(s, axes=[1])
      y: f32[2,1] = sqrt(t)
      return y
    }
    """,
)
def length_of_squares(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Operand:
    """Recognise the square root of a sum of squares as the L2 norm."""
    return o.reduce_l2(x, axes=axes, keepdims=keepdims)


@rule(
    o.reduce_sum(o.mul(X, X), **_HOW),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = mul(x, x)
      y: f32[3] = reduce_sum(s, axes=[0], keepdims=false)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y: f32[3] = reduce_sum_square(x, axes=[0], keepdims=false)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = mul(x, x)
      y: f32[3] = reduce_sum(s, axes=[0], keepdims=false)
      return y, s
    }
    """,
)
def sum_of_squares(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Operand:
    """Recognise a sum of squares as a single reduction."""
    return o.reduce_sum_square(x, axes=axes, keepdims=keepdims)


@rule(
    o.reduce_sum(o.abs(X), **_HOW),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = abs(x)
      y: f32[2,1] = reduce_sum(s, axes=[1])
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y: f32[2,1] = reduce_l1(x, axes=[1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = abs(x)
      y: f32[2,1] = reduce_sum(s, axes=[1])
      return y, s
    }
    """,
)
def sum_of_absolutes(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Operand:
    """Recognise a sum of absolute values as the L1 norm."""
    return o.reduce_l1(x, axes=axes, keepdims=keepdims)


SUMS: list[Rule] = [
    mean_of_sum,
    mean_of_squares,
    length_of_squares,
    sum_of_squares,
    sum_of_absolutes,
]
"""Rules for reductions, in the order they are tried."""
