"""Normalisation of vectors to length 1."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import OnnxCall, Operand
from compiler.ops.elementwise.arithmetic import div
from compiler.ops.elementwise.compare import equal, where
from compiler.ops.reductions.reduce import reduce_l1, reduce_l2
from compiler.ops.type_rules.requirements import normal_axis

NORMS = {1: reduce_l1, 2: reduce_l2}


@reduce_l2.onnx("LpNormalization")
def _(n: OnnxCall) -> Operand | None:
    """Import LpNormalization: x is divided by its norm along an axis; zero vectors stay zero."""
    x, p = n.operand(0), int(n.attr("p", 2))
    assert x is not None
    if x.type.shape is None or p not in NORMS:
        return None
    axis = normal_axis(int(n.attr("axis", -1)), x.rank)
    norm = NORMS[p](x, axes=(axis,), keepdims=True).out(0)
    zero, one = np.asarray(0, x.dtype.numpy), np.asarray(1, x.dtype.numpy)
    return div(x, where(equal(norm, zero), one, norm))
