"""Mel filters, which sum the bins of a spectrum into bands of equal perceptual width."""

from __future__ import annotations

import numpy as np

from compiler.errors import require
from compiler.ir.operator import Array, OnnxCall, Operand
from compiler.ir.types import DType
from compiler.ops.data_movement.reshape import identity

LARGEST = 1 << 24
"""The maximum number of elements of a matrix that is stored as a constant."""


def mel_weights(n_bands: int, length: int, rate: int, low: float, high: float) -> Array:
    """Return the matrix [bins, bands] of triangular filters between the centres of bands.

    Units: `rate`, `low` and `high` are in hertz; `length` is the length of the transform, in
    samples.
    Source: ONNX MelWeightMatrix-17, including its steps between bands.
    """
    ends = [2595 * np.log10(1 + edge / 700) for edge in (low, high)]
    mels = ends[0] + np.arange(n_bands + 2) * (ends[1] - ends[0]) / (n_bands + 2)
    hertz = 700 * (10 ** (mels / 2595) - 1)
    edges = np.floor((length + 1) * hertz / rate)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    bins = np.arange(length // 2 + 1)[:, None]
    with np.errstate(all="ignore"):
        rising = np.where(centre == left, bins == centre, (bins - left) / (centre - left))
        falling = (right - bins) / (right - centre)
    up, down = (bins >= left) & (bins <= centre), (bins >= centre) & (bins < right)
    return np.where(down, falling, np.where(up, rising, 0.0))


@identity.onnx("MelWeightMatrix")
def _(n: OnnxCall) -> Operand | None:
    """Import MelWeightMatrix as a constant if all parameters are known."""
    given = [o for o in n.operands if o is not None]
    if len(given) != 5 or any(o.value is None or o.value.dtype == np.object_ for o in given):
        return None
    require(all(o.known.size == 1 for o in given), "E-OP-SHAPE", "each operand must be one number")
    bands, length, rate, low, high = (o.known.reshape(-1)[0].item() for o in given)
    if not (0 < length and 0 < bands and 0 < rate and bands * length <= LARGEST):
        return None
    dtype = DType.from_onnx(int(n.attr("output_datatype", DType.f32.onnx)))
    made = mel_weights(int(bands), int(length), int(rate), float(low), float(high))
    return identity(made.astype(dtype.numpy))
