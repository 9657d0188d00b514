"""Rules that remove views and conversions equal to their operand."""

from __future__ import annotations

from compiler.ir.operator import Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.identity(X),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = identity(x)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[...]) {
      a: f32[...] = identity(x)
      b: f32[...] = relu(a)
      return b
    }
    """,
)
def drop_identity(x: Tensor) -> Tensor:
    """Remove an identity, which would copy its operand through memory."""
    return x


@rule(
    o.cast(X, to=AnyAttr("to")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = cast(x, to=f32)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f16[2,3] = cast(x, to=f16)
      b: f16[2,3] = relu(a)
      return b
    }
    """,
)
def drop_cast_to_same(x: Tensor, to: object) -> Tensor | Skip:
    """Remove a cast to the same element type."""
    return x if x.dtype is to else Skip(f"the element type changes from {x.dtype} to {to}")


@rule(
    o.reshape(X, Any("shape"), allowzero=AnyAttr("allowzero")),
    example="""
    graph g(x: f32[2,3]) {
      const s: i64[2] = literal(2,-1)
      a: f32[2,3] = reshape(x, s)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const s: i64[2] = literal(3,-1)
      a: f32[3,2] = reshape(x, s)
      b: f32[3,2] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_reshape_to_same(x: Tensor, shape: Tensor, allowzero: bool, t: TensorType) -> Tensor | Skip:
    """Remove a reshape to the same shape."""
    return same_shape(x, t)


@rule(
    o.expand(X, Any("shape")),
    example="""
    graph g(x: f32[2,3]) {
      const s: i64[2] = literal(2,1)
      a: f32[2,3] = expand(x, s)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,1]) {
      const s: i64[2] = literal(2,3)
      a: f32[2,3] = expand(x, s)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_expand_to_same(x: Tensor, shape: Tensor, t: TensorType) -> Tensor | Skip:
    """Remove a broadcast to the same shape."""
    return same_shape(x, t)


@rule(
    o.tile(X, Any("repeats")),
    example="""
    graph g(x: f32[2,3]) {
      const r: i64[2] = literal(1,1)
      a: f32[2,3] = tile(x, r)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const r: i64[2] = literal(1,2)
      a: f32[2,6] = tile(x, r)
      b: f32[2,6] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_tile_once(x: Tensor, repeats: Tensor, t: TensorType) -> Tensor | Skip:
    """Remove a tile that repeats every axis once."""
    return same_shape(x, t)


@rule(
    o.squeeze(X, axes=AnyAttr("axes")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = squeeze(x, axes=[])
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,1,3]) {
      a: f32[2,3] = squeeze(x, axes=[1])
      b: f32[2,3] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_squeeze_of_nothing(x: Tensor, axes: tuple[int, ...], t: TensorType) -> Tensor | Skip:
    """Remove a squeeze without axes."""
    return same_shape(x, t)


@rule(
    o.transpose(X, perm=AnyAttr("perm")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = transpose(x, perm=[0,1])
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,1,3]) {
      a: f32[1,1,3] = transpose(x, perm=[1,0,2])
      b: f32[1,1,3] = relu(a)
      return b
    }
    """,
)
def drop_transpose_in_order(x: Tensor, perm: tuple[int, ...]) -> Tensor | Skip:
    """Remove a transpose that keeps the order of the axes."""
    if perm and list(perm) == sorted(perm):
        return x
    return Skip(f"the axes are permuted: {list(perm)}")


@rule(
    o.unsqueeze(X, axes=AnyAttr("axes")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = unsqueeze(x, axes=[])
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,1,3] = unsqueeze(x, axes=[1])
      b: f32[2,1,3] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_unsqueeze_of_nothing(x: Tensor, axes: tuple[int, ...], t: TensorType) -> Tensor | Skip:
    """Remove an unsqueeze without axes."""
    return same_shape(x, t)


@rule(
    o.flatten(X, axis=AnyAttr("axis")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = flatten(x)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[1,6] = flatten(x, axis=0)
      b: f32[1,6] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_flatten_to_same(x: Tensor, axis: int, t: TensorType) -> Tensor | Skip:
    """Remove the flatten of a matrix to the same matrix."""
    return same_shape(x, t)


def same_shape(x: Tensor, t: TensorType) -> Tensor | Skip:
    """Return the operand if the result has its type, else Skip with the difference."""
    if t.shape is None:
        return Skip("two shapes of open rank may differ")
    return x if x.type.logical == t else Skip(f"the shape changes: {x.type} becomes {t}")


VIEWS_OF_ALL: list[Rule] = [
    drop_identity,
    drop_cast_to_same,
    drop_reshape_to_same,
    drop_expand_to_same,
    drop_tile_once,
    drop_squeeze_of_nothing,
    drop_unsqueeze_of_nothing,
    drop_flatten_to_same,
    drop_transpose_in_order,
]
"""Rules of `remove_noops` for views, in the order they are tried."""
