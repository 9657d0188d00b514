"""The export of a scale and shift per channel as one BatchNormalization."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compiler.ir.graph import Node
from compiler.ir.operator import Array
from compiler.ir.types import DType, TensorType

if TYPE_CHECKING:
    from compiler.export.combine import Work


def normalised(work: Work, node: Node) -> None:
    """Combine multiplication by a constant and addition of a constant to a BatchNormalization.

    The mean is 0 and the variance 1. The combined node reads the image once; separate nodes would
    read it twice.
    """
    out = work.type(node.output)
    if out is None or out.shape is None or out.rank < 3 or out.dtype is not DType.f32:
        return
    for value, shift in (node.inputs, node.inputs[::-1]):
        product, shifts = work.inner(value, "mul"), _by_channel(work, shift, out)
        if product is None or shifts is None:
            continue
        for x, scale in (product.inputs, product.inputs[::-1]):
            scales = _by_channel(work, scale, out)
            if scales is None or work.type(x) != out:
                continue
            n = len(scales)
            given = (scales, shifts, np.zeros(n, np.float32), np.ones(n, np.float32))
            inputs = [x, *(work.constant(node.output, a) for a in given)]
            parts = [product, node]
            work.combine(node, parts, "BatchNormalization", inputs, {"epsilon": 0.0})
            return


def _by_channel(work: Work, value: str, of: TensorType) -> Array | None:
    """Return a constant that varies only along the second axis, as one number per channel."""
    known, n = work.known(value), of.dims[1]
    if known is None or not isinstance(n, int) or n < 2 or known.type.rank > of.rank:
        return None
    shape = [1] * (of.rank - known.type.rank) + list(known.type.static_shape)
    if shape[1] not in (1, n) or any(size != 1 for d, size in enumerate(shape) if d != 1):
        return None
    return np.broadcast_to(known.array().reshape(-1), (n,)).astype(np.float32)
