"""Open types closed by what has become known since they were inferred."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts, typed_regions
from compiler.ir.types import TensorType, logical
from compiler.ir.verify import refines


def with_closed_types(graph: Graph) -> Graph:
    """The graph with types closed that were open, and that elements known now decide."""
    if all(isinstance(t, TensorType) and t.is_static for n in graph.nodes for t in n.types):
        return graph
    facts = Facts.of_graph(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        before = node
        if node.op != "fusion" and node.regions:
            typed = typed_regions(node, facts)
            node = node if typed.regions == node.regions else typed
        types = tuple(
            found if found != old and refines(logical(found), logical(old)) else old
            for found, old in zip(facts.visit(node), node.types, strict=True)
        )
        facts.types.update((o, t) for o, t in zip(node.outputs, types, strict=True) if o)
        same = node is before and types == node.types
        nodes.append(before if same else replace(node, types=types))
    return replace(graph, nodes=tuple(nodes))
