"""Rules that recognise softmax and its logarithm."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, OneOf
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")
_AXES = AnyAttr("axes")
_BELOW_TOP = o.sub(X, o.reduce_max(X, axes=_AXES))
_EXP = o.exp(_BELOW_TOP)
_TOTAL = o.reduce_sum(_EXP, axes=_AXES)


def _along(x: Tensor, axes: tuple[int, ...], t: TensorType) -> str:
    """Return the reason that the primitives are not a softmax along one axis, or ""."""
    if x.type.shape is None or t != x.type.logical:
        return f"the result is {t}, but the operand is {x.type}"
    if len(axes) != 1:
        return f"the sum is along {len(axes)} axes, {list(axes)}, but a softmax has one"
    return "" if x.dtype.is_float else f"softmax is not defined for {x.dtype}"


@rule(
    OneOf(
        o.div(_EXP, _TOTAL),
        o.mul(_EXP, OneOf(o.reciprocal(_TOTAL), o.div(1, _TOTAL))),
    ),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,5]) {
      m: f32[2,1,5] = reduce_max(x, axes=[1])
      d: f32[2,3,5] = sub(x, m)
      e: f32[2,3,5] = exp(d)
      s: f32[2,1,5] = reduce_sum(e, axes=[1])
      y: f32[2,3,5] = div(e, s)
      return y
    }
    =>
    graph g(x: f32[2,3,5]) {
      y: f32[2,3,5] = softmax(x, axis=1)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5]) {
      e: f32[2,3,5] = exp(x)
      s: f32[2,3,1] = reduce_sum(e, axes=[2])
      y: f32[2,3,5] = div(e, s)
      return y
    }
    """,
)
def softmax_written_out(x: Tensor, axes: tuple[int, ...], t: TensorType) -> Operand:
    """Recognise `exp(x - max)` over its sum as softmax.

    Without subtraction of the maximum, exp overflows above 88 and the quotient is NaN. Softmax is
    correct for such operands, so the rule does not match exp(x) over its sum.
    """
    reason = _along(x, axes, t)
    return Skip(reason) if reason else o.softmax(x, axis=axes[0])


@rule(
    OneOf(
        o.sub(_BELOW_TOP, OneOf(o.log(_TOTAL), o.reduce_log_sum(_EXP, axes=_AXES))),
        o.sub(_BELOW_TOP, o.reduce_log_sum_exp(_BELOW_TOP, axes=_AXES)),
    ),
    result="t",
    single_use=True,
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,5]) {
      m: f32[2,1,5] = reduce_max(x, axes=[1])
      d: f32[2,3,5] = sub(x, m)
      e: f32[2,3,5] = exp(d)
      s: f32[2,1,5] = reduce_sum(e, axes=[1])
      l: f32[2,1,5] = log(s)
      y: f32[2,3,5] = sub(d, l)
      return y
    }
    =>
    graph g(x: f32[2,3,5]) {
      y: f32[2,3,5] = log_softmax(x, axis=1)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,3]) {
      m: f32[2,1,3] = reduce_max(x, axes=[1])
      d: f32[2,3,3] = sub(x, m)
      e: f32[2,3,3] = exp(d)
      s: f32[2,3,1] = reduce_sum(e, axes=[2])
      l: f32[2,3,1] = log(s)
      y: f32[2,3,3] = sub(d, l)
      return y
    }
    """,
)
def log_softmax_written_out(x: Tensor, axes: tuple[int, ...], t: TensorType) -> Operand:
    """Recognise `x - max - log(sum(exp(x - max)))` as log_softmax.

    The rule does not match x - log(sum(exp(x))). For infinite elements, this form gives a number,
    but log_softmax gives NaN.
    """
    reason = _along(x, axes, t)
    return Skip(reason) if reason else o.log_softmax(x, axis=axes[0])


SOFTMAX: list[Rule] = [softmax_written_out, log_softmax_written_out]
"""Rules for softmax and its logarithm, in the order they are tried."""
