"""Squeeze and reductions that take axes as a set, in which an axis may repeat."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from onnx.reference.op_run import OpRun
from onnx.reference.ops import load_op


class _SetOfAxes(OpRun):
    """An operator of onnx.reference that is evaluated without repeated axes."""

    def __init__(self, node: Any, params: Any) -> None:
        super().__init__(node, params)
        self.original = load_op("", node.op_type, params["opsets"][""])(node, params)

    def _run(self, x: Any, axes: Any = None, **attributes: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if axes is None:
            return self.original.run(x)
        distinct = sorted(set(normalize_axis_tuple(np.ravel(axes), x.ndim, allow_duplicate=True)))
        if "axes" not in self.original.attributes_names_:
            return self.original.run(x, np.array(distinct, np.int64))
        self.original.axes = tuple(distinct) or None  # an attribute in older versions
        return self.original.run(x)


@cache
def __getattr__(operator: str) -> type[OpRun]:
    """Return the class of an operator, which onnx.reference finds by its name."""
    if operator.startswith("__"):
        raise AttributeError(operator)
    return type(operator, (_SetOfAxes,), {})
