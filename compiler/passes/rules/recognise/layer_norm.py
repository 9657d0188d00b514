"""Rules that recognise layer and root mean square normalisation, with scales and shifts."""

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
    """Return the pattern of the mean of squares of x, as one shared node or a node for each use."""
    return o.reduce_mean(OneOf(o.mul(x, x), o.pow(x, 2)), axes=_AXES)


def _inverse_root(square: Pattern) -> Pattern:
    """Return the pattern 1/sqrt(square + epsilon)."""
    widened = o.add(square, Number("epsilon"))
    root = OneOf(o.sqrt(widened), o.pow(widened, 0.5))
    return OneOf(o.reciprocal(root), o.div(1, root), o.pow(widened, -0.5))


def _over_root(value: Pattern, square: Pattern) -> OneOf:
    """Return the pattern value/sqrt(square + epsilon), with an optional scale."""
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
    """Return the pattern x*f + (shift - mean*f), with an optional shift."""
    return OneOf(
        o.add(o.mul(X, factor), o.sub(SHIFT, o.mul(_MEAN, factor))),
        o.sub(o.mul(X, factor), o.mul(_MEAN, factor)),
    )


def first_of_trailing(axes: tuple[int, ...], rank: int) -> int | None:
    """Return the first of these axes if they are the last axes of the tensor, else None."""
    return (
        rank - len(axes) if axes and tuple(axes) == tuple(range(rank - len(axes), rank)) else None
    )


def is_per_element(p: Tensor, x: Tensor, axis: int) -> bool:
    """Whether a scale or shift varies only along the normalised axes."""
    if p.type.shape is None or x.type.shape is None:
        return False
    outer = p.rank - (x.rank - axis % x.rank)
    return all(d == 1 for d in p.shape[: max(outer, 0)])


def _misfit(
    x: Tensor, axes: tuple[int, ...], epsilon: float, t: TensorType, *parameters: Tensor | None
) -> str:
    """Return the reason that the operator does not compute these statistics, or ""."""
    if x.type.shape is None or t != x.type.logical:
        return f"the result is {t}, but the operand is {x.type}"
    if first_of_trailing(axes, x.rank) is None:
        return f"the axes {list(axes)} of the statistics are not the last of {x.rank} axes"
    if not x.dtype.is_float:
        return f"the normalised elements are {x.dtype}, not floats"
    if epsilon < 0:
        return f"epsilon is negative: {epsilon:g}"
    for p in parameters:
        if p is not None and not is_per_element(p, x, x.rank - len(axes)):
            return f"{p.type} needs one element per normalised element of {x.type}"
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
    """Recognise `(x - mean) / sqrt(variance + epsilon)` as layer normalisation.

    The primitives make five passes over memory. The operator reads a row from memory once, and then
    from the cache.
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
    """Recognise `x*f + (shift - mean*f)`, f = scale/sqrt(variance), as layer normalisation (Keras).

    The operator subtracts the mean first, which loses fewer digits for a large mean.
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
    """Recognise division by the root mean square as RMS normalisation."""
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
"""Rules for layer and RMS normalisation, in the order they are tried."""
