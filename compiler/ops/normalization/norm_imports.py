"""The import of LayerNormalization and GroupNormalization with optional statistics and wider types.

The function bodies in the standard compute the variance as E[x^2] - E[x]^2; in f32, the difference
loses all digits for a mean of 10,000. The import always computes the variance as the mean of
squared deviations, as in the standard's text.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.data_movement.reshape import reshape
from compiler.ops.data_movement.shape import shape
from compiler.ops.elementwise.arithmetic import add, mul, reciprocal, sqrt, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.normalization.layer_norms import group_norm, instance_norm, layer_norm
from compiler.ops.reductions.reduce import reduce_mean
from compiler.ops.type_rules.requirements import normal_axis


def _stash(n: OnnxCall) -> DType:
    """Return the element type of the mean and the inverse standard deviation."""
    return DType.from_onnx(int(n.attr("stash_type", 1)))


def _as(t: Tensor | None, dtype: DType) -> Operand | None:
    return t if t is None or t.dtype is dtype else cast(t, to=dtype)


def _computed_in(x: Tensor, stash: DType) -> DType:
    """Return the type of the computation: f64 for f64 operands, else the statistics' type."""
    return x.dtype if stash is DType.f32 else stash


@layer_norm.onnx("LayerNormalization")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    x = n.operand(0)
    assert x is not None
    if x.type.shape is None:
        return None
    axis, stash = normal_axis(int(n.attr("axis", -1)), x.rank), _stash(n)
    epsilon = float(n.attr("epsilon", 1e-5))
    dtype = _computed_in(x, stash)
    operands = [_as(o, dtype) for o in n.operands]
    made = layer_norm(*operands, axis=axis, epsilon=epsilon)
    if dtype is not x.dtype:
        made = cast(made, to=x.dtype)
    if n.n_outputs == 1:
        return made
    return made, *_statistics(x, stash, tuple(range(axis, x.rank)), epsilon)[: n.n_outputs - 1]


def _statistics(
    x: Tensor, stash: DType, axes: tuple[int, ...], epsilon: float
) -> tuple[Operand, Operand]:
    """Compute the mean and the inverse standard deviation."""
    wide = x if x.dtype in (DType.f64, stash) else cast(x, to=stash).out(0)
    mean = reduce_mean(wide, axes=axes, keepdims=True).out(0)
    centred = sub(wide, mean).out(0)
    variance = reduce_mean(mul(centred, centred), axes=axes, keepdims=True)
    number = (x.dtype if x.dtype is DType.f64 else stash).numpy.type
    inverse = reciprocal(sqrt(add(variance, np.asarray(epsilon, number))))
    if x.dtype is DType.f64 and stash is not DType.f64:
        return cast(mean, to=stash), cast(inverse, to=stash)
    return mean, inverse


@group_norm.onnx("GroupNormalization")
def _(n: OnnxCall) -> Operand | None:
    """Before opset 21, scale and bias are per group, so each group is imported as one channel."""
    x, scale, bias = n.operand(0), n.operand(1), n.operand(2)
    assert x is not None
    if x.type.shape is None:
        return None
    groups, epsilon = int(n.required("num_groups")), float(n.attr("epsilon", 1e-5))
    if n.opset < 21:
        split = reshape(x, np.array([0, groups, -1]))
        return reshape(instance_norm(split, scale, bias, epsilon=epsilon), shape(x))
    dtype = _computed_in(x, _stash(n))
    operands = [_as(o, dtype) for o in (x, scale, bias)]
    made = group_norm(*operands, groups=groups, epsilon=epsilon)
    return made if dtype is x.dtype else cast(made, to=x.dtype)
