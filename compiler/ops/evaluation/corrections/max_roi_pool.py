"""MaxRoiPool, which onnx.reference lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class MaxRoiPool(OpRun):
    """MaxRoiPool: the largest element of each bin of each region.

    Source: ONNX MaxRoiPool-1; Girshick, Fast R-CNN, 2015: region pooling as in Caffe.
    """

    def _run(
        self, X: Any, rois: Any, pooled_shape: Sequence[int], spatial_scale: float = 1.0
    ) -> tuple[Any]:
        high, wide = pooled_shape
        made = np.zeros((len(rois), X.shape[1], high, wide), X.dtype)
        for k, (owner, *corners) in enumerate(rois):
            image = X[int(owner)]
            scaled = np.asarray(corners, X.dtype) * X.dtype.type(spatial_scale)
            left, top, right, bottom = np.floor(scaled + 0.5).astype(int)
            for i, rows in enumerate(_bins(top, bottom, high, image.shape[1])):
                for j, columns in enumerate(_bins(left, right, wide, image.shape[2])):
                    part = image[:, rows, columns]
                    if part.size:
                        made[k, :, i, j] = part.max(axis=(1, 2))
        return (made,)


def _bins(first: int, last: int, n: int, size: int) -> list[slice]:
    """Divide a region, from first to last element, into n bins; bins may overlap by one element."""
    length = np.float32(max(last - first + 1, 1)) / np.float32(n)
    starts = [first + int(np.floor(k * length)) for k in range(n)]
    ends = [first + int(np.ceil((k + 1) * length)) for k in range(n)]
    limits = [np.clip(pair, 0, size) for pair in zip(starts, ends, strict=True)]
    return [slice(int(a), int(b)) for a, b in limits]
