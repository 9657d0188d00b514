"""Arrays as JSON: `{"type": "f32[2]", "values": [1.0, "inf"]}`; infinities and NaN are texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.types import DType, TensorType
from course.graphs import MOST_ELEMENTS

Array = np.ndarray[Any, np.dtype[Any]]


def array_to_json(value: Any) -> dict[str, Any]:
    """Return an array, or another value as its text."""
    if not isinstance(value, np.ndarray):
        return {"type": type(value).__name__, "values": str(value)[:200]}
    return {
        "type": f"{_label(value.dtype)}[{','.join(map(str, value.shape))}]",
        "values": _plain(value),
    }


def _label(dtype: np.dtype[Any]) -> str:
    return next((d.label for d in DType if d.numpy == dtype), str(dtype))


def _plain(value: Array) -> Any:
    if value.dtype.kind not in "biu":
        value = value.astype(np.float64) if value.dtype.kind != "c" else value.astype(str)
    return _finite(value.tolist())


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def arrays_to_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays by name as data."""
    return {name: array_to_json(v) for name, v in values.items()}


def inputs_from_json(data: object, graph: Graph) -> dict[str, Array]:
    """Return arrays for the inputs of a graph. Errors: E-ANSWER-FORM."""
    found: dict[str, Array] = {}
    for v in graph.inputs:
        given = data.get(v.name) if isinstance(data, Mapping) else None
        values = given.get("values") if isinstance(given, Mapping) else None
        if not isinstance(v.type, TensorType) or not v.type.is_static:
            raise CompileError("E-ANSWER-FORM", f"the input {v.name!r:.60} has no fixed shape")
        if v.type.n_elements > MOST_ELEMENTS:
            raise CompileError("E-ANSWER-SIZE", f"the input {v.name!r:.60} is too large")
        try:
            plain = np.array(_numbers(values), np.float64 if v.type.dtype.is_float else None)
            found[v.name] = plain.reshape(v.type.static_shape).astype(v.type.dtype.numpy)
        except (TypeError, ValueError, OverflowError):
            message = f"the values of {v.name!r:.60} do not fit its type {v.type}"
            raise CompileError("E-ANSWER-FORM", message) from None
    return found


def _numbers(values: Any) -> Any:
    if isinstance(values, list):
        return [_numbers(v) for v in values]
    return float(values) if isinstance(values, str) else values
