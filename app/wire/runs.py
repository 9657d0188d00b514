"""Payloads of runs on given inputs: summaries of the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from app.wire import VERSION
from app.wire.fields import Check
from app.wire.shapes import runs as shapes
from compiler.ir.types import DType, TensorType

FIRST = 32
"""Number of elements shown."""
TOP = 5
_CLASSES = (2, 100_000)
"""Minimum and maximum number of elements of a vector of classes."""
_SUM_TOLERANCE = 1e-3
"""Maximum distance of the sum of probabilities from 1."""
_MOST_INPUTS = 256
_ID_CHARACTERS = 64


def _are_files(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _MOST_INPUTS
        and all(isinstance(v, str) and len(v) == _ID_CHARACTERS for v in value.values())
    )


FILES = Check(f"for at most {_MOST_INPUTS} inputs the id of an upload", _are_files)


def run(
    job: str,
    seed: int,
    inputs: Mapping[str, Any],
    files: Mapping[str, str],
) -> shapes.RunResult:
    """Return the facts of a run before its outputs are known."""
    rows: list[shapes.RunInput] = [
        {"name": name, "type": type_text(value), "file": files.get(name, "")}
        for name, value in inputs.items()
    ]
    return {
        "version": VERSION,
        "job": job,
        "seed": seed,
        "inputs": rows,
        "outputs": [],
        "times": None,
        "disturbance": None,
        "has_profile": False,
    }


def output(number: int, name: str, value: Any, *, is_stored: bool) -> shapes.RunOutput:
    """Return the summary of an output."""
    made: shapes.RunOutput = {
        "output": number,
        "name": name,
        "type": type_text(value),
        "n_elements": 0,
        "bytes": 0,
        "is_stored": is_stored,
        "minimum": None,
        "maximum": None,
        "mean": None,
        "n_not_finite": 0,
        "first": [],
        "are_probabilities": False,
        "classes": [],
    }
    if not isinstance(value, np.ndarray):
        return made
    first = [_text(v) for v in value.reshape(-1)[:FIRST].tolist()]
    made.update(n_elements=value.size, bytes=value.nbytes, first=first)
    dtype = DType.from_numpy(value.dtype)
    if dtype.is_float or dtype.is_integer:
        _add_range(made, value.astype(np.float64))
        if dtype.is_float:
            _add_classes(made, value)
    return made


def type_text(value: Any) -> str:
    """Return the type of an array or of a list of arrays as text, with the sizes of this run."""
    if isinstance(value, list | tuple):
        return f"sequence of {len(value)}"
    if value is None:
        return "none"
    array = np.asarray(value)
    return str(TensorType(DType.from_numpy(array.dtype), array.shape))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:40]


def _add_range(made: shapes.RunOutput, wide: Any) -> None:
    finite = wide[np.isfinite(wide)]
    made["n_not_finite"] = wide.size - finite.size
    if finite.size:
        with np.errstate(over="ignore"):
            mean = float(finite.mean())
        made["minimum"], made["maximum"] = float(finite.min()), float(finite.max())
        made["mean"] = mean if np.isfinite(mean) else None


def _add_classes(made: shapes.RunOutput, value: Any) -> None:
    """Add the largest elements of a vector, if the output is a vector for one example."""
    low, high = _CLASSES
    if value.ndim == 0 or value.shape[-1] != value.size or not low <= value.size <= high:
        return
    scores = value.reshape(-1).astype(np.float64)
    if made["n_not_finite"]:
        return
    are_shares = scores.min() >= 0 and abs(scores.sum() - 1) < _SUM_TOLERANCE
    shares = scores if are_shares else _softmax(scores)
    made["are_probabilities"] = bool(are_shares)
    made["classes"] = [
        {"index": int(i), "value": float(scores[i]), "share": float(shares[i])}
        for i in np.argsort(-scores, kind="stable")[:TOP]
    ]


def _softmax(scores: Any) -> Any:
    e = np.exp(scores - scores.max())
    return e / e.sum()
