"""Rules that recognise layer and root mean square normalisation, with their scales and shifts."""

from __future__ import annotations

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import (
    Any,
    AnyAttr,
    Number,
    OneOf,
    Pattern,
)
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import scalar
from compiler.passes.rules.calls import o

X, SCALE, SHIFT = Any("x"), Any("scale"), Any("shift")
_AXES = AnyAttr("axes")
_MEAN = o.reduce_mean(X, axes=_AXES)
_CENTRED = o.sub(X, _MEAN)


def _mean_square(x: Pattern) -> Pattern:
    """The mean of the squares of x, which may be computed once or for each use."""
    return o.reduce_mean(OneOf(o.mul(x, x), o.pow(x, 2)), axes=_AXES)


def _inverse_root(square: Pattern) -> Pattern:
    """1/sqrt(square + epsilon)."""
    widened = o.add(square, Number("epsilon"))
    root = OneOf(o.sqrt(widened), o.pow(widened, 0.5))
    return OneOf(o.reciprocal(root), o.div(1, root), o.pow(widened, -0.5))


def _over_root(value: Pattern, square: Pattern) -> OneOf:
    """value/sqrt(square + epsilon), perhaps times a scale somewhere on the way."""
    widened = o.add(square, Number("epsilon"))
    root = OneOf(o.sqrt(widened), o.pow(widened, 0.5))
    inverse = _inverse_root(square)
    return OneOf(
        o.div(value, root),
        o.mul(value, inverse),
        o.mul(value, o.mul(inverse, SCALE)),
        o.div(o.mul(value, SCALE), root),
        o.mul(o.mul(value, SCALE), inverse),
    )


_VARIANCE = _mean_square(_CENTRED)


def _by(factor: Pattern) -> OneOf:
    """x*f + (shift - mean*f), with or without a shift."""
    return OneOf(
        o.add(o.mul(X, factor), o.sub(SHIFT, o.mul(_MEAN, factor))),
        o.sub(o.mul(X, factor), o.mul(_MEAN, factor)),
    )


def first_of_trailing(axes: tuple[int, ...], rank: int) -> int | None:
    """Where the last axes of a tensor begin; None when these are others."""
    return (
        rank - len(axes) if axes and tuple(axes) == tuple(range(rank - len(axes), rank)) else None
    )


def is_per_element(p: Tensor, x: Tensor, axis: int) -> bool:
    """Whether a scale or shift depends on the normalised axes alone."""
    if p.type.shape is None:
        return False
    outer = p.rank - (x.rank - axis % x.rank)
    return all(d == 1 for d in p.shape[: max(outer, 0)])


def _misfit(
    x: Tensor, axes: tuple[int, ...], epsilon: float, t: TensorType, *parameters: Tensor | None
) -> str:
    """Why statistics along these axes are no normalisation; empty when they are."""
    if x.type.shape is None or t != x.type.logical:
        return f"it makes {t} of {x.type}"
    if first_of_trailing(axes, x.rank) is None:
        return f"the statistics run along axes {list(axes)}, not along the last of {x.rank}"
    if not x.dtype.is_float or epsilon < 0:
        return f"epsilon is {epsilon:g} and the elements are {x.dtype}"
    for p in parameters:
        if p is not None and not is_per_element(p, x, x.rank - len(axes)):
            return f"{p.type} is not one number per normalised element of {x.type}"
    return ""


def _one(x: Tensor) -> Constant:
    return scalar(1.0, x.dtype)


