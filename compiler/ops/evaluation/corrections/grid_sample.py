"""GridSample that accepts the mode names of opset 16, and reads border values outside the image."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.ops import op_grid_sample

OLD_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Maps the names of modes before opset 20 to the names since opset 20."""

MARGIN = 3
"""The width of the margin around the image; beyond it, cubic interpolation reads only border
values."""


class GridSample(op_grid_sample.GridSample):
    """GridSample of an image that is extended by copies of its border."""

    def _run(
        self,
        X: Any,
        grid: Any,
        mode: str | None = None,
        padding_mode: str | None = None,
        align_corners: int | None = None,
    ) -> tuple[Any, ...]:
        mode = OLD_MODES.get(mode or "linear", mode)
        if mode == "cubic" and padding_mode == "border" and X.size:
            image, places = _continued(X, grid, bool(align_corners))
            return tuple(super()._run(image, places, mode, padding_mode, 1))
        return tuple(super()._run(X, grid, mode, padding_mode, align_corners))


def _continued(x: Any, grid: Any, is_aligned: bool) -> tuple[Any, Any]:
    """Extend the image by copies of its border, and map the grid to the extended image."""
    sizes = np.array(x.shape[:1:-1], np.float64)  # a grid lists the last axis first
    c = (grid + 1) / 2 * (sizes - 1) if is_aligned else ((grid + 1) * sizes - 1) / 2
    c = np.clip(c, 1 - MARGIN, sizes + MARGIN - 2) + MARGIN
    wide = np.pad(x, [(0, 0), (0, 0), *[(MARGIN, MARGIN)] * len(sizes)], mode="edge")
    return wide, c / (sizes + 2 * MARGIN - 1) * 2 - 1
