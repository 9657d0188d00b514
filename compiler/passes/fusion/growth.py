"""Fusion plans that result from growing groups: profitable duplicates, groups, and reasons."""

from __future__ import annotations

from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.copies import copies_worth_making, with_copies
from compiler.passes.fusion.groups import Grouping
from compiler.passes.fusion.policy import Limits, Plan
from compiler.passes.fusion.reasons import why_apart
from compiler.trace import Log


def grown(graph: Graph, limits: Limits, log: Log, name: str) -> Plan:
    """Return the plan of the policy `anchor` or `elementwise`; only `anchor` has anchors."""
    grouping = _grouping(graph, limits, name)
    if limits.duplicate:
        worth = copies_worth_making(graph, grouping)
        copies = [n for n in worth if log.may("copy_cheap_producer", n.output)]
        if copies:
            graph = with_copies(graph, copies, log)
            grouping = _grouping(graph, limits, name)

    def why(node: Node, user: Node) -> str:
        return why_apart(grouping, node, user, name)

    return Plan(graph, grouping.groups(), why)


def _grouping(graph: Graph, limits: Limits, name: str) -> Grouping:
    grouping = Grouping(graph, limits.max_nodes)
    if name == "anchor":
        grouping.from_anchors()
    grouping.from_elementwise()
    return grouping
