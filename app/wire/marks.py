"""Marks of the nodes and constants of a graph: the difference to the previous graph, by id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from app.wire.identities import Identified
from app.wire.levels import ARROW, has_bodies, levels
from app.wire.shapes.stages import Marks
from compiler.ir import text as ir_text
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Value
from compiler.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type

_Part = Node | Constant | Value | str
_Key = tuple[bool, str]
"""Whether a part is a constant, and its id: a later constant may have the id of a node as name."""


def marks(before: Identified | None, now: Identified, arrow: str = ARROW) -> Marks:
    """Return the ids of added, changed, refined and removed nodes and constants, at all levels."""
    found: Marks = {"added": [], "changed": [], "refined": [], "removed": []}
    if before is None or before.graph is now.graph:
        return found
    old, new = dict(_parts(before, arrow)), dict(_parts(now, arrow))
    for key, part in new.items():
        was = old.get(key)
        if was is None:
            found["added"].append(key[1])
        elif was is not part and not _same(was, part):
            found["refined" if _refines(was, part) else "changed"].append(key[1])
    found["removed"] = [own for is_constant, own in old if (is_constant, own) not in new]
    return found


def _parts(now: Identified, arrow: str) -> Iterator[tuple[_Key, _Part]]:
    """Yield everything with an id: nodes, constants, and the inputs and results of bodies."""
    for level in levels(now, arrow):
        yield from (((False, level.node_id(n)), n) for n in level.graph.nodes)
        yield from (((True, level.id(name)), c) for name, c in level.graph.constants.items())
        if level.way is not None:
            yield from (((False, level.id(v.name)), v) for v in level.graph.inputs)
            yield from (((False, level.result_id(r.name)), r.value) for r in level.graph.results)


def _same(a: _Part, b: _Part) -> bool:
    match a, b:
        case Node(), Node():
            return _lines(a) == _lines(b)
        case Constant(), Constant():
            return a.type == b.type and a.storage is b.storage
        case _:
            return a == b


def _lines(node: Node) -> list[str]:
    """Return the text of a node without its bodies; the nodes of a body have marks of their own."""
    lines = ir_text.node_lines(node)
    return [next(lines)] if has_bodies(node) else list(lines)


def _refines(a: _Part, b: _Part) -> bool:
    """Return whether two parts differ only in types, and the types of `b` are more precise."""
    match a, b:
        case Node(), Node():
            return _node_refines(a, b)
        case Value(), Value():
            return a.name == b.name and _more_precise(a.type, b.type)
        case _:
            return False


def _node_refines(a: Node, b: Node) -> bool:
    """Return whether `b` refines `a`; for a fusion, each node of the body must refine its
    counterpart."""
    return (
        len(a.types) == len(b.types)
        and _same(replace(a, types=b.types, regions={}), replace(b, regions={}))
        and all(map(_more_precise, a.types, b.types))
        and a.regions.keys() == b.regions.keys()
        and (has_bodies(a) or all(_region_refines(a.regions[k], b.regions[k]) for k in a.regions))
    )


def _region_refines(a: Graph, b: Graph) -> bool:
    return (
        len(a.nodes) == len(b.nodes)
        and a.constants.keys() == b.constants.keys()
        and [v.name for v in a.inputs] == [v.name for v in b.inputs]
        and [r.value for r in a.results] == [r.value for r in b.results]
        and all(map(_node_refines, a.nodes, b.nodes))
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
