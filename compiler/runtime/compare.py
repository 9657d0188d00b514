"""Errors of results, relative to the scale of each output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.passes.pipeline.precision import F32_TOLERANCE


@dataclass(frozen=True, slots=True)
class Difference:
    """The comparison of one output. `scale` is the largest expected magnitude.

    `relative_error` is `max_abs_error / scale`, or the absolute error if all expected elements are
    0. The relative error is infinite if shapes, types, or the positions of NaN and infinities
    differ.
    """

    name: str
    max_abs_error: float
    scale: float
    relative_error: float
    note: str = ""


TOLERANCE = F32_TOLERANCE
"""Allowed relative error of programs in the default precision mode."""


def compare(made: Mapping[str, Any], expected: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return one difference for each expected output."""
    return tuple(
        difference(name, made[name], value)
        if name in made
        else Difference(name, np.inf, 0.0, np.inf, "missing")
        for name, value in expected.items()
    )


def worst(differences: tuple[Difference, ...]) -> float:
    """Return the largest relative error; 0 for no outputs."""
    return max((d.relative_error for d in differences), default=0.0)


def difference(name: str, made: Any, expected: Any) -> Difference:
    """Compare one output: arrays elementwise, sequences by the element with the largest error."""
    if isinstance(expected, list | tuple):
        return _of_sequences(name, made, expected)
    if expected is None or made is None:
        return _verdict(name, made is expected, "only one of the two values is present")
    if isinstance(expected, dict):
        return _verdict(name, made == expected, "maps differ")
    a, b = np.asarray(made), np.asarray(expected)
    if a.shape != b.shape:
        return _verdict(name, False, f"shape {list(a.shape)} instead of {list(b.shape)}")
    if a.dtype.kind in "OUST" or b.dtype.kind in "OUST":
        return _verdict(name, a.tolist() == b.tolist(), "strings differ")
    if a.dtype != b.dtype:
        return _verdict(name, False, f"element type {a.dtype} instead of {b.dtype}")
    return _of_numbers(name, a, b)


def _of_sequences(name: str, made: Any, expected: list[Any] | tuple[Any, ...]) -> Difference:
    if not isinstance(made, list | tuple) or len(made) != len(expected):
        return _verdict(name, False, "the sequences differ in length")
    parts = [difference(name, a, b) for a, b in zip(made, expected, strict=True)]
    return max(parts, key=lambda d: d.relative_error, default=Difference(name, 0.0, 0.0, 0.0))


def _verdict(name: str, same: bool, note: str) -> Difference:
    return Difference(name, 0.0, 0.0, 0.0) if same else Difference(name, np.inf, 0.0, np.inf, note)


def _of_numbers(name: str, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Difference:
    kind = np.complex128 if b.dtype.kind == "c" else np.float64
    wide_a, wide_b = a.astype(kind), b.astype(kind)
    finite = np.isfinite(wide_b)
    same_odd = np.array_equal(wide_a[~finite], wide_b[~finite], equal_nan=True)
    if not same_odd or not np.isfinite(wide_a[finite]).all():
        return _verdict(name, False, "NaN or infinities at different places")
    if not finite.any():
        return Difference(name, 0.0, 0.0, 0.0)
    error = float(np.abs(wide_a[finite] - wide_b[finite]).max())
    scale = float(np.abs(wide_b[finite]).max())
    return Difference(name, error, scale, error / scale if scale else error)
