"""Rules that recognise group normalisation, which exporters write with instance normalisation."""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, reshaped
from compiler.passes.rules.calls import o

X = Any("x")
_SCALE, _BIAS = Const("scale"), Const("bias")
_GROUPED = {"groups": AnyAttr("groups"), "epsilon": AnyAttr("epsilon")}


@rule(
    o.reshape(
        o.instance_norm(
            o.reshape(X, Any("split")), Const("scale"), Const("bias"), epsilon=AnyAttr("epsilon")
        ),
        Any("joined"),
        allowzero=AnyAttr("allowzero"),
    ),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,6,5,7]) {
      const split: i64[3] = literal(0,3,-1)
      const joined: i64[4] = literal(2,6,5,7)
      const s: f32[3] = literal(1.0,2.0,0.5)
      const b: f32[3] = literal(0.0,-1.0,0.25)
      a: f32[2,3,70] = reshape(x, split)
      n: f32[2,3,70] = instance_norm(a, s, b, epsilon=0.25)
      y: f32[2,6,5,7] = reshape(n, joined)
      return y
    }
    =>
    graph g(x: f32[2,6,5,7]) {
      const y.scale: f32[6] = literal(1.0,1.0,2.0,2.0,0.5,0.5)
      const y.bias: f32[6] = literal(0.0,0.0,-1.0,-1.0,0.25,0.25)
      y: f32[2,6,5,7] = group_norm(x, y.scale, y.bias, groups=3, epsilon=0.25)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,6,5,7]) {
      const split: i64[3] = literal(4,3,-1)
      const joined: i64[4] = literal(2,6,5,7)
      const s: f32[3] = splat(1.0)
      const b: f32[3] = splat(0.0)
      a: f32[4,3,35] = reshape(x, split)
      n: f32[4,3,35] = instance_norm(a, s, b, epsilon=0.25)
      y: f32[2,6,5,7] = reshape(n, joined)
      return y
    }
    """,
)
def group_norm_of_instance_norm(
    x: Tensor,
    split: Tensor,
    scale: ConstTensor,
    bias: ConstTensor,
    epsilon: float,
    joined: Tensor,
    allowzero: bool,
    t: TensorType,
) -> Operand:
    """Recognise instance normalisation of channel groups as group normalisation.

    PyTorch's exporters write group normalisation as instance normalisation for opsets before 18.
    """
    if x.type.shape is None or t != x.type.logical or x.rank < 2:
        return Skip(f"the result is reshaped to {t} instead of {x.type}")
    groups, channels = scale.shape[0], x.shape[1]
    if not isinstance(channels, int) or not isinstance(groups, int) or channels % groups:
        return Skip(f"{channels} channels do not divide into {groups} groups")
    first = None if split.value is None or split.value.size < 3 else split.value[0]
    if first is None or not (first == 0 or first == x.shape[0]):
        return Skip(f"the first axis becomes {first}, not the {x.shape[0]} images of {x.type}")
    each = channels // groups
    return o.group_norm(
        x, _repeated(scale, each), _repeated(bias, each), groups=groups, epsilon=epsilon
    )


def _repeated(c: ConstTensor, times: int) -> Constant:
    """Repeat each element of a constant the given number of times."""
    return c.stored if times == 1 else Constant.of(np.repeat(c.stored.array(), times))


def _per_channel(c: ConstTensor, x: Tensor, t: TensorType) -> Constant | Skip:
    """Return a constant of shape [C, 1, ...], or a single element, as a vector of channels of x."""
    channels = x.shape[1] if x.type.shape is not None else None
    shape = c.type.static_shape
    axis = len(shape) - (x.rank - 1) if channels is not None else -1
    is_column = 0 <= axis <= 1 and shape[axis] == channels == c.type.n_elements
    if t != x.type.logical or not isinstance(channels, int):
        return Skip(f"the result is {t}, but the operand is {x.type}")
    if is_column:
        return reshaped(c.stored, [channels])
    if c.type.n_elements == 1:
        return Constant.of(np.broadcast_to(c.stored.array().reshape(-1), [channels]))
    return Skip(f"{c.type} does not have one element per channel of {x.type}")


@rule(
    o.mul(o.group_norm(X, _SCALE, _BIAS, **_GROUPED), Const("factor")),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,4,3,5]) {
      const s: f32[4] = literal(1.0,2.0,0.5,1.0)
      const b: f32[4] = literal(0.0,1.0,0.0,-1.0)
      const w: f32[4,1,1] = literal(2.0,0.5,4.0,-1.0)
      n: f32[2,4,3,5] = group_norm(x, s, b, groups=2)
      y: f32[2,4,3,5] = mul(n, w)
      return y
    }
    =>
    graph g(x: f32[2,4,3,5]) {
      const y.scale: f32[4] = literal(2.0,1.0,2.0,-1.0)
      const y.bias: f32[4] = literal(0.0,0.5,0.0,1.0)
      y: f32[2,4,3,5] = group_norm(x, y.scale, y.bias, groups=2)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,4,3,5]) {
      const s: f32[4] = literal(1.0,2.0,0.5,1.0)
      const b: f32[4] = literal(0.0,1.0,0.0,-1.0)
      const w: f32[5] = literal(2.0,0.5,4.0,-1.0,3.0)
      n: f32[2,4,3,5] = group_norm(x, s, b, groups=2)
      y: f32[2,4,3,5] = mul(n, w)
      return y
    }
    """,
)
def scale_into_group_norm(
    x: Tensor,
    scale: ConstTensor,
    bias: ConstTensor,
    groups: int,
    epsilon: float,
    factor: ConstTensor,
    t: TensorType,
) -> Operand:
    """Fold a per-channel scale into the group normalisation before it."""
    column = _per_channel(factor, x, t)
    if isinstance(column, Skip):
        return column
    new = [combined(np.multiply, c.stored, column) for c in (scale, bias)]
    return o.group_norm(x, *new, groups=groups, epsilon=epsilon)


