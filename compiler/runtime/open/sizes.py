"""The values of size symbols: read from shapes of inputs and values, or derived by type rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.affine import Affine, Expr, axis_symbol, substitute
from compiler.ir.graph import Graph
from compiler.ir.infer import infer, specialize
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType, Type


class NotDetermined(Exception):
    """Raised if the inputs do not determine sizes in the same way as at compile time."""


def input_symbols(graph: Graph) -> frozenset[str]:
    """Return the symbols that are entire dimensions of inputs: a run reads their values."""
    found: set[str] = set()
    for v in graph.inputs:
        if isinstance(v.type, TensorType):
            found |= {s for d in v.type.shape or () if (s := axis_symbol(d)) is not None}
    return frozenset(found)


SizePlace = tuple[str, str, int]
"""A symbol, and the input and axis that determine it."""


def size_places(graph: Graph) -> tuple[SizePlace, ...]:
    """Return the input and axis of each symbol that is an entire dimension in the inputs' types."""
    found: dict[str, SizePlace] = {}
    for v in graph.inputs:
        if isinstance(v.type, TensorType):
            for axis, d in enumerate(v.type.shape or ()):
                s = axis_symbol(d)
                if s is not None:
                    found.setdefault(s, (s, v.name, axis))
    return tuple(found.values())


def sizes_of_inputs(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Return, from the checked inputs, the value of each symbol that is an entire dimension."""
    return {s: np.shape(inputs[name])[axis] for s, name, axis in size_places(graph)}


def sizes_of_value(name: str, t: Type, value: Any, sizes: dict[str, int]) -> None:
    """Record the sizes of a computed value. Errors: E-GRAPH-TYPE if the shape does not fit."""
    if not isinstance(t, TensorType) or t.shape is None:
        return
    shape = np.shape(value)
    fits = len(shape) == len(t.shape)
    for d, n in zip(t.shape, shape, strict=False):
        s = axis_symbol(d)
        if s is not None:
            sizes.setdefault(s, n)
        expected = substitute(d, sizes)
        fits = fits and (not isinstance(expected, int) or expected == n)
    if not fits:
        raise CompileError(
            "E-GRAPH-TYPE",
            f"{name!r} is recorded as {t}, but has the shape {list(shape)} in a run",
            hint="the model states a wrong shape for this value; remove its value_info",
        )


def inferred_sizes(graph: Graph, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return the sizes of all symbols that these input shapes determine."""
    known = specialize(graph, shapes)
    sizes: dict[str, int] = {}
    for before, after in zip(graph.nodes, known.nodes, strict=True):
        for t, u in zip(before.types, after.types, strict=True):
            if isinstance(t, TensorType) and isinstance(u, TensorType):
                for d, n in zip(t.shape or (), u.shape or (), strict=False):
                    _note(d, n, sizes)
    return sizes


def require_consistent(graph: Graph) -> None:
    """Check that type rules confirm the recorded types of a graph in which sizes are numbers.

    Symbols may have hidden that two sizes must be equal, or that a recorded size is wrong. Errors:
    those of the type rules for inconsistent sizes; NotDetermined for a wrong recorded type.
    """
    for before, after in zip(graph.nodes, infer(graph)[0].nodes, strict=True):
        for t, u in zip(before.types, after.types, strict=True):
            if t != u and isinstance(t, TensorType) and t.is_static:
                raise NotDetermined(f"{before.output} is {u} here, and not {t} as recorded")
        kind = OPERATORS[before.op].kind if before.op in OPERATORS else ""
        source = graph.types[before.inputs[0]] if kind == "view" else None
        if isinstance(source, TensorType) and source.is_static and before.tensor.is_static:
            if source.nbytes != before.tensor.nbytes:
                raise NotDetermined(f"{before.output}: {before.tensor} is not a view of {source}")


def require_fitting(body: Graph) -> None:
    """Check, as `require_consistent` does, a nested body that may never be executed.

    Errors: NotDetermined for any inconsistency. Specialised code then runs instead, and fails only
    if a run reaches the body.
    """
    try:
        require_consistent(body)
    except CompileError as e:
        raise NotDetermined(f"inside a node: {e.message}") from e


def _note(d: Expr, n: Expr, sizes: dict[str, int]) -> None:
    s = axis_symbol(d)
    if isinstance(d, Affine) and isinstance(n, int) and s is not None:
        sizes.setdefault(s, n)
