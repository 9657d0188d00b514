"""Rules for reshapes and flattens: consecutive views become one view."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.shapes import numbers, open_shape, reshaped

X = Any("x")


@rule(
    o.reshape(
        o.reshape(X, Any("p"), allowzero=AnyAttr("z")), Any("q"), allowzero=AnyAttr("allowzero")
    ),
    example="""
    graph g(x: f32[2,3,4]) {
      const s: i64[2] = literal(2,12)
      const r: i64[3] = literal(0,4,3)
      a: f32[2,12] = reshape(x, s)
      b: f32[2,4,3] = reshape(a, r)
      return b
    }
    =>
    graph g(x: f32[2,3,4]) {
      const b.shape: i64[3] = literal(2,4,3)
      b: f32[2,4,3] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[N,M], s: i64[3], r: i64[2]) {
      a: f32[x__s_d0,x__s_d1,x__s_d2] = reshape(x, s)
      b: f32[a__r_d0,a__r_d1] = reshape(a, r)
      return b
    }
    """,
    result="t",
)
def merge_reshapes(
    x: Tensor, p: Tensor, z: bool, q: Tensor, allowzero: bool, t: TensorType
) -> Operand:
    """Merge two consecutive reshapes.

    The result does not depend on the intermediate shape. If the reshapes cancel, both are removed.
    """
    return reshaped(x, t)


@rule(
    o.reshape(o.flatten(X, axis=AnyAttr("p")), Any("q"), allowzero=AnyAttr("allowzero")),
    example="""
    graph g(x: f32[2,3,4]) {
      const r: i64[2] = literal(-1,8)
      a: f32[2,12] = flatten(x, axis=1)
      b: f32[3,8] = reshape(a, r)
      return b
    }
    =>
    graph g(x: f32[2,3,4]) {
      const b.shape: i64[2] = literal(3,8)
      b: f32[3,8] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4]) {
      const r: i64[2] = literal(-1,8)
      a: f32[2,12] = flatten(x, axis=1)
      m: f32[12,2] = transpose(a, perm=[1,0])
      b: f32[3,8] = reshape(m, r)
      return b
    }
    """,
    result="t",
)
def merge_flatten_reshape(x: Tensor, p: int, q: Tensor, allowzero: bool, t: TensorType) -> Operand:
    """Merge a flatten into the reshape that reads it."""
    return reshaped(x, t)


@rule(
    o.reshape(o.squeeze(X, axes=AnyAttr("p")), Any("q"), allowzero=AnyAttr("allowzero")),
    example="""
    graph g(x: f32[2,1,6]) {
      const r: i64[2] = literal(3,4)
      a: f32[2,6] = squeeze(x, axes=[1])
      b: f32[3,4] = reshape(a, r)
      return b
    }
    =>
    graph g(x: f32[2,1,6]) {
      const b.shape: i64[2] = literal(3,4)
      b: f32[3,4] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,1,6]) {
      const r: i64[2] = literal(3,4)
      a: f32[2,6] = squeeze(x, axes=[1])
      m: f32[2,6] = relu(a)
      b: f32[3,4] = reshape(m, r)
      return b
    }
    """,
    result="t",
)
def merge_squeeze_reshape(
    x: Tensor, p: tuple[int, ...], q: Tensor, allowzero: bool, t: TensorType
) -> Operand:
    """Merge a squeeze into the reshape that reads it."""
    return reshaped(x, t)


@rule(
    o.reshape(o.unsqueeze(X, axes=AnyAttr("p")), Any("q"), allowzero=AnyAttr("allowzero")),
    example="""
    graph g(x: f32[2,6]) {
      const r: i64[2] = literal(3,4)
      a: f32[2,1,6] = unsqueeze(x, axes=[1])
      b: f32[3,4] = reshape(a, r)
      return b
    }
    =>
    graph g(x: f32[2,6]) {
      const b.shape: i64[2] = literal(3,4)
      b: f32[3,4] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[K,N,M]) {
      const r: i64[3] = literal(0,0,-1)
      a: f32[1,K,N,M] = unsqueeze(x, axes=[0])
      b: f32[1,K,N*M] = reshape(a, r)
      return b
    }
    """,
    result="t",
)
def merge_unsqueeze_reshape(
    x: Tensor, p: tuple[int, ...], q: Tensor, allowzero: bool, t: TensorType
) -> Operand:
    """Merge an unsqueeze into the reshape that reads it."""
    return reshaped(x, t)


@rule(
    o.flatten(o.reshape(X, Any("p"), allowzero=AnyAttr("z")), axis=AnyAttr("q")),
    example="""
    graph g(x: f32[2,3,4]) {
      const s: i64[3] = literal(4,2,3)
      a: f32[4,2,3] = reshape(x, s)
      b: f32[8,3] = flatten(a, axis=2)
      return b
    }
    =>
    graph g(x: f32[2,3,4]) {
      const b.shape: i64[2] = literal(8,3)
      b: f32[8,3] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4]) {
      const s: i64[3] = literal(4,2,3)
      a: f32[4,2,3] = reshape(x, s)
      m: f32[2,4,3] = transpose(a, perm=[1,0,2])
      b: f32[8,3] = flatten(m, axis=2)
      return b
    }
    """,
    result="t",
)
def merge_reshape_flatten(x: Tensor, p: Tensor, z: bool, q: int, t: TensorType) -> Operand:
    """Merge a reshape and the flatten that reads it into a reshape."""
    return reshaped(x, t)


@rule(
    o.flatten(o.flatten(X, axis=AnyAttr("p")), axis=AnyAttr("q")),
    example="""
    graph g(x: f32[2,3,4]) {
      a: f32[6,4] = flatten(x, axis=2)
      b: f32[1,24] = flatten(a, axis=0)
      return b
    }
    =>
    graph g(x: f32[2,3,4]) {
      const b.shape: i64[2] = literal(1,24)
      b: f32[1,24] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4]) {
      a: f32[6,4] = flatten(x, axis=2)
      m: f32[6,4] = softmax(a, axis=0)
      b: f32[1,24] = flatten(m, axis=0)
      return b
    }
    """,
    result="t",
)
def merge_flattens(x: Tensor, p: int, q: int, t: TensorType) -> Operand:
    """Merge two consecutive flattens into a reshape."""
    return reshaped(x, t)


@rule(
    o.flatten(o.squeeze(X, axes=AnyAttr("p")), axis=AnyAttr("q")),
    example="""
    graph g(x: f32[N,3,1,4]) {
      a: f32[N,3,4] = squeeze(x, axes=[2])
      b: f32[N,12] = flatten(a, axis=1)
      return b
    }
    =>
    graph g(x: f32[N,3,1,4]) {
      const b.shape: i64[2] = literal(0,12)
      b: f32[N,12] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,N,M]) {
      a: f32[N,M] = squeeze(x, axes=[0])
      b: f32[N,M] = flatten(a, axis=1)
      return b
    }
    """,
    result="t",
)
def merge_squeeze_flatten(x: Tensor, p: tuple[int, ...], q: int, t: TensorType) -> Operand:
    """Merge a squeeze and the flatten that reads it into a reshape."""
    return reshaped(x, t)


@rule(
    o.flatten(o.unsqueeze(X, axes=AnyAttr("p")), axis=AnyAttr("q")),
    example="""
    graph g(x: f32[3,N]) {
      a: f32[3,1,N] = unsqueeze(x, axes=[1])
      b: f32[3,N] = flatten(a, axis=1)
      return b
    }
    =>
    graph g(x: f32[3,N]) {
      return b=x
    }
    """,
    near_miss="""
    graph g(x: f32[K,N,M]) {
      a: f32[1,K,N,M] = unsqueeze(x, axes=[0])
      b: f32[K*N,M] = flatten(a, axis=3)
      return b
    }
    """,
    result="t",
)
def merge_unsqueeze_flatten(x: Tensor, p: tuple[int, ...], q: int, t: TensorType) -> Operand:
    """Merge an unsqueeze and the flatten that reads it into a reshape."""
    return reshaped(x, t)


@rule(
    o.reshape(X, Any("shape"), allowzero=AnyAttr("allowzero")),
    example="""
    graph g(x: f32[N,3,M,4]) {
      const m: i64[1] = literal(-1)
      const c: i64[1] = literal(12)
      n: i64[1] = shape(x, start=0, end=1)
      s: i64[3] = concat(n, m, c, axis=0)
      b: f32[N,M,12] = reshape(x, s)
      return b
    }
    =>
    graph g(x: f32[N,3,M,4]) {
      const b.shape: i64[3] = literal(0,-1,12)
      b: f32[N,M,12] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[N,3,M,4]) {
      m: i64[1] = shape(x, start=2, end=3)
      n: i64[1] = shape(x, start=0, end=1)
      const c: i64[1] = literal(12)
      s: i64[3] = concat(m, n, c, axis=0)
      b: f32[M,N,12] = reshape(x, s)
      return b
    }
    """,
    result="t",
)
def reshape_to_literal(x: Tensor, shape: Tensor, allowzero: bool, t: TensorType) -> Operand:
    """Replace a shape computed from the sizes of the tensor with a constant.

    In the constant, 0 keeps the size of an axis, and -1 marks the one axis of inferred size.

    Exporters compute the shape by nodes that select and concatenate sizes of a tensor. A constant
    expresses the same shape without computation at run time.
    """
    if (known := numbers(shape)) is not None:
        return Skip(f"the shape {list(known)} is constant already")
    if t.shape is None:
        return Skip("the rank of the result is open, so its shape cannot be a constant")
    if shape.value is None:
        return Skip(f"the sizes in {shape.name} depend on data")
    made = open_shape(x.type.shape, t.shape)
    if isinstance(made, Skip):
        return made
    call = o.reshape(x, made)
    (rest,) = call.types()
    if rest != t.logical:
        return Skip(f"{made.tolist()} would give {rest}, which equals {t} for some inputs only")
    return Because(call, f"{shape.name} is {made.tolist()} for every size")


RESHAPES: list[Rule] = [
    merge_reshapes,
    merge_flatten_reshape,
    merge_squeeze_reshape,
    merge_unsqueeze_reshape,
    reshape_to_literal,
    merge_reshape_flatten,
    merge_flattens,
    merge_squeeze_flatten,
    merge_unsqueeze_flatten,
]
"""Rules for reshapes and flattens, in the order they are tried."""
