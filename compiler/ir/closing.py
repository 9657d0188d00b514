"""Refinement of open types by facts found after the types were inferred."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir import affine
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts, typed_regions
from compiler.ir.types import TensorType, Type, logical, open_symbols
from compiler.ir.verify import refines


def with_closed_types(graph: Graph) -> Graph:
    """Refine open types that newly known elements determine."""
    if all(isinstance(t, TensorType) and t.is_static for n in graph.nodes for t in n.types):
        return graph
    facts = Facts.of_graph(graph)
    seen = open_symbols(v.type for v in graph.inputs)
    nodes: list[Node] = []
    for node in graph.nodes:
        before = node
        if node.op != "fusion" and node.regions:
            typed = typed_regions(node, facts)
            node = node if typed.regions == node.regions else typed
        types = tuple(
            _closer(found, old, seen)
            for found, old in zip(facts.visit(node), node.types, strict=True)
        )
        seen |= open_symbols(types)
        facts.types.update((o, t) for o, t in zip(node.outputs, types, strict=True) if o)
        is_same = node is before and types == node.types
        nodes.append(before if is_same else replace(node, types=types))
    same = all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
    return graph if same else replace(graph, nodes=tuple(nodes))


def _closer(found: Type, old: Type, seen: frozenset[str]) -> Type:
    """Refine the old type by the inferred type, but ignore sizes that differ only in their names.

    Inference may determine less than before: a value that inference evaluated may now be inside a
    kernel.
    """
    if found == old or not refines(logical(found), logical(old)):
        return old
    if not (isinstance(found, TensorType) and isinstance(old, TensorType)):
        return found
    if found.shape is None or old.shape is None:
        return found
    shape = (
        f if affine.symbols(f) <= seen else o for f, o in zip(found.shape, old.shape, strict=True)
    )
    return replace(found, shape=tuple(shape))
