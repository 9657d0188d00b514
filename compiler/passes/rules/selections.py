"""Rules that fold selections with constant or negated conditions, or into maxima and minima."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, Number
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import scalar
from compiler.passes.rules.calls import o

C, X, Y, Z = Any("c"), Any("x"), Any("y"), Any("z")


@rule(
    o.where(o.logical_not(Any("c")), X, Y),
    example="""
    graph g(c: bool[3], x: f32[2,3], y: f32[3]) {
      n: bool[3] = logical_not(c)
      b: f32[2,3] = where(n, x, y)
      return b
    }
    =>
    graph g(c: bool[3], x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = where(c, y, x)
      return b
    }
    """,
    near_miss="""
    graph g(c: bool[3], x: bool[2,3], y: bool[3]) {
      n: bool[3] = logical_not(y)
      b: bool[2,3] = where(c, x, n)
      return b
    }
    """,
)
def where_not(c: Tensor, x: Tensor, y: Tensor) -> Operand:
    """Fold `where(not c, x, y)` to `where(c, y, x)`."""
    return o.where(c, y, x)


@rule(
    o.where(Number("n"), X, Y),
    example="""
    graph g(x: f32[3], y: f32[2,3]) {
      const yes: bool[2,1] = splat(true)
      a: f32[2,3] = where(yes, x, y)
      b: f32[2,3] = exp(a)
      return b
    }
    =>
    graph g(x: f32[3], y: f32[2,3]) {
      const a.shape: i64[2] = literal(2,3)
      a: f32[2,3] = expand(x, a.shape)
      b: f32[2,3] = exp(a)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[3], y: f32[2,3]) {
      const some: bool[2,1] = literal(true,false)
      a: f32[2,3] = where(some, x, y)
      b: f32[2,3] = exp(a)
      return b
    }
    """,
    result="t",
)
def where_decided(n: bool, x: Tensor, y: Tensor, t: TensorType) -> Operand:
    """Fold a selection by a constant condition to the selected operand."""
    return _as_large_as(t, x if n else y)


@rule(
    o.where(C, X, X),
    example="""
    graph g(c: bool[3], x: f32[2,3]) {
      a: f32[2,3] = where(c, x, x)
      b: f32[2,3] = exp(a)
      return b
    }
    =>
    graph g(c: bool[3], x: f32[2,3]) {
      b: f32[2,3] = exp(x)
      return b
    }
    """,
    near_miss="""
    graph g(c: bool[3], x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = where(c, x, y)
      b: f32[2,3] = exp(a)
      return b
    }
    """,
    result="t",
)
def where_both_same(c: Tensor, x: Tensor, t: TensorType) -> Operand:
    """Fold `where(c, x, x)` to `x`."""
    return _as_large_as(t, x)


def _as_large_as(t: TensorType, x: Tensor) -> Operand:
    if x.type.logical == t:
        return x
    if not t.is_static:
        return Skip(f"{x.name} would have to be broadcast to {t}, whose shape is open")
    return o.expand(x, np.array(t.static_shape, np.int64))


@rule(
    o.where(C, o.where(C, X, Y), Z),
    example="""
    graph g(c: bool[3], x: f32[2,3], y: f32[3], z: f32[2,1]) {
      a: f32[2,3] = where(c, x, y)
      b: f32[2,3] = where(c, a, z)
      return b
    }
    =>
    graph g(c: bool[3], x: f32[2,3], y: f32[3], z: f32[2,1]) {
      b: f32[2,3] = where(c, x, z)
      return b
    }
    """,
    near_miss="""
    graph g(c: bool[3], d: bool[3], x: f32[2,3], y: f32[3], z: f32[2,1]) {
      a: f32[2,3] = where(d, x, y)
      b: f32[2,3] = where(c, a, z)
      return b
    }
    """,
)
def where_of_same_first(c: Tensor, x: Tensor, y: Tensor, z: Tensor) -> Operand:
    """Fold `where(c, where(c, x, y), z)` to `where(c, x, z)`."""
    return o.where(c, x, z)


@rule(
    o.where(C, Z, o.where(C, X, Y)),
    example="""
    graph g(c: bool[3], x: f32[2,3], y: f32[3], z: f32[2,1]) {
      a: f32[2,3] = where(c, x, y)
      b: f32[2,3] = where(c, z, a)
      return b
    }
    =>
    graph g(c: bool[3], x: f32[2,3], y: f32[3], z: f32[2,1]) {
      b: f32[2,3] = where(c, z, y)
      return b
    }
    """,
    near_miss="""
    graph g(c: bool[3], x: f32[2,1], y: f32[3], z: f32[4,2,3]) {
      a: f32[2,3] = where(c, x, y)
      b: f32[4,2,3] = where(c, z, z)
      d: f32[4,2,3] = sub(b, a)
      e: f32[4,2,3] = where(c, d, z)
      return e
    }
    """,
)
def where_of_same_second(c: Tensor, x: Tensor, y: Tensor, z: Tensor) -> Operand:
    """Fold `where(c, x, where(c, y, z))` to `where(c, x, z)`."""
    return o.where(c, z, y)


def _bound(op: str, made: str, words: str) -> Rule:
    """Return the rule where(op(x, n), n, x) -> made(x, n).

    Both forms propagate a NaN of x.
    """

    def body(x: Tensor, n: float) -> Operand:
        return Skip("the bound is NaN") if n != n else o[made](x, scalar(n, x.dtype))

    example = f"""
    graph g(x: f32[2,3]) {{
      const n: f32[] = literal(0.75)
      c: bool[2,3] = {op}(x, n)
      a: f32[2,3] = where(c, n, x)
      return a
    }}
    =>
    graph g(x: f32[2,3]) {{
      const a.b: f32[] = literal(0.75)
      a: f32[2,3] = {made}(x, a.b)
      return a
    }}
    """
    near_miss = f"""
    graph g(x: f32[2,3]) {{
      const n: f32[] = literal(0.75)
      c: bool[2,3] = {op}(x, n)
      a: f32[2,3] = where(c, x, n)
      return a
    }}
    """
    pattern = o.where(o[op](X, Number("n")), Number("n"), X)
    return rule(pattern, example=example, near_miss=near_miss, name=f"{made}_by_{op}", words=words)(
        body
    )


_BOUNDS = [
    _bound("less", "max", "Fold `where(x < n, n, x)` to `max(x, n)`."),
    _bound("less_equal", "max", "Fold `where(x <= n, n, x)` to `max(x, n)`."),
    _bound("greater", "min", "Fold `where(x > n, n, x)` to `min(x, n)`."),
    _bound("greater_equal", "min", "Fold `where(x >= n, n, x)` to `min(x, n)`."),
]


SELECTIONS: list[Rule] = [
    where_not,
    where_decided,
    where_both_same,
    where_of_same_first,
    where_of_same_second,
    *_BOUNDS,
]
"""Rules of `algebraic_simplification` for selections, in the order they are tried."""
