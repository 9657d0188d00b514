"""Marks of the nodes and constants of a graph: the difference to the previous graph."""

from __future__ import annotations

from dataclasses import replace

from app.wire.identities import Identified
from app.wire.shapes.stages import Marks
from compiler.ir import text as ir_text
from compiler.ir.graph import Graph, Node
from compiler.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type


def marks(before: Identified | None, now: Identified) -> Marks:
    """Return the ids of added, changed, refined and removed nodes, and the names of constants."""
    found: Marks = {"added": [], "changed": [], "refined": [], "removed": []}
    if before is None or before.graph is now.graph:
        return found
    old = {before.id_of(n): n for n in before.graph.nodes}
    new = {now.id_of(n): n for n in now.graph.nodes}
    for own, node in new.items():
        was = old.get(own)
        if was is None:
            found["added"].append(own)
        elif was is not node and not _same(was, node):
            found["refined" if _refines(was, node) else "changed"].append(own)
    _mark_constants(found, before.graph, now.graph)
    found["removed"] = [own for own in old if own not in new]
    found["removed"] += [x for x in before.graph.constants if x not in now.graph.constants]
    return found


def _mark_constants(found: Marks, before: Graph, after: Graph) -> None:
    for name, c in after.constants.items():
        was = before.constants.get(name)
        if was is None:
            found["added"].append(name)
        elif was is not c and (was.type != c.type or was.storage is not c.storage):
            found["changed"].append(name)


def _same(a: Node, b: Node) -> bool:
    return list(ir_text.node_lines(a)) == list(ir_text.node_lines(b))


def _refines(a: Node, b: Node) -> bool:
    """Return whether two nodes differ only in their types, and the types of `b` are more precise.

    The same holds for the nodes in their regions.
    """
    return (
        _same(replace(a, types=b.types, regions={}), replace(b, regions={}))
        and all(map(_more_precise, a.types, b.types))
        and a.regions.keys() == b.regions.keys()
        and all(_region_refines(a.regions[key], b.regions[key]) for key in a.regions)
    )


def _region_refines(a: Graph, b: Graph) -> bool:
    return (
        len(a.nodes) == len(b.nodes)
        and a.constants.keys() == b.constants.keys()
        and [v.name for v in a.inputs] == [v.name for v in b.inputs]
        and [r.value for r in a.results] == [r.value for r in b.results]
        and all(map(_refines, a.nodes, b.nodes))
    )


def _more_precise(a: Type, b: Type) -> bool:
    """Return whether `b` is `a` with numbers for open sizes, or a known rank for an open rank."""
    match a, b:
        case OpaqueType(), _:
            return True
        case (SequenceType(), SequenceType()) | (OptionalType(), OptionalType()):
            return _more_precise(a.element, b.element)
        case TensorType(), TensorType():
            if (a.dtype, a.layout) != (b.dtype, b.layout):
                return False
            if a.shape is None or b.shape is None:
                return a.shape is None
            return len(a.shape) == len(b.shape) and all(
                x == y or not isinstance(x, int) for x, y in zip(a.shape, b.shape, strict=True)
            )
        case _:
            return a == b
