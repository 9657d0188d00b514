"""Evaluation of quantize and dequantize for every value of a quantized type.

An 8-bit type has 256 values. The scales and zero points are given constants. If a property holds
for all values of the type, it holds for every tensor, including effects of rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.ir.operator import OPERATORS, Array
from compiler.ir.types import DType
from compiler.ops.quantization.quantize import QUANTIZED, limits
from compiler.passes.engine.pattern import ConstTensor
from compiler.passes.rules.affine_parts import Objection

MOST_CODES = 1 << 18
"""Limit on the number of quantized values evaluated, over all channels."""


def is_single(parameter: ConstTensor) -> bool:
    """Whether a scale or zero point is a single number per tensor."""
    return parameter.stored.type.n_elements == 1 and parameter.rank <= 1


def need_steps(
    scale: ConstTensor, zero: ConstTensor | None, *, blocks: int = 0, rising: bool = True
) -> int:
    """Return the number of channels; raise Objection unless all scales are normal numbers.

    With `rising` the scales must also be positive: quantization is then monotonic. A single
    scale broadcasts to the number of zero points, and a single zero point to the number of scales.
    """
    if blocks:
        raise Objection(f"each block of {blocks} elements has a separate scale")
    values = scale.stored.array().astype(np.float64)
    least = float(np.finfo(np.float32).smallest_normal)
    if not (np.isfinite(values).all() and (np.abs(values) >= least).all()):
        raise Objection(f"the scales {scale.name} are not all normal numbers")
    if rising and (values < 0).any():
        raise Objection(f"the scales {scale.name} are not all positive")
    parameters = [p for p in (scale, zero) if p is not None]
    if any(not is_single(p) and p.rank != 1 for p in parameters):
        raise Objection(f"the scales {scale.type} are neither per tensor nor per channel")
    return max(p.stored.type.n_elements for p in parameters)


def codes(dtype: DType, n_channels: int) -> Array:
    """Return a row per channel with all values of an integer type; raise Objection if too many."""
    if dtype not in QUANTIZED or not dtype.is_integer:
        raise Objection(f"{dtype} has too many values to enumerate")
    low, high = limits(dtype)
    n = n_channels * int(high - low + 1)
    if n > MOST_CODES:
        raise Objection(f"{n:,} quantized values are too many to enumerate")
    row = np.arange(int(low), int(high) + 1).astype(dtype.numpy)
    return np.broadcast_to(row, (n_channels, row.size))


def dequantized(
    x: Array, scale: ConstTensor, zero: ConstTensor | None, attrs: Mapping[str, Any]
) -> Array:
    """Dequantize integers, with channels along the first axis."""
    return _by_reference("dequantize", x, scale, zero, {**attrs, "axis": 0})


def quantized(
    x: Array, scale: ConstTensor, zero: ConstTensor | None, attrs: Mapping[str, Any]
) -> Array:
    """Quantize numbers, with channels along the first axis."""
    return _by_reference("quantize", x, scale, zero, {**attrs, "axis": 0})


def _by_reference(
    name: str, x: Array, scale: ConstTensor, zero: ConstTensor | None, attrs: Mapping[str, Any]
) -> Array:
    reference = OPERATORS[name].reference_fn
    assert reference is not None
    origin = None if zero is None else zero.stored.array()
    with np.errstate(all="ignore"):
        return np.asarray(reference(x, scale.stored.array(), origin, **attrs))
