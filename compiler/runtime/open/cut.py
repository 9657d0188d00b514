"""Division of a graph at values whose sizes are known only after earlier nodes have run.

Most graphs have a single part. The size of a value may depend on data, for example on the number of
nonzero elements or of selected boxes. The node that computes such a value runs separately. Nodes
that need the size are in a later part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.types import PLAIN, TensorType, Type, open_symbols


@dataclass(frozen=True, slots=True)
class HostNode:
    """A node run by the reference implementation between parts: its result determines sizes."""

    node: Node


_PLAIN = ".plain"


def outer_name(name: str) -> str:
    """Return the name that the input of a part has in the original graph."""
    return name.removesuffix(_PLAIN)


def cut(graph: Graph, known: frozenset[str]) -> list[Graph | HostNode]:
    """Divide the graph into parts, whose sizes are known when they start, and nodes between them.

    `known` are the symbols that the inputs' shapes determine.
    """
    groups = list(_groups(graph, known))
    if len(groups) == 1 and not isinstance(groups[0], HostNode):
        return [graph]
    made: list[Graph | HostNode] = []
    for number, group in enumerate(groups):
        if isinstance(group, HostNode):
            made.append(group)
        else:
            made.append(_part(graph, group, groups[number + 1 :]))
    return made


def _groups(graph: Graph, known: frozenset[str]) -> Iterable[list[Node] | HostNode]:
    """Yield maximal groups of nodes that may run together."""
    available = {v.name for v in graph.inputs} | set(graph.constants)
    symbols = set(known)
    left = list(graph.nodes)
    while left:
        taken: list[Node] = []
        for node in left:
            if available.issuperset(node.reads) and _symbols(node.types) <= symbols:
                taken.append(node)
                available.update(node.outputs)
        if taken:
            yield taken
        ids = {id(n) for n in taken}
        left = [n for n in left if id(n) not in ids]
        ready = [n for n in left if available.issuperset(n.reads)]
        for node in ready:
            yield HostNode(node)
            available.update(node.outputs)
            symbols |= _symbols(node.types)
        left = [n for n in left if not any(n is r for r in ready)]


def _symbols(types: Iterable[Type]) -> frozenset[str]:
    return open_symbols(types)


def _part(graph: Graph, nodes: Sequence[Node], later: Sequence[list[Node] | HostNode]) -> Graph:
    """Return a group of nodes as a graph, with inputs and results in plain layout.

    The inputs are the values that the group reads; the results are the values that others read.
    """
    made = {o for n in nodes for o in n.outputs if o}
    read = dict.fromkeys(r for n in nodes for r in n.reads)
    after = {r.value for r in graph.results}
    for group in later:
        members = (group.node,) if isinstance(group, HostNode) else group
        after |= {r for n in members for r in n.reads}
    inputs: list[Value] = []
    nodes = list(nodes)
    for name in read:
        if name in made or name in graph.constants:
            continue
        t = graph.types[name]
        if isinstance(t, TensorType) and not t.layout.is_plain:
            plain = f"{name}{_PLAIN}"
            nodes.insert(0, Node("relayout", (plain,), (name,), (t,), name=plain))
            inputs.append(Value(plain, t.with_layout(PLAIN)))
        else:
            inputs.append(Value(name, t))
    results = tuple(Result(o, o) for n in nodes for o in n.outputs if o in made and o in after)
    constants = {k: c for k, c in graph.constants.items() if k in read}
    return replace(
        graph, inputs=tuple(inputs), results=results, nodes=tuple(nodes), constants=constants
    )
