"""Rules that take out views and conversions which hand on what they were given."""

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
    """An identity gives what it got.

    Left in, it would copy its operand through memory.
    """
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
    """A cast to the type that the elements already have does nothing."""
    return x if x.dtype is to else Skip(f"the elements change from {x.dtype} to {to}")


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
    """A reshape to the shape that the tensor already has does nothing."""
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
    """Broadcasting to the shape that the tensor already has does nothing."""
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
    """Repeating a tensor once along every axis does nothing."""
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
    """A squeeze that names no axis does nothing."""
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
    """A transpose that keeps the axes in order does nothing."""
    if perm and list(perm) == sorted(perm):
        return x
    return Skip(f"the axes change places: {list(perm)}")


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
    """An unsqueeze that names no axis does nothing."""
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
    """Making a matrix of what is that very matrix does nothing."""
    return same_shape(x, t)


def same_shape(x: Tensor, t: TensorType) -> Tensor | Skip:
    """The operand where the result has its type, else why it has not."""
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
"""Rules of `remove_noops` about views, in the order they are tried."""
