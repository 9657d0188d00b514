"""Rules that merge or cancel squeezes, unsqueezes and the views before them."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.shapes import reshaped

X = Any("x")


@rule(
    o.squeeze(o.unsqueeze(X, axes=AnyAttr("p")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[1,3]) {
      a: f32[1,3,1] = unsqueeze(x, axes=[2])
      b: f32[3,1] = squeeze(a, axes=[0])
      return b
    }
    =>
    graph g(x: f32[1,3]) {
      const b.shape: i64[2] = literal(3,1)
      b: f32[3,1] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,N,M]) {
      a: f32[1,N,M,1] = unsqueeze(x, axes=[3])
      b: f32[N,M,1] = squeeze(a, axes=[0])
      return b
    }
    """,
    result="t",
)
def merge_unsqueeze_squeeze(
    x: Tensor, p: tuple[int, ...], q: tuple[int, ...], t: TensorType
) -> Operand:
    """Merge an unsqueeze and a squeeze into a reshape, or cancel them."""
    return reshaped(x, t)


@rule(
    o.unsqueeze(o.squeeze(X, axes=AnyAttr("p")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[2,1,3]) {
      a: f32[2,3] = squeeze(x, axes=[1])
      b: f32[2,3,1] = unsqueeze(a, axes=[2])
      return b
    }
    =>
    graph g(x: f32[2,1,3]) {
      const b.shape: i64[3] = literal(2,3,1)
      b: f32[2,3,1] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,1,3]) {
      a: f32[2,3] = squeeze(x, axes=[1])
      m: f32[3,2] = transpose(a, perm=[1,0])
      b: f32[3,2,1] = unsqueeze(m, axes=[2])
      return b
    }
    """,
    result="t",
)
def merge_squeeze_unsqueeze(
    x: Tensor, p: tuple[int, ...], q: tuple[int, ...], t: TensorType
) -> Operand:
    """Merge a squeeze and an unsqueeze into a reshape, or cancel them."""
    return reshaped(x, t)


@rule(
    o.squeeze(o.reshape(X, Any("p"), allowzero=AnyAttr("z")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[6,4]) {
      const s: i64[3] = literal(3,1,8)
      a: f32[3,1,8] = reshape(x, s)
      b: f32[3,8] = squeeze(a, axes=[1])
      return b
    }
    =>
    graph g(x: f32[6,4]) {
      const b.shape: i64[2] = literal(3,8)
      b: f32[3,8] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[N,M], s: i64[3]) {
      a: f32[x__s_d0,x__s_d1,x__s_d2] = reshape(x, s)
      b: f32[x__s_d0,x__s_d2] = squeeze(a, axes=[1])
      return b
    }
    """,
    result="t",
)
def merge_reshape_squeeze(
    x: Tensor, p: Tensor, z: bool, q: tuple[int, ...], t: TensorType
) -> Operand:
    """Replace a reshape and a squeeze of its result by one reshape."""
    return reshaped(x, t)


@rule(
    o.squeeze(o.flatten(X, axis=AnyAttr("p")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[1,3,4]) {
      a: f32[1,12] = flatten(x, axis=1)
      b: f32[12] = squeeze(a, axes=[0])
      return b
    }
    =>
    graph g(x: f32[1,3,4]) {
      const b.shape: i64[1] = literal(12)
      b: f32[12] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,3,4]) {
      a: f32[1,12] = flatten(x, axis=1)
      m: f32[1,12] = softmax(a, axis=1)
      b: f32[12] = squeeze(m, axes=[0])
      return b
    }
    """,
    result="t",
)
def merge_flatten_squeeze(x: Tensor, p: int, q: tuple[int, ...], t: TensorType) -> Operand:
    """Replace a flatten and a squeeze of its result by one reshape."""
    return reshaped(x, t)


@rule(
    o.unsqueeze(o.reshape(X, Any("p"), allowzero=AnyAttr("z")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[6,4]) {
      const s: i64[2] = literal(3,-1)
      a: f32[3,8] = reshape(x, s)
      b: f32[3,1,8] = unsqueeze(a, axes=[-2])
      return b
    }
    =>
    graph g(x: f32[6,4]) {
      const b.shape: i64[3] = literal(3,1,8)
      b: f32[3,1,8] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[K,N,M]) {
      const s: i64[3] = literal(0,0,-1)
      const r: i64[2] = literal(0,-1)
      a: f32[K,N*M] = reshape(x, r)
      b: f32[1,K,N*M] = unsqueeze(a, axes=[0])
      return b
    }
    """,
    result="t",
)
def merge_reshape_unsqueeze(
    x: Tensor, p: Tensor, z: bool, q: tuple[int, ...], t: TensorType
) -> Operand:
    """Merge a reshape and the unsqueeze that reads it into a reshape."""
    return reshaped(x, t)


