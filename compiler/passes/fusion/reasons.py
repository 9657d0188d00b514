"""Reasons that adjacent nodes are in different groups, if groups have one output."""

from __future__ import annotations

from itertools import islice

from compiler.ir.graph import Node
from compiler.passes.fusion.groups import Grouping
from compiler.passes.fusion.kinds import (
    EXPENSIVE,
    is_contraction,
    is_elementwise,
    is_reduction,
    overlap,
    share_lanes,
    why_alone,
)
from compiler.passes.fusion.separate_loops import kind_of, why_separate_loops


def why_apart(grouping: Grouping, node: Node, user: Node, policy: str) -> str:
    """Return the first reason that applies to a node and a reader in different kernels."""
    value = node.output
    for n in (node, user):
        reason = why_alone(n)
        if reason:
            return reason
    if not _go_together(node, user, policy):
        return _kinds(node, user, policy)
    if grouping.is_result(node):
        return f"{value} is also a result of the graph, so it has to be stored"
    shapes = _shapes_differ(grouping, node, user)
    if shapes:
        return shapes
    n_others = len(grouping.users(node)) - 1
    if n_others:
        others = (u.output for u in grouping.users(node) if u is not user)
        shown = ", ".join(islice(others, 3)) + (f" and {n_others - 3} more" if n_others > 3 else "")
        return f"{value} is also used by {shown}, so it has to be stored"
    return _other_group(grouping, node, user)


def _go_together(node: Node, user: Node, policy: str) -> bool:
    anchors = policy == "anchor"
    if is_elementwise(user):
        anchored = anchors and (is_contraction(node) or is_reduction(node))
        return anchored or is_elementwise(node)
    return anchors and is_elementwise(node) and is_reduction(user)


def _kinds(node: Node, user: Node, policy: str) -> str:
    if policy == "elementwise" and (is_elementwise(node) or is_elementwise(user)):
        return f"policy=elementwise does not fuse {kind_of(node)} with {kind_of(user)}"
    return why_separate_loops(node, user)


def _shapes_differ(grouping: Grouping, node: Node, user: Node) -> str:
    if is_reduction(user) and not is_elementwise(user):
        if overlap(user) > 1 and node.op in EXPENSIVE:
            return (
                f"{node.op} is expensive, and {user.op} would compute it {overlap(user):.3g} times "
                "per element"
            )
        t = grouping.graph.types[user.inputs[0]]
        same = node.type == t
        return "" if same else f"{node.output} is {node.type}, but {user.op} runs over {t}"
    if node.tensor.shape != user.tensor.shape:
        return f"the shapes differ: {node.type} is broadcast to {user.type}"
    if not share_lanes(node, user) and not is_elementwise(node):
        return f"the element types differ in size: {node.type} becomes {user.type}"
    return ""


def _other_group(grouping: Grouping, node: Node, user: Node) -> str:
    """Return the reason that two nodes of compatible kinds are in different groups."""
    ours, theirs = grouping.group_of[node.output], grouping.group_of[user.output]
    for group in (theirs, ours):
        if len(group.nodes) >= grouping.max_nodes:
            return (
                f"the group that ends in {group.last.output} is full, with {len(group.nodes)} nodes"
            )
    if theirs.kind == "elementwise":
        return (
            f"{node.output} is computed in the {ours.kind} kernel that ends in {ours.last.output}"
        )
    if is_reduction(user):
        return (
            f"{ours.first.op} {ours.first.output} and {node.output} already form one kernel; a "
            "kernel holds one contraction or reduction"
        )
    return (
        f"{theirs.first.op} {theirs.first.output} and {user.output} already form one kernel, "
        f"which reads {node.output} from memory"
    )
