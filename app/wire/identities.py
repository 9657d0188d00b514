"""Identities of nodes: which node of a graph continues which node of the previous graph.

A value keeps its name when another operator computes it. If a convolution absorbs the batch_norm
that reads it, the convolution computes the value of the batch_norm. So the name of a value does not
identify a node. Provenance does: a new node continues a removed node of the same operator if the
new node's origins include the removed node's origins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compiler.ir.graph import Graph, Node

Ids = Mapping[str, str]
"""Maps the first output of a node to its id; a node is absent if its first output is its id."""


@dataclass(frozen=True, slots=True)
class Identified:
    """A graph with the ids of its nodes; in an imported graph, a node's id is its first output."""

    graph: Graph
    ids: Ids = field(default_factory=dict)

    def id_of(self, node: Node) -> str:
        """Return the id of a node."""
        return self.ids.get(node.output, node.output)

    def after(self, graph: Graph) -> Identified:
        """Return the graph after a pass, with ids that continue the ids of this graph.

        Example: `x = conv(...)`, `y = batch_norm(x)` => `y = conv(...)`. The convolution keeps the
        id `x`, and the id `y` of the batch_norm is gone.
        """
        if graph is self.graph:
            return self
        old = {n.output: n for n in self.graph.nodes}
        continued = _continued(old, graph)
        ids: dict[str, str] = {}
        for output in (n.output for n in graph.nodes):
            was = continued.get(output, output)
            if was in old:
                ids[output] = self.ids.get(was, was)
        taken = {*ids.values(), *map(self.id_of, self.graph.nodes)}
        for output in (n.output for n in graph.nodes if n.output not in ids):
            ids[output] = _unused(output, taken)
            taken.add(ids[output])
        return Identified(graph, {output: own for output, own in ids.items() if own != output})


def identified(graphs: Iterable[Graph]) -> list[Identified]:
    """Return each graph of a chain with the ids of its nodes; the first one is the import."""
    found: list[Identified] = []
    for graph in graphs:
        found.append(found[-1].after(graph) if found else Identified(graph))
    return found


def _continued(old: Mapping[str, Node], after: Graph) -> dict[str, str]:
    """Map outputs of new nodes to the outputs of the nodes that they continue."""
    made = {o for n in after.nodes for o in n.outputs}
    gone: dict[str, list[Node]] = defaultdict(list)
    for node in old.values():
        if node.origins and made.isdisjoint(filter(None, node.outputs)):
            gone[node.op].append(node)
    found: dict[str, str] = {}
    for node in after.nodes:
        was = old.get(node.output)
        candidates = gone.get(node.op, [])
        if not candidates or (was is not None and was.op == node.op):
            continue
        origins = set(node.origins)
        # The last one is the nearest to the value that the new node computes.
        nearest = next((c for c in reversed(candidates) if origins.issuperset(c.origins)), None)
        if nearest is not None:
            candidates.remove(nearest)
            found[node.output] = nearest.output
    return found


def _unused(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name}#{number}"
        number += 1
    return free
