"""Payloads of graphs: complete graphs, changes, and skeletons for drawings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import compiler.ops
from app.wire import VERSION
from app.wire.identities import Identified
from app.wire.levels import Level, has_bodies, levels
from app.wire.marks import marks
from app.wire.shapes import stages as shapes
from app.wire.texts import shortened
from compiler.figures.models import bytes_of_constant
from compiler.ir import text as ir_text
from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Seeded, Splat
from compiler.ir.graph import Node, Value
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType, Type

assert compiler.ops.__doc__, "importing the operators registers them"

_ATTRIBUTE_CHARACTERS = 400
_LITERAL_CHARACTERS = 200


def family(node: Node) -> str:
    """Return the family that sets a node's colour: a kind of operator, `control` or `opaque`."""
    if node.op == "fusion":
        return str(node.attrs.get("kind", "opaque"))
    if node.regions:
        return "control"
    return operator_family(node.op)


def operator_family(op: str) -> str:
    """Return the kind of a declared operator; `opaque` for other operators."""
    declared = OPERATORS.get(op)
    return declared.kind if declared else "opaque"


def stage_graph(
    stage: int, graph_stage: int, name: str, now: Identified, before: Identified | None, arrow: str
) -> shapes.StageGraph:
    """Return the payload of a stage's graph, with the changes by its pass."""
    return {
        "version": VERSION,
        "stage": stage,
        "graph_stage": graph_stage,
        "name": name,
        **_region(now, arrow),
        **marks(before, now, arrow),
    }


def _region(now: Identified, arrow: str) -> shapes.Region:
    """Return nodes, edges and constants of all levels of a graph."""
    return {
        "nodes": list(_level_nodes(Level.of(now, arrow))),
        "edges": [edge for level in levels(now, arrow) for edge in _edges(level)],
        "constants": list(_constants(now, arrow)),
    }


def _level_nodes(level: Level) -> Iterator[shapes.GraphNode]:
    """Yield inputs, nodes and results of a level; the bodies of a node follow the node."""
    graph = level.graph
    yield from (_placed(level, _input(level.id(v.name), v)) for v in graph.inputs)
    for node in graph.nodes:
        yield _placed(level, _node(level.node_id(node), node, level.arrow))
        for body in level.inside(node):
            yield from _level_nodes(body)
    for r in graph.results:
        yield _placed(level, _result(level.result_id(r.name), r.name, r.value))


def _placed(level: Level, node: shapes.GraphNode) -> shapes.GraphNode:
    if level.way is not None:
        node["inside"] = level.way
    return node


def _edges(level: Level) -> Iterator[shapes.Edge]:
    """Yield rows [from, to, operand index, value]; index is -1 for captures of a fusion.

    If a node in a body captures a value, an edge leads from outside the body to this node.
    """
    for source, reader, index, value in level.reads():
        if not source.is_constant:
            yield source.id, reader, index, value


def _input(key: str, v: Value) -> shapes.GraphNode:
    outputs, types = [v.name], [str(v.type)]
    return {**_END, "id": key, "name": v.name, "outputs": outputs, "types": types}


def _result(key: str, name: str, value: str) -> shapes.GraphNode:
    end: shapes.GraphNode = {**_END, "id": key, "kind": "result", "name": name}
    return {**end, "op": "result", "family": "result", "inputs": [value]}


_END: shapes.GraphNode = {
    "id": "",
    "kind": "input",
    "name": "",
    "op": "input",
    "family": "input",
    "outputs": [],
    "types": [],
    "inputs": [],
    "attrs": {},
    "origins": [],
    "regions": {},
}


def _node(key: str, node: Node, arrow: str) -> shapes.GraphNode:
    regions = {} if has_bodies(node) else node.regions
    return {
        "id": key,
        "kind": "node",
        "name": node.name,
        "op": node.op,
        "family": family(node),
        "outputs": list(node.outputs),
        "types": list(map(str, node.types)),
        "inputs": list(node.inputs),
        "attrs": {
            k: shortened(ir_text.attribute(v), _ATTRIBUTE_CHARACTERS) for k, v in node.attrs.items()
        },
        "origins": list(node.origins),
        "regions": {key: _region(Identified(g), arrow) for key, g in regions.items()},
    }


def _constants(now: Identified, arrow: str) -> Iterator[shapes.GraphConstant]:
    """Yield the constants of all levels; a body that captures a constant may read it."""
    every = list(levels(now, arrow))
    readers: dict[str, dict[str, None]] = {}
    for level in every:
        for source, reader, _, _ in level.reads():
            if source.is_constant:
                readers.setdefault(source.id, {})[reader] = None
    for level in every:
        for name, c in level.graph.constants.items():
            key = level.id(name)
            made = _constant(key, c, list(readers.get(key, ())))
            yield made if level.way is None else {**made, "value": name}


def _constant(key: str, c: Constant, readers: list[str]) -> shapes.GraphConstant:
    storage, text = _storage(c)
    return {
        "name": key,
        "type": str(c.type),
        "storage": storage,
        "text": shortened(text, _LITERAL_CHARACTERS),
        "bytes": bytes_of_constant(c),
        "stored_bytes": c.stored_bytes,
        "origins": list(c.origins),
        "readers": readers,
    }


def _storage(c: Constant) -> tuple[shapes.StorageKind, str]:
    match c.storage:
        case FileRange(_, offset, nbytes):
            return "file", f"{nbytes} bytes of the model file, from byte {offset}"
        case storage:
            return _STORAGE[type(storage)], ir_text.storage_text(c)


_STORAGE: dict[type, shapes.StorageKind] = {
    Splat: "splat",
    Seeded: "seeded",
    Literal: "literal",
    Bytes: "blob",
}


def skeleton(now: Identified, arrow: str) -> dict[str, Any]:
    """Return a graph for drawing: [id, label, operator, origins] of each node, and distinct edges.

    The label is the longer of the two lines in the drawn node. A node inside a body has a fifth
    item: the id of the node with the body, and the name of the region.
    """
    nodes = list(_drawn(Level.of(now, arrow)))
    edges = dict.fromkeys((e[0], e[1]) for level in levels(now, arrow) for e in _edges(level))
    return {"version": VERSION, "nodes": nodes, "edges": [list(e) for e in edges]}


def _drawn(level: Level) -> Iterator[list[Any]]:
    way = [list(level.way)] if level.way is not None else []
    for v in level.graph.inputs:
        yield [level.id(v.name), max(v.name, drawn_type(v.type), key=len), "input", [], *way]
    for n in level.graph.nodes:
        label = max(drawn_name(n), drawn_type(n.type), key=len)
        yield [level.node_id(n), label, n.op, list(n.origins), *way]
        for body in level.inside(n):
            yield from _drawn(body)
    for r in level.graph.results:
        yield [level.result_id(r.name), r.name, "result", [], *way]


def drawn_name(node: Node) -> str:
    """Return the first line of a drawn node: its operator, or the operators of a fusion."""
    inner = [n.op for n in node.regions["body"].nodes] if node.op == "fusion" else []
    if len(inner) > 3:
        return f"{inner[0]} + {len(inner) - 1}"
    return " + ".join(inner) or node.op


def drawn_type(t: Type) -> str:
    """Return the second line of a drawn node: `i8 1×64×55×55 c16`; the type f32 is omitted."""
    if not isinstance(t, TensorType) or t.shape is None:
        return str(t)
    words = [
        "" if t.dtype is DType.f32 else str(t.dtype),
        "×".join(map(str, t.dims)) or "scalar",
        f"c{t.layout.block}" if t.layout.block > 1 else "",
    ]
    return " ".join(filter(None, words))
