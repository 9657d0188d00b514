"""Quantities of data movement: the nodes that compute nothing and only move elements.

Transposes, slices, gathers and concatenations copy elements to other positions. Views, such as a
reshape of a contiguous value, copy nothing and do not count.
"""

from __future__ import annotations

from compiler.ir.graph import Node, all_nodes
from compiler.ir.operator import OPERATORS, Cost
from compiler.passes.engine.cost import node_cost
from course.quantities import Subject, quantity


@quantity("count")
def movements(subject: Subject) -> float:
    """The number of nodes that only copy elements to other positions."""
    return sum(map(_is_movement, all_nodes(subject.graph)))


@quantity("share")
def movement_bytes(subject: Subject) -> float:
    """The share of nodes that only copy elements in the memory traffic, outside of fusions."""
    types = subject.graph.types
    nodes = filter(_is_movement, subject.graph.nodes)
    costs = (node_cost(n, types.__getitem__) for n in nodes)
    moved = sum(filter(None, costs), Cost())
    return moved.bytes_moved / max(subject.cost.bytes_moved, 1)


def _is_movement(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.kind == "movement"
