"""LogSoftmax without the logarithm of an underflowed softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.ops import op_log_softmax


class LogSoftmax(op_log_softmax.LogSoftmax):
    """Compute x - max - log(sum(exp(x - max)))."""

    def _run(self, X: Any, axis: int | None = None) -> tuple[Any]:
        if axis is None:  # runners of unary operators pass no attributes
            axis = int(getattr(self, "axis"))  # noqa: B009
        moved = X - X.max(axis=axis, keepdims=True) if X.size else X
        return ((moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))).astype(X.dtype),)