@rule(
    o.unsqueeze(o.flatten(X, axis=AnyAttr("p")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[2,3,4]) {
      a: f32[6,4] = flatten(x, axis=2)
      b: f32[1,6,4] = unsqueeze(a, axes=[0])
      return b
    }
    =>
    graph g(x: f32[2,3,4]) {
      const b.shape: i64[3] = literal(1,6,4)
      b: f32[1,6,4] = reshape(x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4]) {
      a: f32[6,4] = flatten(x, axis=2)
      m: f32[4,6] = transpose(a, perm=[1,0])
      b: f32[1,4,6] = unsqueeze(m, axes=[0])
      return b
    }
    """,
    result="t",
)
def merge_flatten_unsqueeze(x: Tensor, p: int, q: tuple[int, ...], t: TensorType) -> Operand:
    """Merge a flatten and the unsqueeze that reads it into a reshape."""
    return reshaped(x, t)


@rule(
    o.squeeze(o.squeeze(X, axes=AnyAttr("p")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[1,2,1,3,1]) {
      a: f32[2,1,3,1] = squeeze(x, axes=[0])
      b: f32[2,3,1] = squeeze(a, axes=[1])
      return b
    }
    =>
    graph g(x: f32[1,2,1,3,1]) {
      b: f32[2,3,1] = squeeze(x, axes=[0,2])
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,1,3,1]) {
      a: f32[2,1,3,1] = squeeze(x, axes=[0])
      m: f32[1,2,3,1] = transpose(a, perm=[1,0,2,3])
      b: f32[2,3,1] = squeeze(m, axes=[0])
      return b
    }
    """,
)
def merge_squeezes(x: Tensor, p: tuple[int, ...], q: tuple[int, ...]) -> Operand:
    """Merge two consecutive squeezes."""
    first = {a % x.rank for a in p}
    left = [a for a in range(x.rank) if a not in first]
    second = {left[a] for a in q}
    return o.squeeze(x, axes=tuple(sorted(first | second)))


@rule(
    o.unsqueeze(o.unsqueeze(X, axes=AnyAttr("p")), axes=AnyAttr("q")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[1,2,3] = unsqueeze(x, axes=[0])
      b: f32[1,2,1,3] = unsqueeze(a, axes=[2])
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[1,2,1,3] = unsqueeze(x, axes=[0,2])
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const s: i64[3] = literal(4,2,3)
      a: f32[1,2,3] = unsqueeze(x, axes=[0])
      m: f32[4,2,3] = expand(a, s)
      b: f32[4,2,1,3] = unsqueeze(m, axes=[2])
      return b
    }
    """,
)
def merge_unsqueezes(x: Tensor, p: tuple[int, ...], q: tuple[int, ...]) -> Operand:
    """Merge two consecutive unsqueezes."""
    rank = x.rank + len(p) + len(q)
    second = {a % rank for a in q}
    left = [a for a in range(rank) if a not in second]
    first = {left[a] for a in p}
    return o.unsqueeze(x, axes=tuple(sorted(first | second)))


SQUEEZES: list[Rule] = [
    merge_unsqueeze_squeeze,
    merge_squeeze_unsqueeze,
    merge_squeezes,
    merge_unsqueezes,
    merge_reshape_squeeze,
    merge_flatten_squeeze,
    merge_reshape_unsqueeze,
    merge_flatten_unsqueeze,
]
"""Rules for axes of size 1, in the order they are tried."""
