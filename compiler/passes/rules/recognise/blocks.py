"""Rules that recognise depth-to-space and space-to-depth in a transpose of split axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from compiler.ir import affine
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import Dim, TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, Named, OneOf
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o

_PARTS = o.transpose(
    Named("parts", o.reshape(Any("x"), Any("first"), allowzero=AnyAttr("zeros"))),
    perm=AnyAttr("perm"),
)
MOVED = OneOf(
    o.reshape(_PARTS, Any("second"), allowzero=AnyAttr("zeros2")),
    o.flatten(_PARTS, axis=AnyAttr("cut")),
)
"""A reshape that splits the axes of `x` into `parts`, a transpose, and a reshape of the result."""

Order = tuple[tuple[Dim, ...], tuple[int, ...]]
"""The sizes of axes after merging axes that stay adjacent, and the permutation of the axes."""


def order_of(dims: Sequence[Dim], perm: Sequence[int]) -> Order:
    """Return the canonical transpose: without axes of size 1, and with adjacent axes merged.

    Two transposes between reshapes are equivalent if their canonical forms are equal.
    """
    kept = [a for a in perm if dims[a] != 1]
    places = {a: i for i, a in enumerate(sorted(kept))}
    runs: list[list[int]] = []
    for a in kept:
        if runs and places[a] == places[runs[-1][-1]] + 1:
            runs[-1].append(a)
        else:
            runs.append([a])
    before = sorted(runs)
    sizes = tuple(affine.product(dims[a] for a in run) for run in before)
    return sizes, tuple(before.index(run) for run in runs)


def order_text(order: Order) -> str:
    """Return sizes and permutation as text."""
    sizes, perm = order
    return f"[{', '.join(map(str, sizes))}] permuted by {list(perm)}"


@rule(
    MOVED,
    result="t",
    single_use=True,
    example="""
    graph g(x: f32[2,12,4,5]) {
      const s: i64[6] = literal(2,3,2,2,4,5)
      const r: i64[4] = literal(2,3,8,10)
      a: f32[2,3,2,2,4,5] = reshape(x, s)
      b: f32[2,3,4,2,5,2] = transpose(a, perm=[0,1,4,2,5,3])
      y: f32[2,3,8,10] = reshape(b, r)
      return y
    }
    =>
    graph g(x: f32[2,12,4,5]) {
      y: f32[2,3,8,10] = depth_to_space(x, blocksize=2, mode="CRD")
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,12,4,5]) {
      const s: i64[6] = literal(2,3,2,2,4,5)
      const r: i64[4] = literal(2,3,8,10)
      a: f32[2,3,2,2,4,5] = reshape(x, s)
      b: f32[2,3,4,2,5,2] = transpose(a, perm=[0,1,4,3,5,2])
      y: f32[2,3,8,10] = reshape(b, r)
      return y
    }
    """,
)
def depth_to_space_of_transpose(
    x: Tensor, parts: Tensor, perm: tuple[int, ...], t: TensorType, **_: object
) -> Operand:
    """Recognise channels split in three, with two parts moved to pixels, as depth-to-space."""
    if x.type.shape is None or t.shape is None or not x.rank == len(t.shape) == 4:
        return Skip(f"{x.type} and {t} are not both images")
    n, channels, h, w = x.shape
    fewer = t.shape[1]
    b = _block(channels, fewer)
    if b is None or t.shape != (n, fewer, h * b, w * b) or parts.type.shape is None:
        return Skip(f"no block of channels of {x.type} becomes a square of pixels of {t}")
    found = order_of(parts.shape, perm)
    for mode, dims, axes in (
        ("DCR", (n, b, b, fewer, h, w), (0, 3, 4, 1, 5, 2)),
        ("CRD", (n, fewer, b, b, h, w), (0, 1, 4, 2, 5, 3)),
    ):
        if found == order_of(dims, axes):
            because = f"blocks of {b}x{b} channels become squares of pixels"
            return Because(o.depth_to_space(x, blocksize=b, mode=mode), because)
    return Skip(f"{order_text(found)} matches neither mode of depth_to_space")


@rule(
    MOVED,
    result="t",
    single_use=True,
    example="""
    graph g(x: f32[N,3,4,6]) {
      const s: i64[6] = literal(0,3,2,2,3,2)
      const r: i64[4] = literal(0,12,2,3)
      a: f32[N,3,2,2,3,2] = reshape(x, s)
      b: f32[N,2,2,3,2,3] = transpose(a, perm=[0,3,5,1,2,4])
      y: f32[N,12,2,3] = reshape(b, r)
      return y
    }
    =>
    graph g(x: f32[N,3,4,6]) {
      y: f32[N,12,2,3] = space_to_depth(x, blocksize=2)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4,6]) {
      const s: i64[6] = literal(2,3,2,2,3,2)
      const r: i64[4] = literal(2,12,2,3)
      a: f32[2,3,2,2,3,2] = reshape(x, s)
      b: f32[2,3,2,2,2,3] = transpose(a, perm=[0,1,3,5,2,4])
      y: f32[2,12,2,3] = reshape(b, r)
      return y
    }
    """,
)
def space_to_depth_of_transpose(
    x: Tensor, parts: Tensor, perm: tuple[int, ...], t: TensorType, **_: object
) -> Operand:
    """Recognise rows and columns split in two, one part moved to channels, as space-to-depth."""
    if x.type.shape is None or t.shape is None or not x.rank == len(t.shape) == 4:
        return Skip(f"{x.type} and {t} are not both images")
    n, channels, h, w = x.shape
    b, (_n, _more, rows, columns) = _block(t.shape[1], channels), t.shape
    if b is None or (n, h, w) != (_n, rows * b, columns * b) or parts.type.shape is None:
        return Skip(f"no square of pixels of {x.type} becomes a block of channels of {t}")
    found = order_of(parts.shape, perm)
    if found != order_of((n, channels, rows, b, columns, b), (0, 3, 5, 1, 2, 4)):
        return Skip(
            f"{order_text(found)} does not place the offset within a square before the channels"
        )
    because = f"squares of {b}x{b} pixels become channels"
    return Because(o.space_to_depth(x, blocksize=b), because)


def _block(more: Dim, fewer: Dim) -> int | None:
    """Return the block size for a ratio of channels, or None if the ratio is no square number."""
    if not (isinstance(more, int) and isinstance(fewer, int)) or fewer < 1 or more % fewer:
        return None
    side = isqrt(more // fewer)
    return side if side > 1 and side * side * fewer == more else None


BLOCKS: list[Rule] = [depth_to_space_of_transpose, space_to_depth_of_transpose]
"""Rules for depth-to-space and space-to-depth, which copy as much as the three replaced nodes."""
