"""Rules that merge transposes, and move them past expands and casts."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.shapes import expanded_shape, numbers, reshaped

X, P, Q = Any("x"), AnyAttr("p"), AnyAttr("q")


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
    near_miss="""
    graph g(x: f32[2,3,4]) {
      const s: i64[3] = literal(2,3,4)
      a: f32[3,2,4] = transpose(x, perm=[1,0,2])
      m: f32[2,3,4] = reshape(a, s)
      b: f32[2,4,3] = transpose(m, perm=[0,2,1])
      return b
    }
    """,
)
def merge_transposes(x: Tensor, p: tuple[int, ...], q: tuple[int, ...]) -> Operand:
    """Merge two consecutive transposes by composing their permutations.

    Each transpose reads and writes every element once. The merged transpose makes a single pass
    over memory, or none if the permutations cancel.
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
    near_miss="""
    graph g(x: f32[2,1,4]) {
      b: f32[4,1,2] = transpose(x, perm=[2,1,0])
      return b
    }
    """,
    result="t",
)
def transpose_is_reshape(x: Tensor, p: tuple[int, ...], t: TensorType) -> Operand:
    """Replace a transpose that only moves axes of size 1 with a reshape, which copies nothing."""
    moved = [i for i in p if x.shape[i] != 1]
    if moved != sorted(moved):
        return Skip(f"the transpose permutes axes larger than 1: {moved}")
    return reshaped(x, t)


@rule(
    o.transpose(o.expand(X, Any("shape")), perm=P),
    example="""
    graph g(x: f32[2,1,4]) {
      const s: i64[3] = literal(2,3,4)
      a: f32[2,3,4] = expand(x, s)
      b: f32[4,3,2] = transpose(a, perm=[2,1,0])
      return b
    }
    =>
    graph g(x: f32[2,1,4]) {
      const b.shape: i64[3] = literal(4,3,2)
      b.x: f32[4,1,2] = transpose(x, perm=[2,1,0])
      b: f32[4,3,2] = expand(b.x, b.shape)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[3,4]) {
      const s: i64[3] = literal(1,3,4)
      a: f32[1,3,4] = expand(x, s)
      b: f32[4,1,3] = transpose(a, perm=[2,0,1])
      return b
    }
    """,
    single_use=True,
)
def transpose_before_expand(x: Tensor, shape: Tensor, p: tuple[int, ...]) -> Operand:
    """Move a transpose before the expand that computes its operand.

    The transpose moves the original elements instead of the expanded copies.
    """
    sizes = numbers(shape)
    if sizes is None or not x.type.is_static:
        return Skip("sizes are open, so the numbers of elements moved cannot be compared")
    if len(p) != x.rank:
        return Skip(f"the expand adds {len(p) - x.rank} axes to the {x.rank} of {x.name}")
    wide = o.expand(x, shape).type
    few, many = x.type.n_elements, wide.n_elements
    if few >= many:
        return Skip(f"{few:,} elements are expanded to {many:,}: nothing is saved")
    inner = o.transpose(x, perm=p)
    target = expanded_shape(inner.type.dims, tuple(wide.dims[a] for a in p))
    if isinstance(target, Skip):
        return target
    return Because(o.expand(inner, target), f"{few:,} elements are transposed instead of {many:,}")


@rule(
    o.cast(o.transpose(X, perm=P), to=AnyAttr("to")),
    example="""
    graph g(x: f32[2,3,4]) {
      a: f32[3,4,2] = transpose(x, perm=[1,2,0])
      b: u8[3,4,2] = cast(a, to=u8)
      return b
    }
    =>
    graph g(x: f32[2,3,4]) {
      b.x: u8[2,3,4] = cast(x, to=u8)
      b: u8[3,4,2] = transpose(b.x, perm=[1,2,0])
      return b
    }
    """,
    near_miss="""
    graph g(x: u8[2,3,4]) {
      a: u8[3,4,2] = transpose(x, perm=[1,2,0])
      b: f32[3,4,2] = cast(a, to=f32)
      return b
    }
    """,
    single_use=True,
)
def cast_before_transpose(x: Tensor, p: tuple[int, ...], to: DType) -> Operand:
    """Move a cast to smaller elements before a transpose, which then moves fewer bytes."""
    if to.nbytes >= x.dtype.nbytes:
        return Skip(f"no bytes are saved: {x.dtype} takes {x.dtype.nbytes}, {to} takes {to.nbytes}")
    because = f"the transpose moves elements of {to.nbytes} bytes instead of {x.dtype.nbytes}"
    return Because(o.transpose(o.cast(x, to=to), perm=p), because)


@rule(
    o.transpose(o.cast(X, to=AnyAttr("to")), perm=P),
    example="""
    graph g(x: u8[2,3,4]) {
      a: f32[2,3,4] = cast(x, to=f32)
      b: f32[3,4,2] = transpose(a, perm=[1,2,0])
      return b
    }
    =>
    graph g(x: u8[2,3,4]) {
      b.x: u8[3,4,2] = transpose(x, perm=[1,2,0])
      b: f32[3,4,2] = cast(b.x, to=f32)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4]) {
      a: f16[2,3,4] = cast(x, to=f16)
      b: f16[3,4,2] = transpose(a, perm=[1,2,0])
      return b
    }
    """,
    single_use=True,
)
def transpose_before_cast(x: Tensor, p: tuple[int, ...], to: DType) -> Operand:
    """Move a cast to larger elements after a transpose, which then moves fewer bytes."""
    if to.nbytes <= x.dtype.nbytes:
        return Skip(f"no bytes are saved: {x.dtype} takes {x.dtype.nbytes}, {to} takes {to.nbytes}")
    because = f"the transpose moves elements of {x.dtype.nbytes} bytes instead of {to.nbytes}"
    return Because(o.cast(o.transpose(x, perm=p), to=to), because)


TRANSPOSES: list[Rule] = [
    merge_transposes,
    transpose_is_reshape,
    transpose_before_expand,
    cast_before_transpose,
    transpose_before_cast,
]
"""Rules for transposes, in the order they are tried."""
