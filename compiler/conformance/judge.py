"""Comparison of outputs with expected outputs, by the tolerances of onnx's suites."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.types import DType

Array = np.ndarray[Any, np.dtype[Any]]

BFLOAT16_RTOL = 2.0**-6
"""The minimum relative tolerance for bf16, as in the suites: two units in the last place."""


def objection(
    made: Any, expected: Any, rtol: float, atol: float, *, is_random: bool = False
) -> str:
    """Describe the difference between an output and the expected output; return "" if they match.

    Shapes and element types must be equal, as must integers, booleans and strings. The error of
    floating-point numbers may be at most `atol + rtol * |expected|`; NaN and infinities must be at
    the same positions. For a random output, only shape and element type are compared.
    Source: `assert_similar_outputs` of onnx.backend.test.runner.
    """
    if expected is None or made is None:
        return "" if made is expected else f"{_kind(made)} instead of {_kind(expected)}"
    if isinstance(expected, list | tuple):
        return _of_sequences(made, expected, rtol, atol, is_random)
    if isinstance(made, list | tuple | dict):
        return f"{_kind(made)} instead of {_kind(expected)}"
    a, b = np.asarray(made), np.asarray(expected)
    if a.dtype != b.dtype:
        return f"element type {a.dtype} instead of {b.dtype}"
    if a.shape != b.shape:
        return f"shape {list(a.shape)} instead of {list(b.shape)}"
    return "" if is_random else _of_elements(a, b, rtol, atol)


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        return f"a sequence of {len(value)}"
    return "a map" if isinstance(value, dict) else "a tensor"


def _of_sequences(made: Any, expected: Any, rtol: float, atol: float, is_random: bool) -> str:
    if not isinstance(made, list | tuple) or len(made) != len(expected):
        return f"{_kind(made)} instead of {_kind(expected)}"
    for i, (a, b) in enumerate(zip(made, expected, strict=True)):
        found = objection(a, b, rtol, atol, is_random=is_random)
        if found:
            return f"element {i} of the sequence: {found}"
    return ""


def _of_elements(a: Array, b: Array, rtol: float, atol: float) -> str:
    wrong = np.asarray(~_same(a, b, rtol, atol))
    n_wrong = int(wrong.sum())
    if not n_wrong:
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[_worst(a[wrong], b[wrong])])
    at = f" at {list(place)}" if place else ""
    worst = f"{a[place]!s:.40} instead of {b[place]!s:.40}"
    return f"{n_wrong} of {b.size} elements differ, the worst{at}: {worst}"


def _same(a: Array, b: Array, rtol: float, atol: float) -> Array:
    if b.dtype == np.object_:
        same = [_text(x) == _text(y) for x, y in zip(a.flat, b.flat, strict=True)]
        return np.array(same, np.bool_).reshape(b.shape)
    dtype = DType.from_numpy(b.dtype)
    if b.dtype.kind != "c" and not dtype.is_float:
        return np.asarray(a == b)
    if dtype is DType.bf16:
        rtol = max(rtol, BFLOAT16_RTOL)
    with np.errstate(all="ignore"):
        return np.isclose(_wide(a), _wide(b), rtol, atol, equal_nan=True)


def _wide(a: Array) -> Array:
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _worst(a: Array, b: Array) -> int:
    """Return the index of the wrong element with the largest error; NaN counts as largest."""
    if b.dtype == np.object_:
        return 0
    with np.errstate(all="ignore"):
        return int(np.argmax(np.abs(_wide(a) - _wide(b))))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
