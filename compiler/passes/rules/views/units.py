"""Rules for axes of size 1, whose positions do not affect the order of elements."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.reshape(o.transpose(X, perm=AnyAttr("p")), Any("s"), allowzero=AnyAttr("z")),
    example="""
    graph g(x: f32[1,5,1,4]) {
      const s: i64[4] = literal(1,4,5,1)
      a: f32[1,1,4,5] = transpose(x, perm=[0,2,3,1])
      b: f32[1,4,5,1] = reshape(a, s)
      return b
    }
    =>
    graph g(x: f32[1,5,1,4]) {
      b: f32[1,4,5,1] = transpose(x, perm=[0,3,1,2])
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,5,1,4]) {
      const s: i64[4] = literal(1,4,5,2)
      a: f32[2,1,4,5] = transpose(x, perm=[0,2,3,1])
      b: f32[1,4,5,2] = reshape(a, s)
      return b
    }
    """,
    single_use=True,
    result="t",
)
def transpose_moves_units(
    x: Tensor, p: tuple[int, ...], s: Tensor, z: bool, t: TensorType
) -> Operand:
    """Fold a reshape that only moves axes of size 1 into the transpose before it.

    A transpose can place axes of size 1 anywhere at no cost.
    """
    if not (x.type.is_static and t.is_static):
        return Skip("sizes are open, and an open size may be 1")
    moved = [i for i in p if x.shape[i] != 1]
    if [x.shape[i] for i in moved] != [n for n in t.dims if n != 1]:
        return Skip("axes larger than 1 are merged, split or permuted")
    if len(t.dims) != x.rank:
        return Skip("the reshape changes the number of axes")
    larger, units = iter(moved), (i for i in range(x.rank) if x.shape[i] == 1)
    return o.transpose(x, perm=tuple(next(units if n == 1 else larger) for n in t.dims))


UNITS: list[Rule] = [transpose_moves_units]
