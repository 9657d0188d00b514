"""Rules that merge gathers, and replace gathers of evenly spaced rows with slices."""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Array, Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.cuts import Cut, sliced
from compiler.units import count_text

X = Any("x")
ROWS_LIMIT = 1 << 16
"""Limit on the number of indices examined."""


@rule(
    o.gather(X, Const("rows"), axis=AnyAttr("axis")),
    example="""
    graph g(x: f32[2,7]) {
      const rows: i64[3] = literal(5,-4,1)
      b: f32[2,3] = gather(x, rows, axis=-1)
      return b
    }
    =>
    graph g(x: f32[2,7]) {
      const b.starts: i64[1] = literal(5)
      const b.ends: i64[1] = literal(0)
      const b.axes: i64[1] = literal(1)
      const b.steps: i64[1] = literal(-2)
      b: f32[2,3] = slice(x, b.starts, b.ends, b.axes, b.steps)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,7]) {
      const rows: i64[3] = literal(5,3,2)
      b: f32[2,3] = gather(x, rows, axis=-1)
      return b
    }
    """,
)
def gather_is_slice(x: Tensor, rows: ConstTensor, axis: int) -> Operand:
    """Replace a gather of evenly spaced rows with a slice, or with the tensor itself.

    A slice needs no index list, and other rules can read its bounds.
    """
    at = axis % x.rank
    if rows.rank != 1:
        return Skip(f"the indices are {rows.type}, not a list")
    found = _counted(rows.stored, x, at)
    if isinstance(found, Skip):
        return found
    size = x.shape[at]
    assert isinstance(size, int)
    distances = np.unique(np.diff(found))
    if len(distances) > 1 or 0 in distances:
        return Skip(f"the distances between indices are {distances[:5].tolist()}, not constant")
    step = int(distances[0]) if len(distances) else 1
    first = int(found[0])
    taken = range(first, first + step * len(found), step)
    if taken == range(size):
        return x
    return Because(
        sliced(x, {at: Cut.from_range(_tight(taken), size)}),
        f"the slice selects {count_text(len(found), 'row')} from {first} on, with step {step}",
    )


def _tight(taken: range) -> range:
    """Return the same positions as a range that ends directly after the last position."""
    return range(taken.start, taken[-1] + (1 if taken.step > 0 else -1), taken.step)


def _counted(rows: Constant, x: Tensor, at: int) -> Array | Skip:
    """Return indices as non-negative positions, or Skip if an index may be out of range."""
    size, n = x.shape[at], rows.type.n_elements
    if not isinstance(size, int):
        return Skip(f"the size {size} of axis {at} is open, so indices may be out of range")
    if not 0 < n <= ROWS_LIMIT:
        return Skip(f"there are {n:,} indices, but only 1 to {ROWS_LIMIT:,} are examined")
    numbers = rows.array().astype(np.int64)
    if numbers.min() < -size or numbers.max() >= size:
        return Skip(f"indices {numbers.min()} to {numbers.max()} are out of range for size {size}")
    return np.where(numbers < 0, numbers + size, numbers)


@rule(
    o.gather(o.gather(X, Const("first"), axis=AnyAttr("axis")), Const("rows"), axis=AnyAttr("by")),
    example="""
    graph g(x: f32[2,7]) {
      const first: i64[4] = literal(6,0,3,2)
      const rows: i64[3] = literal(1,0,-1)
      a: f32[2,4] = gather(x, first, axis=1)
      b: f32[2,3] = gather(a, rows, axis=-1)
      return b
    }
    =>
    graph g(x: f32[2,7]) {
      const b.indices: i64[3] = literal(0,6,2)
      b: f32[2,3] = gather(x, b.indices, axis=1)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[3,7]) {
      const first: i64[4] = literal(6,0,3,2)
      const rows: i64[3] = literal(1,0,-1)
      a: f32[3,4] = gather(x, first, axis=1)
      b: f32[3,4] = gather(a, rows, axis=0)
      return b
    }
    """,
    single_use=True,
)
def merge_gathers(x: Tensor, first: ConstTensor, axis: int, rows: ConstTensor, by: int) -> Operand:
    """Merge two consecutive gathers along the same axis."""
    if first.rank != 1 or by % x.rank != axis % x.rank:
        return Skip(f"a gather along axis {by} follows a gather along axis {axis}")
    inner = _counted(first.stored, x, axis % x.rank)
    if isinstance(inner, Skip):
        return inner
    middle = Tensor("", o.gather(x, inner, axis=axis).type)
    outer = _counted(rows.stored, middle, by % x.rank)
    return outer if isinstance(outer, Skip) else o.gather(x, inner[outer], axis=axis)


GATHERS: list[Rule] = [merge_gathers, gather_is_slice]
"""Rules for gathers, in the order they are tried."""