@rule(
    o.add(o.group_norm(X, _SCALE, _BIAS, **_GROUPED), Const("shift")),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,4,3,5]) {
      const s: f32[4] = literal(1.0,2.0,0.5,1.0)
      const b: f32[4] = literal(0.0,1.0,0.0,-1.0)
      const w: f32[4,1,1] = literal(2.0,0.5,4.0,-1.0)
      n: f32[2,4,3,5] = group_norm(x, s, b, groups=2)
      y: f32[2,4,3,5] = add(n, w)
      return y
    }
    =>
    graph g(x: f32[2,4,3,5]) {
      const s: f32[4] = literal(1.0,2.0,0.5,1.0)
      const y.bias: f32[4] = literal(2.0,1.5,4.0,-2.0)
      y: f32[2,4,3,5] = group_norm(x, s, y.bias, groups=2)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,4,4,5]) {
      const s: f32[4] = literal(1.0,2.0,0.5,1.0)
      const b: f32[4] = literal(0.0,1.0,0.0,-1.0)
      const w: f32[4,1] = literal(2.0,0.5,4.0,-1.0)
      n: f32[2,4,4,5] = group_norm(x, s, b, groups=2)
      y: f32[2,4,4,5] = add(n, w)
      return y
    }
    """,
)
def shift_into_group_norm(
    x: Tensor,
    scale: ConstTensor,
    bias: ConstTensor,
    groups: int,
    epsilon: float,
    shift: ConstTensor,
    t: TensorType,
) -> Operand:
    """Fold a per-channel shift into the group normalisation before it."""
    column = _per_channel(shift, x, t)
    if isinstance(column, Skip):
        return column
    new = combined(np.add, bias.stored, column)
    return o.group_norm(x, scale, new, groups=groups, epsilon=epsilon)


GROUP_NORM: list[Rule] = [
    group_norm_of_instance_norm,
    scale_into_group_norm,
    shift_into_group_norm,
]
"""Rules for group normalisation, in the order they are tried."""
