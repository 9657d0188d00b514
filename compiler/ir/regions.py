"""Regions as graphs of their own: what they capture from around becomes inputs and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Value
from compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class Closed:
    """A region that reads nothing from around: `captured` names its further inputs, in order."""

    graph: Graph
    captured: tuple[str, ...]


def close(region: Graph, types: Mapping[str, Type], constants: Mapping[str, Constant]) -> Closed:
    """The region with captured values as inputs behind its own, captured constants among its own.

    `types` and `constants` are those of the graph around it.
    """
    free = region.free_names
    captured = tuple(n for n in free if n not in constants)
    inputs = (*region.inputs, *(Value(n, types[n]) for n in captured))
    known = {n: constants[n] for n in free if n in constants}
    graph = replace(region, inputs=inputs, constants={**region.constants, **known})
    return Closed(graph, captured)


def reopen(graph: Graph, region: Graph, constants: Mapping[str, Constant]) -> Graph:
    """A closed region, after it was changed, as a region again: it captures what it did.

    `region` is what was closed; `constants` are those of the graph around it.
    """
    kept = {
        n: c
        for n, c in graph.constants.items()
        if n in region.constants or constants.get(n) is not c
    }
    return replace(graph, inputs=graph.inputs[: len(region.inputs)], constants=kept)


def rename_values(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with values that it defines under other names, for its regions too."""
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
    """The graph whose nodes without origins do work of these ONNX nodes, named after outputs."""
    nodes = (n if n.origins else replace(n, name=n.output, origins=origins) for n in graph.nodes)
    return replace(graph, nodes=tuple(nodes))


def without_origins(graph: Graph) -> Graph:
    """The graph as a part of something whose origins its nodes will get."""
    return replace(graph, nodes=tuple(replace(n, origins=()) for n in graph.nodes))
