"""Rules that merge expands and tiles, and replace tiles with expands."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.shapes import expanded_shape, numbers

X = Any("x")


@rule(
    o.expand(o.expand(X, Any("s")), Any("shape")),
    example="""
    graph g(x: f32[N,1,4]) {
      const s: i64[3] = literal(1,3,1)
      const r: i64[4] = literal(2,1,3,4)
      a: f32[N,3,4] = expand(x, s)
      b: f32[2,N,3,4] = expand(a, r)
      return b
    }
    =>
    graph g(x: f32[N,1,4]) {
      const b.shape: i64[4] = literal(2,1,3,4)
      b: f32[2,N,3,4] = expand(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,4], s: i64[2]) {
      const r: i64[3] = literal(2,1,4)
      a: f32[x__s_d0,x__s_d1] = expand(x, s)
      b: f32[2,x__s_d0,4] = expand(a, r)
      return b
    }
    """,
    result="t",
)
def merge_expands(x: Tensor, s: Tensor, shape: Tensor, t: TensorType) -> Operand:
    """Merge two consecutive expands."""
    if t.shape is None:
        return Skip("the rank of the result is open, so its shape cannot be a constant")
    target = expanded_shape(x.shape, t.shape)
    return target if isinstance(target, Skip) else o.expand(x, target)


@rule(
    o.expand(X, Any("shape")),
    example="""
    graph g(x: f32[N,1,M]) {
      const three: i64[1] = literal(3)
      n: i64[1] = shape(x, start=0, end=1)
      m: i64[1] = shape(x, start=2, end=3)
      s: i64[3] = concat(n, three, m, axis=0)
      b: f32[N,3,M] = expand(x, s)
      return b
    }
    =>
    graph g(x: f32[N,1,M]) {
      const b.shape: i64[3] = literal(1,3,1)
      b: f32[N,3,M] = expand(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,M], y: f32[K,N,2]) {
      s: i64[2] = shape(y, start=0, end=2)
      b: f32[K,max(M,N)] = expand(x, s)
      return b
    }
    """,
    result="t",
)
def expand_to_literal(x: Tensor, shape: Tensor, t: TensorType) -> Operand:
    """Replace a shape computed from the tensor's sizes with a constant, in which 1 keeps a size."""
    if (known := numbers(shape)) is not None:
        return Skip(f"the shape {list(known)} is constant already")
    if shape.value is None or t.shape is None:
        return Skip(f"the sizes in {shape.name} depend on data")
    target = expanded_shape(x.shape, t.shape)
    if isinstance(target, Skip):
        return target
    return Because(o.expand(x, target), f"{shape.name} is {target.tolist()} for every size")


@rule(
    o.tile(o.tile(X, Any("r")), Any("repeats")),
    example="""
    graph g(x: f32[2,3]) {
      const r: i64[2] = literal(1,2)
      const q: i64[2] = literal(3,2)
      a: f32[2,6] = tile(x, r)
      b: f32[6,12] = tile(a, q)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.repeats: i64[2] = literal(3,4)
      b: f32[6,12] = tile(x, b.repeats)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const r: i64[2] = literal(1,2)
      const q: i64[2] = literal(3,2)
      a: f32[2,6] = tile(x, r)
      m: f32[6,2] = transpose(a, perm=[1,0])
      b: f32[18,4] = tile(m, q)
      return b
    }
    """,
)
def merge_tiles(x: Tensor, r: Tensor, repeats: Tensor) -> Operand:
    """Merge two consecutive tiles into a tile by the products of their repeats."""
    first, second = numbers(r), numbers(repeats)
    if first is None or second is None:
        return Skip("the repeats are computed at run time")
    return o.tile(x, np.array(first, np.int64) * np.array(second, np.int64))


@rule(
    o.tile(X, Any("repeats")),
    example="""
    graph g(x: f32[2,1,3]) {
      const r: i64[3] = literal(1,4,1)
      b: f32[2,4,3] = tile(x, r)
      return b
    }
    =>
    graph g(x: f32[2,1,3]) {
      const b.shape: i64[3] = literal(1,4,1)
      b: f32[2,4,3] = expand(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,1,3]) {
      const r: i64[3] = literal(1,4,2)
      b: f32[2,4,6] = tile(x, r)
      return b
    }
    """,
)
def tile_is_expand(x: Tensor, repeats: Tensor) -> Operand:
    """Replace a tile along axes of size 1 with an expand, which may fold into its readers."""
    times = numbers(repeats)
    if times is None:
        return Skip("the repeats are computed at run time")
    for axis, (n, size) in enumerate(zip(times, x.shape, strict=True)):
        if n != 1 and size != 1:
            return Skip(f"axis {axis} of size {size} is repeated {n} times")
    return o.expand(x, np.array(times, np.int64))


EXPANDS: list[Rule] = [merge_expands, expand_to_literal, merge_tiles, tile_is_expand]
"""Rules for repeated elements, in the order they are tried."""
