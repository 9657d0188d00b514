"""Rules that take out nodes which hand on what they were given."""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.identity(X),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = identity(x)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_identity(x: Tensor) -> Tensor:
    """An identity gives what it got.

    Left in, it would copy its operand through memory.
    """
    return x


@rule(
    o.cast(X, to=AnyAttr("to")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = cast(x, to=f32)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_cast_to_same(x: Tensor, to: object) -> Tensor | Skip:
    """A cast to the type that the elements already have does nothing."""
    return x if x.dtype is to else Skip(f"the elements change from {x.dtype} to {to}")


@rule(
    o.reshape(X, Any("shape"), allowzero=AnyAttr("allowzero")),
    example="""
    graph g(x: f32[2,3]) {
      const s: i64[2] = literal(2,-1)
      a: f32[2,3] = reshape(x, s)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    result="t",
)
def drop_reshape_to_same(x: Tensor, shape: Tensor, allowzero: bool, t: TensorType) -> Tensor | Skip:
    """A reshape to the shape that the tensor already has does nothing."""
    return _same_shape(x, t)


@rule(
    o.expand(X, Any("shape")),
    example="""
    graph g(x: f32[2,3]) {
      const s: i64[2] = literal(2,1)
      a: f32[2,3] = expand(x, s)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    result="t",
)
def drop_expand_to_same(x: Tensor, shape: Tensor, t: TensorType) -> Tensor | Skip:
    """Broadcasting to the shape that the tensor already has does nothing."""
    return _same_shape(x, t)


@rule(
    o.tile(X, Any("repeats")),
    example="""
    graph g(x: f32[2,3]) {
      const r: i64[2] = literal(1,1)
      a: f32[2,3] = tile(x, r)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    result="t",
)
def drop_tile_once(x: Tensor, repeats: Tensor, t: TensorType) -> Tensor | Skip:
    """Repeating a tensor once along every axis does nothing."""
    return _same_shape(x, t)


def _same_shape(x: Tensor, t: TensorType) -> Tensor | Skip:
    if t.shape is None:
        return Skip("two shapes of open rank may differ")
    return x if x.type.logical == t else Skip(f"the shape changes: {x.type} becomes {t}")


@rule(
    o.squeeze(X, axes=AnyAttr("axes")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = squeeze(x, axes=[])
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
    result="t",
)
def drop_squeeze_of_nothing(x: Tensor, axes: tuple[int, ...], t: TensorType) -> Tensor | Skip:
    """A squeeze that names no axis does nothing."""
    return _same_shape(x, t)


@rule(
    o.transpose(X, perm=AnyAttr("perm")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = transpose(x, perm=[0,1])
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_transpose_in_order(x: Tensor, perm: tuple[int, ...]) -> Tensor | Skip:
    """A transpose that keeps the axes in order does nothing."""
    if perm and list(perm) == sorted(perm):
        return x
    return Skip(f"the axes change places: {list(perm)}")


@rule(
    o.concat(X, axis=AnyAttr("axis")),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = concat(x, axis=1)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_concat_of_one(x: Tensor, axis: int) -> Tensor:
    """A concatenation of a single tensor gives that tensor."""
    return x


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
)
def drop_pad_by_nothing(
    x: Tensor, pads: ConstTensor, value: Tensor | None, axes: Tensor | None, mode: str
) -> Tensor | Skip:
    """Padding by 0 elements on every side does nothing."""
    amounts = pads.stored.array()
    if not amounts.any():
        return x
    return Skip(f"{int(np.count_nonzero(amounts))} sides are padded: {amounts.tolist()}")


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
    """A slice that takes every element in order does nothing."""
    if steps is not None:
        if steps.value is None or steps.value.dtype == np.object_:
            return Skip("its steps are computed at run time")
        if (steps.value < 1).any():
            return Skip("a negative step turns an axis round")
    return _same_shape(x, t)


@rule(
    o.add(X, 0),
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = add(x, zero)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_add_zero(x: Tensor) -> Tensor:
    """Adding 0 gives the same numbers.

    The one difference is the sign of a zero: -0 + 0 is +0, and stays -0 without the addition.
    """
    return x


@rule(
    o.sub(X, 0),
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      a: f32[2,3] = sub(x, zero)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_subtract_zero(x: Tensor) -> Tensor:
    """Subtracting 0 gives the same numbers."""
    return x


@rule(
    o.mul(X, 1),
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[3] = splat(1.0)
      a: f32[2,3] = mul(x, one)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_multiply_by_one(x: Tensor) -> Tensor:
    """Multiplying by 1 gives the same numbers."""
    return x


@rule(
    o.div(X, 1),
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = div(x, one)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_divide_by_one(x: Tensor) -> Tensor:
    """Dividing by 1 gives the same numbers."""
    return x


@rule(
    o.pow(X, 1),
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = pow(x, one)
      b: f32[2,3] = relu(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      return b
    }
    """,
)
def drop_power_one(x: Tensor) -> Tensor:
    """The first power of a number is that number."""
    return x


@rule(
    o.mul(X, 0),
    example="""
    graph g(x: i32[2,3], y: i32[3]) {
      const zero: i32[] = literal(0)
      a: i32[2,3] = mul(x, zero)
      b: i32[2,3] = add(a, y)
      return b
    }
    =>
    graph g(x: i32[2,3], y: i32[3]) {
      const a: i32[2,3] = splat(0)
      b: i32[2,3] = add(a, y)
      return b
    }
    """,
    result="t",
)
def multiply_by_zero(x: Tensor, t: TensorType) -> Constant | Skip:
    """Whole numbers times 0 are 0.

    Not so for floating point numbers: infinity times 0 and NaN times 0 are NaN.
    """
    if not t.dtype.is_integer:
        return Skip(f"NaN times 0 and infinity times 0 are NaN, so {t} * 0 is not always 0")
    if not t.is_static:
        return Skip(f"the shape of {t} is open, so there is no constant of that shape")
    return Constant.splat(0, t)


NOOPS: list[Rule] = [
    drop_identity,
    drop_cast_to_same,
    drop_reshape_to_same,
    drop_expand_to_same,
    drop_tile_once,
    drop_squeeze_of_nothing,
    drop_transpose_in_order,
    drop_concat_of_one,
    drop_pad_by_nothing,
    drop_slice_of_all,
    drop_add_zero,
    drop_subtract_zero,
    drop_multiply_by_one,
    drop_divide_by_one,
    drop_power_one,
    multiply_by_zero,
]
"""Rules of `remove_noops`, in the order in which they are tried."""
