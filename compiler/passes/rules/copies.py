"""Rules that remove data movement whose result equals its operand."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o
from compiler.passes.rules.noops import other_shape

X = Any("x")


drop_concat_of_one = folds_to_operand(
    "drop_concat_of_one",
    o.concat(X, axis=AnyAttr("axis")),
    "Remove a concatenation of a single tensor.",
    example=Example(["a: f32[2,3] = concat(x, axis=1)"]),
    near_miss=Example(["a: f32[2,3] = concat(x, y, axis=1)"], inputs="x: f32[2,3], y: f32[2,0]"),
)


@rule(
    o.pad(
        X,
        Const("pads"),
        Any("value", optional=True),
        Any("axes", optional=True),
        mode=AnyAttr("mode"),
    ),
    example="""
    graph g(x: f32[2,3]) {
      const p: i64[4] = literal(0,0,0,0)
      a: f32[2,3] = pad(x, p)
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
      const p: i64[4] = literal(0,1,0,-1)
      a: f32[2,3] = pad(x, p)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
)
def drop_pad_by_nothing(
    x: Tensor, pads: ConstTensor, value: Tensor | None, axes: Tensor | None, mode: str
) -> Tensor | Skip:
    """Remove a pad of 0 elements on every side."""
    amounts = pads.stored.array()
    if not amounts.any():
        return x
    return Skip(f"the pads are not all 0: {amounts.tolist()}")


@rule(
    o.slice(X, Any("starts"), Any("ends"), Any("axes", optional=True), Any("steps", optional=True)),
    example="""
    graph g(x: f32[2,3]) {
      const from: i64[1] = literal(0)
      const to: i64[1] = literal(9)
      const at: i64[1] = literal(1)
      a: f32[2,3] = slice(x, from, to, at)
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
      const from: i64[1] = literal(-1)
      const to: i64[1] = literal(-9)
      const at: i64[1] = literal(1)
      const by: i64[1] = literal(-1)
      a: f32[2,3] = slice(x, from, to, at, by)
      b: f32[2,3] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_slice_of_all(
    x: Tensor,
    starts: Tensor,
    ends: Tensor,
    axes: Tensor | None,
    steps: Tensor | None,
    t: TensorType,
) -> Tensor | Skip:
    """Remove a slice that takes every element in order."""
    if steps is not None:
        if steps.value is None or steps.value.dtype == np.object_:
            return Skip("the steps of the slice are computed at run time")
        if (steps.value < 1).any():
            return Skip("a negative step reverses an axis")
    return other_shape(x, t) or x


@rule(
    o.split(X, axis=AnyAttr("axis"), sizes=AnyAttr("sizes")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = split(x, axis=1, sizes=[3])
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
      a: f32[2,1], r: f32[2,2] = split(x, axis=1, sizes=[1,2])
      b: f32[2,1] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_split_into_one(
    x: Tensor, axis: int, sizes: tuple[int, ...], t: TensorType
) -> Tensor | Skip:
    """Remove a split with a single output."""
    if len(sizes) > 1:
        return Skip(f"the split has {len(sizes)} outputs")
    return other_shape(x, t) or x


@rule(
    o.resize(
        X,
        Any("scales", optional=True),
        Any("sizes", optional=True),
        axes=AnyAttr("axes"),
        mode=AnyAttr("mode"),
        coordinates=AnyAttr("coordinates"),
        nearest=AnyAttr("nearest"),
    ),
    example="""
    graph g(x: f32[1,2,3,5]) {
      const by: f32[2] = literal(1.0,1.0)
      a: f32[1,2,3,5] = resize(x, by, axes=[2,3], coordinates="asymmetric")
      b: f32[1,2,3,5] = relu(a)
      return b
    }
    =>
    graph g(x: f32[1,2,3,5]) {
      b: f32[1,2,3,5] = relu(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3,5]) {
      const by: f32[2] = literal(1.25,1.125)
      a: f32[1,2,3,5] = resize(x, by, axes=[2,3], coordinates="asymmetric", nearest="floor")
      b: f32[1,2,3,5] = relu(a)
      return b
    }
    """,
    result="t",
)
def drop_resize_to_same(
    x: Tensor,
    scales: Tensor | None,
    sizes: Tensor | None,
    axes: tuple[int, ...],
    mode: str,
    coordinates: str,
    nearest: str,
    t: TensorType,
) -> Tensor | Skip:
    """Remove a resize by a factor of 1.

    Equal sizes do not suffice: 5 pixels scaled by 1.125 are 5 pixels at other positions.
    """
    if coordinates not in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        return Skip(f"the coordinate transformation {coordinates} may move every pixel")
    if scales is not None:
        if scales.value is None or scales.value.dtype == np.object_:
            return Skip("the scale factors are computed at run time")
        if (scales.value != 1).any():
            return Skip(f"the scale factors are {scales.value.tolist()}")
    return other_shape(x, t) or x


COPIES_OF_ALL: list[Rule] = [
    drop_concat_of_one,
    drop_pad_by_nothing,
    drop_slice_of_all,
    drop_split_into_one,
    drop_resize_to_same,
]
"""Rules of `remove_noops` for data movement, in the order they are tried."""
