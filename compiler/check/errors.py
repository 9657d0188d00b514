"""Errors of results against their f64 values: absolute, relative, and in ULPs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.check.judge import scale_of
from compiler.check.margins import number, tiny, unit
from compiler.dataclass import dataclass

PLACES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""The upper bounds of the histogram's bins, in ULPs; an additional bin counts larger errors."""


@dataclass(frozen=True, slots=True)
class Error:
    """The error of a tensor, measured against its f64 value.

    `relative` is the largest error divided by the largest magnitude; `ulps` is the largest error of
    an element in units in the last place (ULPs). `absolute`, `relative` and `ulps` are infinite if
    the positions of NaN or infinities differ from those in the f64 value. `counts` is a histogram:
    the numbers of elements in the bins bounded by `PLACES`, then the number of elements with larger
    errors.
    """

    name: str
    absolute: float
    relative: float
    ulps: float
    counts: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the error as JSON data."""
        return {
            "name": self.name,
            "absolute_error": self.absolute,
            "relative_error": self.relative,
            "ulps": self.ulps,
        }


def error_of(name: str, made: Any, wide: Any) -> Error | None:
    """Return the error of a tensor; None for strings, sequences, and values of unequal shapes."""
    if not isinstance(made, np.ndarray) or not isinstance(wide, np.ndarray):
        return None
    if made.dtype == object or made.shape != wide.shape:
        return None
    a, w = number(made), number(wide)
    finite = np.isfinite(w) & np.isfinite(a)
    with np.errstate(all="ignore"):
        same = finite | (a == w) | (np.isnan(a) & np.isnan(w)) | _overflows(w, made.dtype)
    if not same.all():
        return Error(name, np.inf, np.inf, np.inf)
    errors = np.abs(a[finite] - w[finite])
    worst, scale = float(errors.max(initial=0.0)), scale_of(w)
    places = errors / _last_place(w[finite], made.dtype)
    counts = np.bincount(np.searchsorted(PLACES, places.ravel()), minlength=len(PLACES) + 1)
    return Error(
        name,
        worst,
        worst / scale if scale else worst,
        float(places.max(initial=0.0)),
        tuple(map(int, counts)),
    )


def errors_of(made: Mapping[str, Any], wide: Mapping[str, Any]) -> tuple[Error, ...]:
    """Return the errors of all numeric tensors."""
    found = (error_of(name, value, wide[name]) for name, value in made.items() if name in wide)
    return tuple(e for e in found if e is not None)


def _overflows(wide: Any, dtype: np.dtype[Any]) -> Any:
    """Return a mask of f64 values outside the range of a float type."""
    if dtype.kind in "biuc":
        return np.zeros(wide.shape, bool)
    with np.errstate(all="ignore"):
        return ~np.isfinite(number(wide.astype(dtype)))


def _last_place(wide: Any, dtype: np.dtype[Any]) -> Any:
    """Return the unit in the last place of a type at each value."""
    if dtype.kind in "biu":
        return np.ones(wide.shape)
    real = dtype if dtype.kind != "c" else np.dtype(np.float32 if dtype.itemsize == 8 else "f8")
    magnitude = np.maximum(np.abs(wide), tiny(real))
    return unit(real) * 2.0 ** np.floor(np.log2(magnitude))
