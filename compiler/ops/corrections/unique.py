"""Unique with axes of texts, and with any axis in the order in which rows first come."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from compiler.ops.unique import different_rows


class Unique(OpRun):
    """Texts are numbered in their order first: rows of numbers can be compared."""

    def _run(self, x: Any, axis: int | None = None, sorted: int = 1) -> tuple[Any, ...]:
        if axis is None:
            x, axis = x.reshape(-1), 0
        numbers = x
        if x.dtype.kind in "OSU":
            numbers = np.unique(x, return_inverse=True)[1].reshape(x.shape)
        _, first, inverse, counts, n = different_rows(numbers, axis, bool(sorted))
        made = (np.take(x, first[:n], axis), first[:n], inverse, counts[:n])
        return made[: len(self.onnx_node.output)]
