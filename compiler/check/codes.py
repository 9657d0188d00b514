"""Detection of models that round to integers of at most 8 bits, where ties may round either way."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.graph import Graph, Node
from compiler.ir.types import DType, TensorType, Type


def rounds_to_codes(graph: Graph, around: Mapping[str, Type] | None = None) -> bool:
    """Return whether any node rounds values to integers of at most eight bits.

    A node that only copies 8-bit integers does not count.
    """
    types = {**(around or {}), **graph.types}
    return any(
        _makes_codes(n, types) or any(rounds_to_codes(r, types) for r in n.regions.values())
        for n in graph.nodes
    )


def _makes_codes(node: Node, types: Mapping[str, Type]) -> bool:
    """Return whether a node computes integers of up to eight bits from floats or wider integers."""
    read = [_dtype(types.get(x)) for x in node.inputs]
    from_wide = any(d.is_float for d in read if d) or any(d.bits > 8 for d in read[:1] if d)
    made = [d for v in node.values() if (d := _dtype(v.type))]
    return from_wide and any(d.is_integer and d.bits <= 8 for d in made)


def _dtype(t: Type | None) -> DType | None:
    return t.dtype if isinstance(t, TensorType) else None
