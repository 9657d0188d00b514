"""Conversion of regions to closed graphs: captured values become inputs and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Value
from compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class Closed:
    """A region without captures: `captured` lists the names of the additional inputs, in order."""

    graph: Graph
    captured: tuple[str, ...]


def close(region: Graph, types: Mapping[str, Type], constants: Mapping[str, Constant]) -> Closed:
    """Close a region: captured values become its last inputs; captured constants are copied.

    `types` and `constants` are the types and constants of the enclosing graph.
    """
    free = region.free_names
    captured = tuple(n for n in free if n not in constants)
    inputs = (*region.inputs, *(Value(n, types[n]) for n in captured))
    known = {n: constants[n] for n in free if n in constants}
    graph = replace(region, inputs=inputs, constants={**region.constants, **known})
    return Closed(graph, captured)


def reopen(graph: Graph, region: Graph, constants: Mapping[str, Constant]) -> Graph:
    """Convert a changed closed region back to a region with the same captures.

    `region` is the region before it was closed; `constants` are the constants of the enclosing
    graph.
    """
    kept = {
        n: c
        for n, c in graph.constants.items()
        if n in region.constants or constants.get(n) is not c
    }
    return replace(graph, inputs=graph.inputs[: len(region.inputs)], constants=kept)


def rename_values(graph: Graph, names: Mapping[str, str]) -> Graph:
    """Rename values that a graph defines, in the graph and in its regions."""
    if not names:
        return graph
    return Graph(
        graph.name,
        tuple(Value(names.get(v.name, v.name), v.type) for v in graph.inputs),
        tuple(replace(r, value=names.get(r.value, r.value)) for r in graph.results),
        tuple(_renamed(n, names) for n in graph.nodes),
        {names.get(k, k): c for k, c in graph.constants.items()},
    )


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    outputs = tuple(names.get(o, o) for o in node.outputs)
    return replace(node.with_inputs(names), outputs=outputs)


def with_origins(graph: Graph, origins: tuple[str, ...]) -> Graph:
    """Set the origins of nodes that lack origins, and name those nodes after their outputs."""
    nodes = (n if n.origins else replace(n, name=n.output, origins=origins) for n in graph.nodes)
    return replace(graph, nodes=tuple(nodes))


def without_origins(graph: Graph) -> Graph:
    """Remove the origins from a graph whose nodes will get the origins of an enclosing node."""
    return replace(graph, nodes=tuple(replace(n, origins=()) for n in graph.nodes))
