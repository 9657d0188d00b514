"""Quantities of the nodes of two kinds: contractions, and movements.

Contractions are matrix products and convolutions. Movements compute nothing and copy elements to
other positions: transposes, slices, gathers and concatenations. A view, such as a reshape of a
contiguous value, copies nothing and does not count.
"""

from __future__ import annotations

from compiler.ir.graph import Node, all_nodes
from compiler.ir.operator import OPERATORS, Cost, Kind
from compiler.passes.engine.cost import node_cost
from course.quantities.quantity import quantity
from course.quantities.subject import Subject


@quantity("count")
def contractions(subject: Subject) -> float:
    """The number of matrix products and convolutions, inside and outside of fusions."""
    return _n_nodes(subject, "contraction")


@quantity("share")
def contraction_flops(subject: Subject) -> float:
    """The share of matrix products and convolutions in the operations of one run."""
    return _cost(subject, "contraction").flops / max(subject.cost.flops, 1)


@quantity("share")
def contraction_bytes(subject: Subject) -> float:
    """The share of matrix products and convolutions in the memory traffic, before any fusion."""
    return _cost(subject, "contraction").bytes_moved / max(subject.cost.bytes_moved, 1)


@quantity("count")
def movements(subject: Subject) -> float:
    """The number of nodes that only copy elements to other positions."""
    return _n_nodes(subject, "movement")


@quantity("share")
def movement_bytes(subject: Subject) -> float:
    """The share of nodes that only copy elements in the memory traffic, outside of fusions."""
    return _cost(subject, "movement").bytes_moved / max(subject.cost.bytes_moved, 1)


def _n_nodes(subject: Subject, kind: Kind) -> int:
    return sum(_is_of_kind(n, kind) for n in all_nodes(subject.graph))


def _cost(subject: Subject, kind: Kind) -> Cost:
    """Return the cost of all nodes of a kind that have a known cost and are outside fusions."""
    types = subject.graph.types
    nodes = (n for n in subject.graph.nodes if _is_of_kind(n, kind))
    costs = (node_cost(n, types.__getitem__) for n in nodes)
    return sum(filter(None, costs), Cost())


def _is_of_kind(node: Node, kind: Kind) -> bool:
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.kind == kind
