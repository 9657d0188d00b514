"""Rules that merge slices, and remove padding that a slice drops."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.cuts import Cut, cuts, merged_cut, places, sliced

X = Any("x")
_S, _E = Any("starts"), Any("ends")
_A, _T = Any("axes", optional=True), Any("steps", optional=True)


@rule(
    o.slice(
        o.slice(X, Any("s"), Any("e"), Any("a", optional=True), Any("t", optional=True)),
        _S,
        _E,
        _A,
        _T,
    ),
    example="""
    graph g(x: f32[5,9]) {
      const s: i64[2] = literal(1,-2)
      const e: i64[2] = literal(4,-9223372036854775808)
      const by: i64[2] = literal(1,-2)
      const at: i64[2] = literal(0,1)
      const one: i64[1] = literal(1)
      const far: i64[1] = literal(9223372036854775807)
      a: f32[3,4] = slice(x, s, e, at, by)
      b: f32[3,3] = slice(a, one, far, one)
      return b
    }
    =>
    graph g(x: f32[5,9]) {
      const b.starts: i64[2] = literal(1,5)
      const b.ends: i64[2] = literal(4,-10)
      const b.axes: i64[2] = literal(0,1)
      const b.steps: i64[2] = literal(1,-2)
      b: f32[3,3] = slice(x, b.starts, b.ends, b.axes, b.steps)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[N,9]) {
      const one: i64[1] = literal(1)
      const back: i64[1] = literal(-1)
      const zero: i64[1] = literal(0)
      const far: i64[1] = literal(9223372036854775807)
      a: f32[max(N-1,0),9] = slice(x, one, far, zero)
      b: f32[max(max(N-1,0)-1,0),9] = slice(a, zero, back, zero)
      return b
    }
    """,
)
def merge_slices(
    x: Tensor,
    s: Tensor,
    e: Tensor,
    a: Tensor | None,
    t: Tensor | None,
    starts: Tensor,
    ends: Tensor,
    axes: Tensor | None,
    steps: Tensor | None,
) -> Operand:
    """Merge two consecutive slices by composing their bounds.

    The intermediate tensor is never stored.
    """
    first, second = cuts(x.rank, s, e, a, t), cuts(x.rank, starts, ends, axes, steps)
    if first is None or second is None:
        return Skip("the bounds are computed at run time")
    both = dict(first)
    for axis, cut in second.items():
        inner = first.get(axis)
        one = cut if inner is None else merged_cut(x.shape[axis], inner, cut)
        if one is None:
            return Skip(
                f"bounds count from the end of axis {axis}, whose size {x.shape[axis]} is open"
            )
        both[axis] = one
    return sliced(x, both)


_PADS, _VALUE = Any("pads"), Any("value", optional=True)


@rule(
    o.slice(
        o.pad(X, _PADS, _VALUE, Any("at", optional=True), mode=AnyAttr("mode")), _S, _E, _A, _T
    ),
    example="""
    graph g(x: f32[4,6]) {
      const p: i64[4] = literal(1,2,0,3)
      const s: i64[2] = literal(2,4)
      const e: i64[2] = literal(5,7)
      a: f32[5,11] = pad(x, p)
      b: f32[3,3] = slice(a, s, e)
      return b
    }
    =>
    graph g(x: f32[4,6]) {
      const b.starts: i64[2] = literal(1,2)
      const b.ends: i64[2] = literal(4,5)
      const b.axes: i64[2] = literal(0,1)
      b: f32[3,3] = slice(x, b.starts, b.ends, b.axes)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[4,6]) {
      const p: i64[4] = literal(1,2,0,3)
      const s: i64[2] = literal(0,4)
      const e: i64[2] = literal(5,7)
      a: f32[5,11] = pad(x, p)
      b: f32[5,3] = slice(a, s, e)
      return b
    }
    """,
    single_use=True,
)
def slice_inside_pad(
    x: Tensor,
    pads: Tensor,
    value: Tensor | None,
    at: Tensor | None,
    mode: str,
    starts: Tensor,
    ends: Tensor,
    axes: Tensor | None,
    steps: Tensor | None,
) -> Operand:
    """Remove a pad whose added border the following slice drops."""
    taken = cuts(x.rank, starts, ends, axes, steps)
    border = places(x.rank, pads, at)
    if taken is None or border is None:
        return Skip("the bounds or pads are computed at run time")
    moved: dict[int, Cut] = {}
    for axis in sorted(taken.keys() | border.keys()):
        begin, end = border.get(axis, (0, 0))
        cut = taken.get(axis, Cut(0, None, 1))
        size = x.shape[axis]
        if begin == end == 0:
            moved[axis] = cut
            continue
        if not isinstance(size, int):
            return Skip(f"axis {axis} is padded by {begin} and {end}, and its size {size} is open")
        picked = cut.of(size + begin + end)
        if not picked:
            return Skip(f"the slice of axis {axis} is empty")
        low, high = min(picked[0], picked[-1]), max(picked[0], picked[-1])
        if low < begin or high >= begin + size:
            return Skip(
                f"the slice selects {low} to {high} of axis {axis}; the operand fills {begin} to "
                f"{begin + size - 1}"
            )
        moved[axis] = Cut.from_range(
            range(picked.start - begin, picked.stop - begin, picked.step), size
        )
    return Because(sliced(x, moved), f"the slice drops the border; saves a copy of {x.type}")


SLICES: list[Rule] = [merge_slices, slice_inside_pad]
"""Rules for slices, in the order they are tried."""
