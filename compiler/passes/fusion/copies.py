"""Duplication of cheap nodes into each of their readers, instead of storing their results."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import traffic_text
from compiler.passes.fusion.groups import Grouping
from compiler.passes.fusion.kinds import EXPENSIVE, is_cheap_number, is_elementwise, share_lanes
from compiler.trace import Log


def copies_worth_making(graph: Graph, grouping: Grouping) -> list[Node]:
    """Find cheap elementwise nodes to duplicate into their elementwise readers in other kernels.

    Duplication saves the write and the reads of the result, at the cost of additional reads of the
    operands.
    """
    found: list[Node] = []
    for node in graph.nodes:
        users = grouping.users(node)
        group = grouping.group_of.get(node.output)
        if group is None or group.kind != "elementwise" or len(users) < 2:
            continue
        if len(group.nodes) > 1 or node.op in EXPENSIVE or grouping.is_result(node):
            continue
        if all(_is_elementwise_reader(grouping, u, node) for u in users):
            if copy_saving(graph, node, len(users)) > 0:
                found.append(node)
    return found


def _is_elementwise_reader(grouping: Grouping, user: Node, node: Node) -> bool:
    group = grouping.group_of.get(user.output)
    if group is None or len(group.nodes) >= grouping.max_nodes:
        return False
    if is_cheap_number(node) and is_elementwise(user) and share_lanes(node, group.first):
        return True
    return group.kind == "elementwise" and user.tensor.shape == node.tensor.shape


def copy_saving(graph: Graph, node: Node, n_users: int) -> int:
    """Return the number of bytes saved by computing a node in each of its readers."""
    read = 0
    for i in filter(None, node.inputs):
        t = graph.types[i]
        constant = graph.constants.get(i)
        if isinstance(t, TensorType) and t.is_ranked:
            read += 0 if constant is not None and constant.is_splat else t.assumed.nbytes
    return node.tensor.assumed.nbytes * (1 + n_users) - read * (n_users - 1)


def with_copies(graph: Graph, copies: list[Node], log: Log) -> Graph:
    """Duplicate each node for all of its readers except the first."""
    ed = Editor(graph)
    # Readers come first, since a reader of a duplicated node may be duplicated too.
    for old in reversed(copies):
        node = ed.producer(old.output)
        if node is None:
            continue
        users = ed.users(node.output)
        saved = copy_saving(graph, old, len(users))
        made: list[Node] = []
        for user in users[1:]:
            name = ed.fresh(node.output)
            made.append(ed.add(replace(node, outputs=(name,), name=name)))
            ed.update(user, user.with_inputs({node.output: name}))
        because = f"computed in each of its {len(users)} readers; {traffic_text(saved)}"
        log.applied("copy_cheap_producer", node.output, because, [node], [node, *made])
    return ed.graph()
