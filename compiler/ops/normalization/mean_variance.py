"""MeanVarianceNormalization in two passes."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import OnnxCall, Operand
from compiler.ops.elementwise.arithmetic import add, div, mul, sqrt, sub
from compiler.ops.reductions.reduce import reduce_mean
from compiler.ops.type_rules.requirements import normal_axes

EPSILON = 1e-9
"""The epsilon that the function body in the standard adds to the standard deviation."""


@reduce_mean.onnx("MeanVarianceNormalization")
def _(n: OnnxCall) -> Operand | None:
    """Import as (x - mean) / sqrt(mean of (x - mean)^2), as in the standard's text.

    The function body in the standard computes the variance as E[x^2] - E[x]^2; in f32, the
    difference loses all digits for a mean of 10,000.
    """
    x = n.operand(0)
    assert x is not None
    if x.type.shape is None:
        return None
    axes = normal_axes(n.attr("axes", (0, 2, 3)), x.rank)
    centred = sub(x, reduce_mean(x, axes=axes, keepdims=True)).out(0)
    variance = reduce_mean(mul(centred, centred), axes=axes, keepdims=True)
    return div(centred, add(sqrt(variance), np.asarray(EPSILON, x.dtype.numpy)))
