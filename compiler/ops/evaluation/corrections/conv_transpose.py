"""ConvTranspose with several groups, and with pads derived from the output shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.ops import op_conv_transpose


class ConvTranspose(op_conv_transpose.ConvTranspose):
    """ConvTranspose group by group, each group with its part of the bias."""

    def _run(self, X: Any, W: Any, *bias: Any, **attrs: Any) -> tuple[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        B = bias[0] if bias else None
        window = {k: v for k, v in attrs.items() if k != "group"}
        group = attrs.get("group")
        n_spatial, n = X.ndim - 2, group or 1
        shape = window.get("output_shape")
        if shape is not None and window.get("auto_pad") not in ("SAME_UPPER", "SAME_LOWER"):
            shape = list(shape)[-n_spatial:]  # some exporters also list batch and channels
            window = {**window, "output_shape": shape, "pads": _pads(X, W, shape, window)}
        biases = [None] * n if B is None else np.split(B, n)
        parts = [
            super(ConvTranspose, self)._run(x, w, b, group=1, **window)[0]
            for x, w, b in zip(np.split(X, n, 1), np.split(W, n), biases, strict=True)
        ]
        return (np.concatenate(parts, 1),)


def _pads(x: Any, w: Any, shape: list[int], window: dict[str, Any]) -> list[int]:
    """Return the pads by the standard's formula: with NOTSET, the larger half is at the start."""
    ones = [1] * len(shape)
    strides, dilations = window.get("strides") or ones, window.get("dilations") or ones
    extra = window.get("output_padding") or [0] * len(shape)
    totals = [
        strides[d] * (x.shape[2 + d] - 1)
        + extra[d]
        + (w.shape[2 + d] - 1) * dilations[d]
        + 1
        - shape[d]
        for d in range(len(shape))
    ]
    return [t - t // 2 for t in totals] + [t // 2 for t in totals]
