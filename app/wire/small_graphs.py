"""Drawings of small graphs: DOT, and the words of the boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.wire.graphs import family
from app.wire.shapes import lessons as shapes
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from course.graphs import read_graph

MOST_DRAWN = 60
"""Maximum number of nodes of a drawing; larger graphs are shown as text only."""
_INCH = 72.0
_CHARACTER, _MARGIN, _HEIGHT = 7.2, 22.0, 42.0
"""Sizes of a box in px: of a character, of both margins, and the height."""
_STYLE = (
    f"graph [nodesep=0.3 ranksep=0.36] node [shape=box fixedsize=true height={_HEIGHT / _INCH:.3f}]"
)
_NAMES_IN_FUSION = 4
_DETAIL_CHARACTERS = 30

Line = tuple[str, str]
"""An edge of a drawing: the keys of two boxes."""


def drawings(texts: Mapping[str, str]) -> dict[str, shapes.GraphDrawing]:
    """Return drawings of graphs by name; texts that are no graphs have none."""
    found: dict[str, shapes.GraphDrawing] = {}
    for name, text in texts.items():
        try:
            found[name] = drawing(read_graph(text, name))
        except CompileError:
            continue
    return found


def drawing(graph: Graph) -> shapes.GraphDrawing:
    """Return the drawing of a graph, without constants."""
    if len(graph.nodes) > MOST_DRAWN:
        return {"dot": "", "nodes": [], "n_more": len(graph.nodes)}
    boxes = [*boxes_of(graph)]
    keys = {name: box["key"] for box, names in boxes for name in names}
    return drawn([box for box, _ in boxes], lines_of(graph, keys))


def drawn(boxes: Sequence[shapes.DrawnNode], lines: Iterable[Line]) -> shapes.GraphDrawing:
    """Return the drawing of boxes and the lines between them."""
    sizes = [f"{b['key']} [width={_width(b) / _INCH:.3f}]" for b in boxes]
    edges = [f"{source} -> {target}" for source, target in lines]
    return {
        "dot": "\n".join(("digraph {", _STYLE, *sizes, *edges, "}")),
        "nodes": list(boxes),
        "n_more": 0,
    }


def lines_of(graph: Graph, keys: Mapping[str, str]) -> Iterator[Line]:
    """Yield the lines of a graph; `keys` has the box of each value, and r0, r1 are the results."""
    for node in graph.nodes:
        sources = dict.fromkeys(keys[i] for i in _reads(node) if i in keys)
        yield from ((source, keys[node.outputs[0]]) for source in sources)
    yield from ((keys[r.value], f"r{i}") for i, r in enumerate(graph.results) if r.value in keys)


def _reads(node: Node) -> Iterator[str]:
    """Yield the operands of a node, and the values of the graph that its regions capture."""
    yield from node.inputs
    for region in node.regions.values():
        for inner in region.nodes:
            yield from _reads(inner)


def boxes_of(graph: Graph) -> Iterator[tuple[shapes.DrawnNode, tuple[str, ...]]]:
    """Yield the boxes of inputs, nodes and results, each with the values that it defines."""
    for i, v in enumerate(graph.inputs):
        yield _box(f"i{i}", v.name, "input", v.name, str(v.type), "input"), (v.name,)
    for i, node in enumerate(graph.nodes):
        name = node.outputs[0]
        detail = f"{name}: {node.types[0]}"
        yield _box(f"n{i}", name, node.op, _label(node), detail, family(node)), node.outputs
    for i, r in enumerate(graph.results):
        yield _box(f"r{i}", r.name, "result", r.name, "result", "result"), ()


def _box(key: str, name: str, op: str, label: str, detail: str, kind: str) -> shapes.DrawnNode:
    short = detail if len(detail) <= _DETAIL_CHARACTERS else f"{detail[: _DETAIL_CHARACTERS - 1]}…"
    return {"key": key, "id": name, "op": op, "label": label, "detail": short, "family": kind}


def _label(node: Node) -> str:
    """Return the operator of a node; for a fusion, the operators inside."""
    if node.op != "fusion":
        return node.op
    inside = [n.op for region in node.regions.values() for n in region.nodes]
    shown = inside[:_NAMES_IN_FUSION]
    return " · ".join([*shown, f"+ {len(inside) - len(shown)}"] if inside[len(shown) :] else shown)


def _width(box: shapes.DrawnNode) -> float:
    return _MARGIN + _CHARACTER * max(len(box["label"]), 0.86 * len(box["detail"]), 5)
