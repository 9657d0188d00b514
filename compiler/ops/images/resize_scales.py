"""Scales of a resized axis: the fraction that an f32 approximates, and the size of the result."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from compiler.errors import require
from compiler.ir import affine
from compiler.ir.types import Dim


def meant(scale: np.floating[Any]) -> Fraction:
    """Find the simplest fraction that rounds to a scale in its type: 17/10 for an f32 of 1.7.

    The exact value of this f32 is 1.7 + 5e-8. With the exact value, every tenth coordinate would
    select another element than in runtimes. With the exact value of the f32 of 0.7, 10 elements
    would become 6. Runtimes compute this product in f32, where it rounds to 7.
    Errors: E-OP-ATTRIBUTE for a scale that is not positive and finite.
    """
    is_positive = bool(np.isfinite(scale) and scale > 0)
    require(is_positive, "E-OP-ATTRIBUTE", f"resize cannot scale by {scale}")
    value, half_step = Fraction(float(scale)), Fraction(float(np.spacing(scale))) / 2
    return _simplest(value - half_step, value + half_step)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Find the fraction with the smallest denominator in [low, high], by continued fractions."""
    whole = low.numerator // low.denominator
    if low == whole:
        return low
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))


def scaled_size(size: Dim, scale: Fraction) -> Dim:
    """Return the size of a scaled axis, rounded down."""
    return affine.floordiv(size * scale.numerator, scale.denominator)