@rule(
    _over_root(_CENTRED, _VARIANCE),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,5]) {
      const two: f32[] = literal(2.0)
      const eps: f32[] = literal(0.25)
      m: f32[2,1,1] = reduce_mean(x, axes=[1,2])
      c: f32[2,3,5] = sub(x, m)
      s: f32[2,3,5] = pow(c, two)
      v: f32[2,1,1] = reduce_mean(s, axes=[1,2])
      e: f32[2,1,1] = add(v, eps)
      r: f32[2,1,1] = sqrt(e)
      y: f32[2,3,5] = div(c, r)
      return y
    }
    =>
    graph g(x: f32[2,3,5]) {
      const y.scale: f32[] = literal(1.0)
      y: f32[2,3,5] = layer_norm(x, y.scale, axis=1, epsilon=0.25)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5]) {
      const eps: f32[] = literal(0.25)
      m: f32[2,3,1] = reduce_mean(x, axes=[2])
      c: f32[2,3,5] = sub(x, m)
      s: f32[2,3,5] = mul(c, c)
      v: f32[2,3,1] = reduce_mean(s, axes=[2])
      r: f32[2,3,1] = sqrt(v)
      e: f32[2,3,1] = add(r, eps)
      y: f32[2,3,5] = div(c, e)
      return y
    }
    """,
)
def layer_norm_written_out(
    x: Tensor, axes: tuple[int, ...], epsilon: float, scale: Tensor | None, t: TensorType
) -> Operand:
    """Taking off the mean and dividing by the root of the variance is layer normalisation.

    Written out it passes over memory five times; the operator reads a row once and keeps it near.
    """
    reason = _misfit(x, axes, epsilon, t, scale)
    if reason:
        return Skip(reason)
    axis = first_of_trailing(axes, x.rank)
    return o.layer_norm(x, _one(x) if scale is None else scale, axis=axis, epsilon=float(epsilon))


@rule(
    OneOf(_by(o.mul(_inverse_root(_VARIANCE), SCALE)), _by(_inverse_root(_VARIANCE))),
    result="t",
    single_use=True,
    error=1e-5,
    example="""
    graph g(x: f32[2,5], s: f32[5], b: f32[5]) {
      const eps: f32[] = literal(0.25)
      m: f32[2,1] = reduce_mean(x, axes=[1])
      c: f32[2,5] = sub(x, m)
      q: f32[2,5] = mul(c, c)
      v: f32[2,1] = reduce_mean(q, axes=[1])
      e: f32[2,1] = add(v, eps)
      r: f32[2,1] = sqrt(e)
      i: f32[2,1] = reciprocal(r)
      f: f32[2,5] = mul(i, s)
      p: f32[2,5] = mul(x, f)
      d: f32[2,5] = mul(m, f)
      h: f32[2,5] = sub(b, d)
      y: f32[2,5] = add(p, h)
      return y
    }
    =>
    graph g(x: f32[2,5], s: f32[5], b: f32[5]) {
      y: f32[2,5] = layer_norm(x, s, b, axis=1, epsilon=0.25)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,5], s: f32[5], b: f32[5]) {
      const eps: f32[] = literal(0.25)
      m: f32[2,1] = reduce_mean(x, axes=[1])
      c: f32[2,5] = sub(x, m)
      q: f32[2,5] = mul(c, c)
      v: f32[2,1] = reduce_mean(q, axes=[1])
      e: f32[2,1] = add(v, eps)
      r: f32[2,1] = sqrt(e)
      i: f32[2,1] = reciprocal(r)
      f: f32[2,5] = mul(i, s)
      p: f32[2,5] = mul(x, f)
      d: f32[2,1] = mul(m, i)
      h: f32[2,5] = sub(b, d)
      y: f32[2,5] = add(p, h)
      return y
    }
    """,
)
def layer_norm_by_factor(
    x: Tensor,
    axes: tuple[int, ...],
    epsilon: float,
    scale: Tensor | None,
    shift: Tensor | None,
    t: TensorType,
) -> Operand:
    """x*f + (shift - mean*f) with f = scale/sqrt(variance) is layer normalisation, as Keras has it.

    The operator takes the mean off first, which loses fewer digits where it is large.
    """
    reason = _misfit(x, axes, epsilon, t, scale, shift)
    if reason:
        return Skip(reason)
    axis = first_of_trailing(axes, x.rank)
    factor = _one(x) if scale is None else scale
    return o.layer_norm(x, factor, shift, axis=axis, epsilon=float(epsilon))


@rule(
    _over_root(X, _mean_square(X)),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,5]) {
      const eps: f32[] = literal(0.25)
      s: f32[2,3,5] = mul(x, x)
      v: f32[2,3,1] = reduce_mean(s, axes=[2])
      e: f32[2,3,1] = add(v, eps)
      r: f32[2,3,1] = sqrt(e)
      i: f32[2,3,1] = reciprocal(r)
      y: f32[2,3,5] = mul(x, i)
      return y
    }
    =>
    graph g(x: f32[2,3,5]) {
      const y.scale: f32[] = literal(1.0)
      y: f32[2,3,5] = rms_norm(x, y.scale, axis=2, epsilon=0.25)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5]) {
      const eps: f32[] = literal(0.25)
      s: f32[2,3,5] = mul(x, x)
      v: f32[2,1,5] = reduce_mean(s, axes=[1])
      e: f32[2,1,5] = add(v, eps)
      r: f32[2,1,5] = sqrt(e)
      i: f32[2,1,5] = reciprocal(r)
      y: f32[2,3,5] = mul(x, i)
      return y
    }
    """,
)
def rms_norm_written_out(
    x: Tensor, axes: tuple[int, ...], epsilon: float, scale: Tensor | None, t: TensorType
) -> Operand:
    """Dividing by the root of the mean square is root mean square normalisation."""
    reason = _misfit(x, axes, epsilon, t, scale)
    if reason:
        return Skip(reason)
    axis = first_of_trailing(axes, x.rank)
    return o.rms_norm(x, _one(x) if scale is None else scale, axis=axis, epsilon=float(epsilon))


LAYER_NORM: list[Rule] = [
    layer_norm_by_factor,
    layer_norm_written_out,
    rms_norm_written_out,
]
"""Rules for layer and root mean square normalisation, in the order in which they are tried."""
