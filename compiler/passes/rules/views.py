"""Rules about reshapes and transposes: several in a row become one, or none."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o

X, P, Q, Z = Any("x"), AnyAttr("p"), AnyAttr("q"), AnyAttr("allowzero")


@rule(
    o.transpose(o.transpose(X, perm=P), perm=Q),
    example="""
    graph g(x: f32[2,3,4]) {
      a: f32[3,2,4] = transpose(x, perm=[1,0,2])
      b: f32[3,4,2] = transpose(a, perm=[0,2,1])
      return b
    }
    =>
    graph g(x: f32[2,3,4]) {
      b: f32[3,4,2] = transpose(x, perm=[1,2,0])
      return b
    }
    """,
)
def merge_transposes(x: Tensor, p: tuple[int, ...], q: tuple[int, ...]) -> Operand:
    """Two transposes in a row are one transpose.

    Each transpose reads and writes every element once. Composing the two orders first leaves one
    trip through memory, or none when they cancel.
    """
    perm = tuple(p[i] for i in q)
    return x if list(perm) == sorted(perm) else o.transpose(x, perm=perm)


@rule(
    o.transpose(X, perm=P),
    example="""
    graph g(x: f32[2,1,4]) {
      b: f32[2,4,1] = transpose(x, perm=[0,2,1])
      return b
    }
    =>
    graph g(x: f32[2,1,4]) {
      const b.shape: i64[3] = literal(2,4,1)
      b: f32[2,4,1] = reshape(x, b.shape)
      return b
    }
    """,
    result="t",
)
def transpose_is_reshape(x: Tensor, p: tuple[int, ...], t: TensorType) -> Operand:
    """A transpose that only moves axes of size 1 is a reshape, which moves no element."""
    moved = [i for i in p if x.shape[i] != 1]
    if moved != sorted(moved):
        return Skip(f"axes larger than 1 change places: {moved}")
    return _reshape(x, t)


def _reshape(x: Tensor, t: TensorType) -> Operand:
    if not t.is_static:
        return Skip(f"the shape of {t} is open, so it cannot be written down")
    # Where an axis has no places, a 0 means just that, and not the operand's size.
    return o.reshape(x, np.array(t.static_shape, np.int64), allowzero=0 in t.static_shape)


def _merged(x: Tensor, t: TensorType) -> Operand:
    return x if t.shape is not None and x.type.logical == t else _reshape(x, t)


@rule(
    o.reshape(o.reshape(X, Any("p"), allowzero=AnyAttr("z")), Any("q"), allowzero=Z),
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
    result="t",
)
def merge_reshapes(
    x: Tensor, p: Tensor, z: bool, q: Tensor, allowzero: bool, t: TensorType
) -> Operand:
    """Two reshapes in a row are one reshape.

    The shape between them is never looked at. When they cancel, nothing is left.
    """
    return _merged(x, t)


@rule(
    o.reshape(o.flatten(X, axis=P), Any("q"), allowzero=Z),
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
    result="t",
)
def merge_flatten_reshape(x: Tensor, p: int, q: Tensor, allowzero: bool, t: TensorType) -> Operand:
    """A reshape of a flattened tensor is a reshape of the tensor itself."""
    return _merged(x, t)


@rule(
    o.reshape(o.squeeze(X, axes=P), Any("q"), allowzero=Z),
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
    result="t",
)
def merge_squeeze_reshape(
    x: Tensor, p: tuple[int, ...], q: Tensor, allowzero: bool, t: TensorType
) -> Operand:
    """A reshape of a squeezed tensor is a reshape of the tensor itself."""
    return _merged(x, t)


@rule(
    o.reshape(o.unsqueeze(X, axes=P), Any("q"), allowzero=Z),
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
    result="t",
)
def merge_unsqueeze_reshape(
    x: Tensor, p: tuple[int, ...], q: Tensor, allowzero: bool, t: TensorType
) -> Operand:
    """A reshape of an unsqueezed tensor is a reshape of the tensor itself."""
    return _merged(x, t)


@rule(
    o.squeeze(o.unsqueeze(X, axes=P), axes=Q),
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
    result="t",
)
def merge_unsqueeze_squeeze(
    x: Tensor, p: tuple[int, ...], q: tuple[int, ...], t: TensorType
) -> Operand:
    """Adding and removing axes of size 1 is one reshape, or nothing when they are the same axes."""
    return _merged(x, t)


@rule(
    o.unsqueeze(o.squeeze(X, axes=P), axes=Q),
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
    result="t",
)
def merge_squeeze_unsqueeze(
    x: Tensor, p: tuple[int, ...], q: tuple[int, ...], t: TensorType
) -> Operand:
    """Removing and adding axes of size 1 is one reshape, or nothing when they are the same axes."""
    return _merged(x, t)


@rule(
    o.squeeze(o.squeeze(X, axes=P), axes=Q),
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
)
def merge_squeezes(x: Tensor, p: tuple[int, ...], q: tuple[int, ...]) -> Operand:
    """Two squeezes in a row are one."""
    first = {a % x.rank for a in p}
    left = [a for a in range(x.rank) if a not in first]
    second = {left[a] for a in q}
    return o.squeeze(x, axes=tuple(sorted(first | second)))


@rule(
    o.unsqueeze(o.unsqueeze(X, axes=P), axes=Q),
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
)
def merge_unsqueezes(x: Tensor, p: tuple[int, ...], q: tuple[int, ...]) -> Operand:
    """Two unsqueezes in a row are one."""
    rank = x.rank + len(p) + len(q)
    second = {a % rank for a in q}
    left = [a for a in range(rank) if a not in second]
    first = {left[a] for a in p}
    return o.unsqueeze(x, axes=tuple(sorted(first | second)))


def _swaps_last_two(perm: tuple[int, ...]) -> bool:
    n = len(perm)
    return n >= 2 and perm == (*range(n - 2), n - 1, n - 2)


_TA, _TB = AnyAttr("ta"), AnyAttr("tb")


@rule(
    o.matmul(o.transpose(X, perm=P), Any("b"), transpose_a=_TA, transpose_b=_TB),
    example="""
    graph g(x: f32[3,2], b: f32[3,4]) {
      a: f32[2,3] = transpose(x, perm=[1,0])
      y: f32[2,4] = matmul(a, b)
      return y
    }
    =>
    graph g(x: f32[3,2], b: f32[3,4]) {
      y: f32[2,4] = matmul(x, b, transpose_a=true)
      return y
    }
    """,
)
def transpose_into_matmul_left(
    x: Tensor, p: tuple[int, ...], b: Tensor, ta: bool, tb: bool
) -> Operand:
    """A matrix product reads its left operand transposed at no cost.

    The packing of the product copies the operand anyway, in whatever order it needs.
    """
    if not _swaps_last_two(p):
        return Skip(f"the transpose {list(p)} does more than swap the last two axes")
    return Because(
        o.matmul(x, b, transpose_a=not ta, transpose_b=tb),
        f"the product reads {x.name} transposed; a copy of {x.type} less",
    )


@rule(
    o.matmul(Any("a"), o.transpose(X, perm=P), transpose_a=_TA, transpose_b=_TB),
    example="""
    graph g(a: f32[2,3], x: f32[4,3]) {
      b: f32[3,4] = transpose(x, perm=[1,0])
      y: f32[2,4] = matmul(a, b)
      return y
    }
    =>
    graph g(a: f32[2,3], x: f32[4,3]) {
      y: f32[2,4] = matmul(a, x, transpose_b=true)
      return y
    }
    """,
)
def transpose_into_matmul_right(
    a: Tensor, x: Tensor, p: tuple[int, ...], ta: bool, tb: bool
) -> Operand:
    """A matrix product reads its right operand transposed at no cost."""
    if not _swaps_last_two(p):
        return Skip(f"the transpose {list(p)} does more than swap the last two axes")
    return Because(
        o.matmul(a, x, transpose_a=ta, transpose_b=not tb),
        f"the product reads {x.name} transposed; a copy of {x.type} less",
    )


VIEWS: list[Rule] = [
    merge_transposes,
    transpose_is_reshape,
    merge_reshapes,
    merge_flatten_reshape,
    merge_squeeze_reshape,
    merge_unsqueeze_reshape,
    merge_unsqueeze_squeeze,
    merge_squeeze_unsqueeze,
    merge_squeezes,
    merge_unsqueezes,
    transpose_into_matmul_left,
    transpose_into_matmul_right,
]
"""Rules of `algebra` about shapes, in the order in which they are tried."""
