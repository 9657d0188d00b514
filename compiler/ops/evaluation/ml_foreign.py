"""Foreign operators of ai.onnx.ml: on maps, or on operands of unknown rank.

onnx.reference lacks maps of labels, and its classifiers give other results than ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from compiler.errors import require
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.operator import Array
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.onnx_import.facets import through_facet
from compiler.ops.protos import opset_of, split_name

PREFIX = "onnx.ai.onnx.ml."


def evaluate(node: Node, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """Evaluate a node of ai.onnx.ml; return None if onnx.reference should evaluate it.

    Errors: those of the operators' type rules, E-OP-ATTRIBUTE.
    """
    on_map = ON_MAPS.get(node.op.removeprefix(PREFIX))
    if on_map is not None:
        return (on_map(values[0], node.attrs, node.types[0]),)
    return _through_declaration(node, values)


def _through_declaration(node: Node, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """Evaluate a node by its operator's declaration; the operands are known."""
    from compiler.ops.evaluation.meaning import evaluate_graph  # that module imports this module

    if not all(v is None or isinstance(v, np.ndarray) for v in values):
        return None
    editor = Editor(Graph(node.op, (), (), ()))
    names: list[str] = []
    given: dict[str, Array] = {}
    for k, v in enumerate(values):
        names.append("" if v is None else f"i{k}")
        if v is not None:
            editor.add_input(Value(f"i{k}", TensorType(DType.from_numpy(v.dtype), v.shape)))
            given[f"i{k}"] = v
    domain, op_type = split_name(node.op)
    attrs = {k: v for k, v in node.attrs.items() if k != "opset"}
    outputs = [f"o{k}" for k in range(len(node.outputs))]
    opset = opset_of(node)
    made = through_facet(editor, op_type, domain, opset, names, attrs, outputs, node.name, ())
    if made is None:
        return None
    editor.results = [Result(o, v) for o, v in zip(outputs, made, strict=True)]
    found = evaluate_graph(editor.graph(), given)
    return tuple(found[v] for v in made)


# Maps

Attributes = Mapping[str, Any]


def _zip_map(x: Array, attrs: Attributes, _: Type) -> list[dict[Any, float]]:
    """Create a map from labels to scores for each row."""
    labels = attrs.get("classlabels_strings") or attrs.get("classlabels_int64s") or ()
    scores = np.atleast_2d(x)
    require(
        scores.ndim == 2 and scores.shape[1] == len(labels),
        "E-OP-SHAPE",
        f"ZipMap has {len(labels)} labels for scores of shape {list(x.shape)}",
    )
    # No Python loop over rows: it would dominate the time of a small forest.
    return list(map(dict, map(zip, repeat(labels), scores.tolist())))


def _dict_vectorizer(x: Mapping[Any, Any], attrs: Attributes, t: Type) -> Array:
    """Return the values of a map in vocabulary order; for missing keys, 0 or an empty string."""
    vocabulary = attrs.get("string_vocabulary") or attrs.get("int64_vocabulary") or ()
    dtype = t.dtype.numpy if isinstance(t, TensorType) else np.dtype(np.float32)
    nothing = "" if dtype == np.object_ else 0
    return np.array([[x.get(key, nothing) for key in vocabulary]], dtype)


def _cast_map(x: Mapping[int, Any], attrs: Attributes, _: Type) -> Array:
    """Return the values of a map in the order of keys, or in an array indexed by the keys."""
    kind = attrs.get("cast_to", "TO_FLOAT")
    require(kind in _CASTS, "E-OP-ATTRIBUTE", f"CastMap cannot cast {kind!r:.40}")
    dtype, convert, nothing = _CASTS[kind]
    if attrs.get("map_form", "DENSE") == "DENSE":
        found = [convert(x[key]) for key in sorted(x)]
    else:
        count = int(attrs.get("max_map", 1))
        require(
            0 < count < 2**24, "E-OP-ATTRIBUTE", f"max_map must be from 1 to 2**24 - 1, got {count}"
        )
        found = [convert(x[key]) if key in x else nothing for key in range(count)]
    return np.array([found], dtype)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:f}"


_CASTS: dict[str, tuple[Any, Callable[[Any], Any], Any]] = {
    "TO_FLOAT": (np.float32, float, 0.0),
    "TO_INT64": (np.int64, lambda v: int(float(v)), 0),
    "TO_STRING": (np.object_, _text, "0.f"),
}

ON_MAPS: dict[str, Callable[[Any, Attributes, Type], Any]] = {
    "ZipMap": _zip_map,
    "DictVectorizer": _dict_vectorizer,
    "CastMap": _cast_map,
}
"""The operators whose operands are maps, which are not tensors."""
