"""Rules that fold a following scale and shift into a normalisation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.ir.operator import Call, Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor, OneOf, uniform
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, objection_to
from compiler.passes.rules.calls import o
from compiler.passes.rules.recognise.layer_norm import is_per_element

X, SCALE, SHIFT = Any("x"), Any("scale"), Any("shift")
_ATTRS = {"axis": AnyAttr("axis"), "epsilon": AnyAttr("epsilon")}


def _scaled(
    x: Tensor, old: ConstTensor, scale: Tensor, axis: int, t: TensorType, make: Callable[..., Call]
) -> Operand:
    if t != x.type.logical or not is_per_element(scale, x, axis):
        return Skip(f"the scale {scale.type} needs one element per normalised element of {x.type}")
    if isinstance(scale, ConstTensor):
        both = combined(np.multiply, old.stored, scale.stored)
        objection = objection_to(both, old.stored, scale.stored)
        return Skip(objection) if objection else make(both)
    if uniform(old.stored) != 1:
        return Skip(f"{scale.name} is not constant, so it cannot merge with the scale {old.name}")
    return make(scale)


@rule(
    o.mul(o.layer_norm(X, Const("old"), **_ATTRS), OneOf(Const("scale"), SCALE)),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,5], s: f32[3,5]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3,5] = layer_norm(x, one, axis=1)
      b: f32[2,3,5] = mul(s, a)
      return b
    }
    =>
    graph g(x: f32[2,3,5], s: f32[3,5]) {
      b: f32[2,3,5] = layer_norm(x, s, axis=1)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5], s: f32[3,1]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3,5] = layer_norm(x, one, axis=2)
      b: f32[2,3,5] = mul(s, a)
      return b
    }
    """,
)
def scale_into_layer_norm(
    x: Tensor, old: ConstTensor, scale: Tensor, axis: int, epsilon: float, t: TensorType
) -> Operand:
    """Fold a scale into the layer normalisation before it."""
    return _scaled(x, old, scale, axis, t, lambda s: o.layer_norm(x, s, axis=axis, epsilon=epsilon))


@rule(
    o.mul(o.rms_norm(X, Const("old"), **_ATTRS), OneOf(Const("scale"), SCALE)),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,5]) {
      const old: f32[5] = literal(1.0,2.0,0.5,4.0,1.0)
      const new: f32[5] = literal(3.0,1.0,2.0,0.25,-1.0)
      a: f32[2,5] = rms_norm(x, old, axis=1)
      b: f32[2,5] = mul(a, new)
      return b
    }
    =>
    graph g(x: f32[2,5]) {
      const b.scale: f32[5] = literal(3.0,2.0,1.0,1.0,-1.0)
      b: f32[2,5] = rms_norm(x, b.scale, axis=1)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,5], s: f32[2,1]) {
      const one: f32[] = literal(1.0)
      a: f32[2,5] = rms_norm(x, one, axis=1)
      b: f32[2,5] = mul(a, s)
      return b
    }
    """,
)
def scale_into_rms_norm(
    x: Tensor, old: ConstTensor, scale: Tensor, axis: int, epsilon: float, t: TensorType
) -> Operand:
    """Fold a scale into the RMS normalisation before it."""
    return _scaled(x, old, scale, axis, t, lambda s: o.rms_norm(x, s, axis=axis, epsilon=epsilon))


@rule(
    OneOf(
        o.add(o.layer_norm(X, SCALE, Const("old"), **_ATTRS), Const("more")),
        o.add(o.layer_norm(X, SCALE, **_ATTRS), SHIFT),
    ),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,5], s: f32[3,1], b: f32[3,5]) {
      a: f32[2,3,5] = layer_norm(x, s, axis=1, epsilon=0.25)
      y: f32[2,3,5] = add(b, a)
      return y
    }
    =>
    graph g(x: f32[2,3,5], s: f32[3,1], b: f32[3,5]) {
      y: f32[2,3,5] = layer_norm(x, s, b, axis=1, epsilon=0.25)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5], s: f32[5], b: f32[2,3,5]) {
      a: f32[2,3,5] = layer_norm(x, s, axis=2, epsilon=0.25)
      y: f32[2,3,5] = add(b, a)
      return y
    }
    """,
)
def shift_into_layer_norm(
    x: Tensor,
    scale: Tensor,
    shift: Tensor | None,
    old: ConstTensor | None,
    more: ConstTensor | None,
    axis: int,
    epsilon: float,
    t: TensorType,
) -> Operand:
    """Fold a shift into the layer normalisation before it."""
    added = shift or more
    assert added is not None, "one of the two is added"
    if t != x.type.logical or not is_per_element(added, x, axis):
        return Skip(f"the shift {added.type} needs one element per normalised element of {x.type}")
    if old is not None and more is not None:
        both = combined(np.add, old.stored, more.stored)
        if objection := objection_to(both, old.stored, more.stored):
            return Skip(objection)
        return Because(
            o.layer_norm(x, scale, both, axis=axis, epsilon=epsilon),
            f"the shifts {old.name} and {more.name} become one shift, {both.type}",
        )
    return o.layer_norm(x, scale, added, axis=axis, epsilon=epsilon)


NORM_PARAMETERS: list[Rule] = [scale_into_layer_norm, scale_into_rms_norm, shift_into_layer_norm]
"""Rules for scales and shifts of normalisations, in the order they are tried."""
