"""The numbers of a program's symbols: read off inputs and values, or found by type rules."""

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
    """Sizes do not follow from the inputs as they did when the program was made."""


def input_symbols(graph: Graph) -> frozenset[str]:
    """The symbols that stand alone as a dimension of some input: a run reads their numbers off."""
    found: set[str] = set()
    for v in graph.inputs:
        if isinstance(v.type, TensorType):
            found |= {s for d in v.type.shape or () if (s := axis_symbol(d)) is not None}
    return frozenset(found)


SizePlace = tuple[str, str, int]
"""A symbol, and the input and axis where its number is read."""


def size_places(graph: Graph) -> tuple[SizePlace, ...]:
    """Where the number of every symbol that stands alone in the inputs' types is read."""
    found: dict[str, SizePlace] = {}
    for v in graph.inputs:
        if isinstance(v.type, TensorType):
            for axis, d in enumerate(v.type.shape or ()):
                s = axis_symbol(d)
                if s is not None:
                    found.setdefault(s, (s, v.name, axis))
    return tuple(found.values())


def sizes_of_inputs(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, int]:
    """The number of every symbol that stands alone in the inputs' types, for checked inputs."""
    return {s: np.shape(inputs[name])[axis] for s, name, axis in size_places(graph)}


def sizes_of_value(name: str, t: Type, value: Any, sizes: dict[str, int]) -> None:
    """Note the sizes that a computed value tells. Errors: E-GRAPH-TYPE for another shape."""
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
            f"{name!r} is recorded as {t}, but running gave the shape {list(shape)}",
            hint="the model states a wrong shape for this value; remove its value_info",
        )


def inferred_sizes(graph: Graph, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The symbols of all values that become numbers when the inputs have these shapes."""
    known = specialize(graph, shapes)
    sizes: dict[str, int] = {}
    for before, after in zip(graph.nodes, known.nodes, strict=True):
        for t, u in zip(before.types, after.types, strict=True):
            if isinstance(t, TensorType) and isinstance(u, TensorType):
                for d, n in zip(t.shape or (), u.shape or (), strict=False):
                    _note(d, n, sizes)
    return sizes


def require_consistent(graph: Graph) -> None:
    """Check that type rules give what is on record, now that sizes are numbers.

    Symbols may have hidden that two sizes had to be equal, or that a size on record is wrong.
    Errors: the rules' own for sizes that do not fit; NotDetermined where the record is wrong.
    """
    for before, after in zip(graph.nodes, infer(graph)[0].nodes, strict=True):
        for t, u in zip(before.types, after.types, strict=True):
            if t != u and isinstance(t, TensorType) and t.is_static:
                raise NotDetermined(f"{before.output} is {u} here, and not {t} as recorded")
        kind = OPERATORS[before.op].kind if before.op in OPERATORS else ""
        source = graph.types[before.inputs[0]] if kind == "view" else None
        if isinstance(source, TensorType) and source.is_static and before.tensor.is_static:
            if source.nbytes != before.tensor.nbytes:
                raise NotDetermined(f"{before.output}: {before.tensor} is no view of {source}")


def require_fitting(body: Graph) -> None:
    """As `require_consistent` for what is inside a node, which may never be reached.

    Errors: NotDetermined for whatever is wrong; code for these sizes alone fails where it has to.
    """
    try:
        require_consistent(body)
    except CompileError as e:
        raise NotDetermined(f"inside a node: {e.message}") from e


def _note(d: Expr, n: Expr, sizes: dict[str, int]) -> None:
    s = axis_symbol(d)
    if isinstance(d, Affine) and isinstance(n, int) and s is not None:
        sizes.setdefault(s, n)
