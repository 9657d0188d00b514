"""Rules that recognise rotary position embeddings."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, Named, OneOf
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")
_SECOND = o.neg(
    o.slice(X, Any("from2"), Any("to2"), Any("along2"), Any("step2", optional=True)),
)
_FIRST = o.slice(X, Any("from1"), Any("to1"), Any("along1"), Any("step1", optional=True))
_HALVES = o.concat(_SECOND, _FIRST, axis=AnyAttr("axis"))
_NEIGHBOURS = o.reshape(
    o.concat(
        o.unsqueeze(_SECOND, axes=AnyAttr("new")),
        o.unsqueeze(_FIRST, axes=AnyAttr("new")),
        axis=AnyAttr("axis"),
    ),
    Any("shape"),
)


def _places(
    x: Tensor, start: Tensor, end: Tensor, along: Tensor, step: Tensor | None
) -> list[int] | None:
    """Return the positions of the last axis that a slice selects, or None if they are unknown."""
    size = x.shape[-1]
    known = [t.value for t in (start, end, along, step) if t is not None]
    if not isinstance(size, int) or any(v is None or v.size != 1 for v in known):
        return None
    numbers = [int(v.reshape(-1)[0]) for v in known if v is not None and v.dtype != object]
    if len(numbers) < len(known) or numbers[2] % x.rank != x.rank - 1:
        return None
    return list(range(size))[numbers[0] : numbers[1] : numbers[3] if step is not None else 1]


@rule(
    OneOf(
        o.add(o.mul(X, Any("cos")), o.mul(Named("halves", _HALVES), Any("sin"))),
        o.add(o.mul(X, Any("cos")), o.mul(Named("neighbours", _NEIGHBOURS), Any("sin"))),
    ),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,4], c: f32[3,4], s: f32[3,4]) {
      const zero: i64[1] = literal(0)
      const two: i64[1] = literal(2)
      const most: i64[1] = literal(9223372036854775807)
      a: f32[2,3,2] = slice(x, two, most, two)
      b: f32[2,3,2] = slice(x, zero, two, two)
      n: f32[2,3,2] = neg(a)
      r: f32[2,3,4] = concat(n, b, axis=-1)
      p: f32[2,3,4] = mul(x, c)
      q: f32[2,3,4] = mul(r, s)
      y: f32[2,3,4] = add(p, q)
      return y
    }
    =>
    graph g(x: f32[2,3,4], c: f32[3,4], s: f32[3,4]) {
      y: f32[2,3,4] = rotary(x, c, s, interleaved=false)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4], c: f32[3,4], s: f32[3,4]) {
      const zero: i64[1] = literal(0)
      const two: i64[1] = literal(2)
      const most: i64[1] = literal(9223372036854775807)
      a: f32[2,3,2] = slice(x, zero, two, two)
      b: f32[2,3,2] = slice(x, two, most, two)
      n: f32[2,3,2] = neg(a)
      r: f32[2,3,4] = concat(n, b, axis=-1)
      p: f32[2,3,4] = mul(x, c)
      q: f32[2,3,4] = mul(r, s)
      y: f32[2,3,4] = add(p, q)
      return y
    }
    """,
)
def rotary_written_out(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    halves: Tensor | None,
    neighbours: Tensor | None,
    axis: int,
    from1: Tensor,
    to1: Tensor,
    along1: Tensor,
    step1: Tensor | None,
    from2: Tensor,
    to2: Tensor,
    along2: Tensor,
    step2: Tensor | None,
    t: TensorType,
    **_: object,
) -> Operand:
    """Recognise `x*cos + (-second, first)*sin` as a rotary position embedding.

    The slices, the negation and the concatenation make four more passes over memory.
    """
    turned = halves or neighbours
    assert turned is not None, "one of the two forms is bound"
    if not x.dtype.is_float:
        return Skip(f"a rotary embedding is not defined for {x.dtype}")
    if x.type.shape is None or x.rank < 1 or turned.type.logical != x.type.logical:
        return Skip(f"the types differ: {turned.name} is {turned.type}, {x.name} is {x.type}")
    last = x.rank if neighbours is not None else x.rank - 1
    if axis not in (-1, last):
        return Skip(f"the parts are concatenated along axis {axis}, not the last of {x.type}")
    first = _places(x, from1, to1, along1, step1)
    second = _places(x, from2, to2, along2, step2)
    every = list(range(len(first) * 2)) if first is not None else []
    if neighbours is not None:
        fits = first == every[::2] and second == every[1::2]
    else:
        fits = first == every[: len(every) // 2] and second == every[len(every) // 2 :]
    if not fits or not every:
        return Skip(f"the positions {first} and {second} of the last axis do not form pairs")
    return o.rotary(x, cos, sin, interleaved=neighbours is not None)


ROTARY: list[Rule] = [rotary_written_out]
"""Rules for rotary position embeddings."""
