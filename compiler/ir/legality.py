"""Whether nodes of a region may move out of the region.

A region may never run, so it may contain nodes that are illegal for these sizes.
"""

from __future__ import annotations

from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts, node_types
from compiler.ir.operator import OPERATORS


def is_legal(node: Node, facts: Facts) -> bool:
    """Return whether a node is legal outside of a region; outside, the node always runs.

    A node that reads values without facts counts as legal: its graph is itself a region.
    """
    if node.op not in OPERATORS or any(i not in facts.types for i in node.reads):
        return True
    try:
        node_types(node, *facts.operands(node), facts.types)
    except CompileError:
        return False
    return True


def first_illegal(region: Graph, outer: Facts) -> Node | None:
    """Return the first node of a region that is not legal outside of it, or None."""
    facts = Facts.of_graph(region, outer)
    for node in region.nodes:
        if not is_legal(node, facts):
            return node
        facts.record(node)
    return None
