"""Payloads of graphs: complete graphs, changes, and skeletons for drawings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import compiler.ops
from app.wire import VERSION
from app.wire.identities import Identified
from app.wire.marks import marks
from app.wire.shapes import stages as shapes
from app.wire.texts import shortened
from compiler.figures.models import bytes_of_constant
from compiler.ir import text as ir_text
from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Seeded, Splat
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType, Type

assert compiler.ops.__doc__, "importing the operators registers them"

_ATTRIBUTE_CHARACTERS = 400
_LITERAL_CHARACTERS = 200


def result_prefix(graph: Graph) -> str:
    """Return the prefix of result ids: a sequence of arrows with which no name of a value begins.

    Passes create new names, but no name that begins with more arrows.
    """
    prefix = "→"
    names = [*graph.types, *(r.name for r in graph.results)]
    while any(name.startswith(prefix) for name in names):
        prefix += "→"
    return prefix


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
    stage: int, graph_stage: int, name: str, now: Identified, before: Identified | None, prefix: str
) -> shapes.StageGraph:
    """Return the payload of a stage's graph, with the changes by its pass."""
    return {
        "version": VERSION,
        "stage": stage,
        "graph_stage": graph_stage,
        "name": name,
        **_region(now, prefix),
        **marks(before, now),
    }


def _region(now: Identified, prefix: str) -> shapes.Region:
    """Return nodes, edges and constants of a graph; its inputs are the first nodes, its results the
    last."""
    graph = now.graph
    readers: dict[str, list[str]] = {name: [] for name in graph.constants}
    for node in graph.nodes:
        for name in dict.fromkeys(node.reads):
            if name in readers:
                readers[name].append(now.id_of(node))
    for r in graph.results:
        if r.value in readers:
            readers[r.value].append(prefix + r.name)
    return {
        "nodes": [
            *(_input(v.name, str(v.type)) for v in graph.inputs),
            *(_node(n, now.id_of(n), prefix) for n in graph.nodes),
            *(_result(prefix, r.name, r.value) for r in graph.results),
        ],
        "edges": list(_edges(now, prefix)),
        "constants": [_constant(name, c, readers[name]) for name, c in graph.constants.items()],
    }


def _edges(now: Identified, prefix: str) -> Iterator[shapes.Edge]:
    """Return rows [from, to, operand index, value]; index is -1 for values that regions capture."""
    graph = now.graph
    makers = {v.name: v.name for v in graph.inputs}
    makers.update((o, now.id_of(n)) for n in graph.nodes for o in n.outputs if o)
    for node in graph.nodes:
        seen: set[str] = set()
        for index, name in enumerate(node.inputs):
            if name in makers:
                yield makers[name], now.id_of(node), index, name
                seen.add(name)
        for name in dict.fromkeys(node.reads):
            if name in makers and name not in seen:
                yield makers[name], now.id_of(node), -1, name
    for r in graph.results:
        if r.value in makers:
            yield makers[r.value], prefix + r.name, 0, r.value


def _input(name: str, t: str) -> shapes.GraphNode:
    return {**_END, "id": name, "kind": "input", "name": name, "outputs": [name], "types": [t]}


def _result(prefix: str, name: str, value: str) -> shapes.GraphNode:
    end: shapes.GraphNode = {**_END, "id": prefix + name, "kind": "result", "name": name}
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


def _node(node: Node, own: str, prefix: str) -> shapes.GraphNode:
    return {
        "id": own,
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
        "regions": {key: _region(Identified(g), prefix) for key, g in node.regions.items()},
    }


def _constant(name: str, c: Constant, readers: list[str]) -> shapes.GraphConstant:
    storage, text = _storage(c)
    return {
        "name": name,
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


def skeleton(now: Identified, prefix: str) -> dict[str, Any]:
    """Return a graph for drawing: [id, label, operator, origins] of each node, and distinct edges.

    The label is the longer of the two lines in the drawn node.
    """
    graph = now.graph
    nodes = [
        *([v.name, max(v.name, drawn_type(v.type), key=len), "input", []] for v in graph.inputs),
        *(
            [now.id_of(n), max(drawn_name(n), drawn_type(n.type), key=len), n.op, list(n.origins)]
            for n in graph.nodes
        ),
        *([prefix + r.name, r.name, "result", []] for r in graph.results),
    ]
    edges = dict.fromkeys((e[0], e[1]) for e in _edges(now, prefix))
    return {"version": VERSION, "nodes": nodes, "edges": [list(e) for e in edges]}


def drawn_name(node: Node) -> str:
    """Return the first line of a drawn node: its operator, or the operators of a fusion."""
    inner = [n.op for n in node.regions["body"].nodes] if node.op == "fusion" else []
    if len(inner) > 3:
        return f"{inner[0]} + {len(inner) - 1}"
    return " + ".join(inner) or node.op


def drawn_type(t: Type) -> str:
    """Return the second line of a drawn node: `i8 1×64×55×55 c16`, without the type if f32."""
    if not isinstance(t, TensorType) or t.shape is None:
        return str(t)
    words = [
        "" if t.dtype is DType.f32 else str(t.dtype),
        "×".join(map(str, t.dims)) or "scalar",
        f"c{t.layout.block}" if t.layout.block > 1 else "",
    ]
    return " ".join(filter(None, words))
