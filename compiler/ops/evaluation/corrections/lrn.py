"""LRN that normalises every channel of images of any rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.ops import op_lrn


class LRN(op_lrn.LRN):
    """Compute x / (bias + alpha / size * the sum of squares over neighbouring channels) ^ beta."""

    def _run(self, x: Any, **attrs: Any) -> tuple[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        alpha, beta, bias, size = (attrs[n] for n in ("alpha", "beta", "bias", "size"))
        before, after = (size - 1) // 2, size // 2
        widths = [(0, 0)] * x.ndim
        widths[1] = (before, after)
        squares = np.lib.stride_tricks.sliding_window_view(np.pad(x * x, widths), size, axis=1)
        return ((x / (bias + alpha / size * squares.sum(-1)) ** beta).astype(x.dtype),)
