"""Fusion: groups of nodes become one kernel, so that what is between them stays in registers."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType
from compiler.ops.fusion import fuse_nodes
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.fusion.groups import (
    DEAR,
    Group,
    Grouping,
    copies_worth_making,
    copy_saving,
    is_contraction,
    is_elementwise,
    is_lowerable,
    is_reduction,
    overlap,
    share_lanes,
)
from compiler.trace import Log


@graph_pass(
    needs=["constants", "single uses"],
    gives=["fusion"],
    example="""
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      a: f32[2,5] = matmul(x, w)
      b: f32[2,5] = add(a, r)
      c: f32[2,5] = relu(b)
      d: f32[2] = reduce_sum(c, axes=[1], keepdims=false)
      return d
    }
    =>
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      c: f32[2,5] = fusion(x, w, r, kind="contraction") {
        body: graph contraction(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = add(a, r)
          c: f32[2,5] = relu(b)
          return c
        }
      }
      d: f32[2] = reduce_sum(c, axes=[1], keepdims=false)
      return d
    }
    """,
)
def fuse(
    graph: Graph,
    log: Log,
    *,
    policy: Literal["anchor", "elementwise", "none"] = "anchor",
    duplicate: bool = True,
    max_nodes: int = 32,
) -> Graph:
    """Run neighbouring nodes as one kernel.

    Without fusion each node writes its result to memory and the next reads it back. With
    `policy=anchor` a convolution, product, pool or reduction takes the elementwise nodes behind it
    with it, and a pool or reduction those before it; elementwise nodes that are left form groups
    of their own, which is all that `policy=elementwise` does. With `duplicate` a cheap node that
    several groups read is computed in each of them when that saves bytes.
    """
    if policy == "none":
        return graph
    grouping = _grouping(graph, policy, max_nodes)
    if duplicate and (copies := _allowed_copies(graph, grouping, log)):
        graph = _copy(graph, copies, log)
        grouping = _grouping(graph, policy, max_nodes)
    groups = [g for g in grouping.groups() if log.may("fuse", g.last.output)]
    _log_declined(grouping, policy, log)
    if not groups:
        return graph
    fused = {g.last.output: _fuse(grouping, g, log) for g in groups}
    members = {name for g in groups for name in g.nodes}
    nodes = [
        fused.get(n.output, n) for n in graph.nodes if n.output in fused or n.output not in members
    ]
    read = {i for n in nodes for i in n.reads} | graph.result_values
    constants = {k: c for k, c in graph.constants.items() if k in read}
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _grouping(graph: Graph, policy: str, max_nodes: int) -> Grouping:
    grouping = Grouping(graph, max_nodes)
    if policy == "anchor":
        grouping.from_anchors()
    grouping.from_elementwise()
    return grouping


def _fuse(grouping: Grouping, group: Group, log: Log) -> Node:
    nodes = grouping.in_order(group)
    made = fuse_nodes(grouping.graph, nodes, group.kind)
    saved = grouping.bytes_saved(group)
    names = ", ".join(n.op for n in nodes)
    because = f"{len(nodes)} nodes in one kernel ({names}); {saved:,} bytes of traffic less"
    log.applied("fuse", made.output, because, nodes, [made])
    return made


def _allowed_copies(graph: Graph, grouping: Grouping, log: Log) -> list[Node]:
    worth = copies_worth_making(graph, grouping)
    return [n for n in worth if log.may("copy_cheap_producer", n.output)]


def _copy(graph: Graph, copies: list[Node], log: Log) -> Graph:
    """A copy of each node for every reader but the first."""
    ed = Editor(graph)
    # Readers first: a copied node may itself be read by another one.
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
        because = f"computed in each of its {len(users)} readers; {saved:,} bytes of traffic less"
        log.applied("copy_cheap_producer", node.output, because, [node], [node, *made])
    return ed.graph()


def _log_declined(grouping: Grouping, policy: str, log: Log) -> None:
    if not log.keep_declined:
        return
    graph = grouping.graph
    for user in graph.nodes:
        for value in dict.fromkeys(filter(None, user.inputs)):
            node = graph.producers.get(value)
            if node is None:
                continue
            group = grouping.group_of.get(node.output)
            if group is None or group is not grouping.group_of.get(user.output):
                because = _why_apart(grouping, node, user, value, policy)
                log.declined("fuse", user.output, because, [node, user])


def _why_apart(grouping: Grouping, node: Node, user: Node, value: str, policy: str) -> str:
    """Why a node and one of its readers are different kernels: the first reason that holds."""
    for n in (node, user):
        reason = _why_alone(n)
        if reason:
            return reason
    if not _go_together(node, user, policy):
        return _kinds(node, user, policy)
    if grouping.is_result(node):
        return f"{value} is also a result of the graph, so it has to be stored"
    shapes = _shapes_differ(grouping, node, user)
    if shapes:
        return shapes
    others = [u.output for u in grouping.users(node) if u is not user]
    if others:
        shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        return f"{value} has {len(others)} other uses ({shown}), so it has to be stored"
    return _other_group(grouping, node, user)


def _why_alone(n: Node) -> str:
    if n.op == "fusion":
        return f"{n.output} is a fused group already"
    if is_lowerable(n):
        return ""
    if n.op not in OPERATORS or n.regions:
        return f"{n.op} is opaque: no code is generated for it, so it runs on its own"
    if not all(isinstance(t, TensorType) and t.is_ranked for t in n.types):
        return f"the rank of {n.output} is open: {n.type}"
    if len([v for v in n.outputs if v]) > 1:
        return f"{n.output} is one of {len(n.outputs)} outputs of {n.op}"
    return f"no code is generated for {n.op}"


def _kind(n: Node) -> str:
    return OPERATORS[n.op].kind


def _go_together(node: Node, user: Node, policy: str) -> bool:
    anchors = policy == "anchor"
    if is_elementwise(user):
        anchored = anchors and (is_contraction(node) or is_reduction(node))
        return anchored or is_elementwise(node)
    return anchors and is_elementwise(node) and is_reduction(user)


def _kinds(node: Node, user: Node, policy: str) -> str:
    if policy == "elementwise" and (is_elementwise(node) or is_elementwise(user)):
        return f"policy=elementwise leaves {_kind(node)} and {_kind(user)} apart"
    text = f"{_kind(node)} {node.op} into {_kind(user)} {user.op}"
    if is_contraction(user) and is_elementwise(node):
        return f"{text}: it would be computed again for each tile of the product"
    return f"{text}: these kinds do not share a loop"


def _shapes_differ(grouping: Grouping, node: Node, user: Node) -> str:
    if is_reduction(user) and not is_elementwise(user):
        if overlap(user) > 1 and node.op in DEAR:
            return (
                f"{node.op} is dear, and {user.op} would compute it {overlap(user):.3g} times "
                "per element"
            )
        t = grouping.graph.types[user.inputs[0]]
        return "" if node.type == t else f"{node.output} is {node.type}, not {t}"
    if node.tensor.shape != user.tensor.shape:
        return f"the shapes differ: {node.type} is broadcast to {user.type}"
    if not share_lanes(node, user) and not is_elementwise(node):
        return f"the element types differ in size: {node.type} becomes {user.type}"
    return ""


def _other_group(grouping: Grouping, node: Node, user: Node) -> str:
    """Why two nodes that could share a kernel belong to different ones."""
    ours, theirs = grouping.group_of[node.output], grouping.group_of[user.output]
    for group in (theirs, ours):
        if len(group.nodes) >= grouping.max_nodes:
            return (
                f"the group that ends in {group.last.output} has {len(group.nodes)} nodes already"
            )
    if theirs.kind == "elementwise":
        return f"{node.output} is computed in the {ours.kind} that ends in {ours.last.output}"
    if is_reduction(user):
        return (
            f"{node.output} is computed where {ours.first.op} {ours.first.output} stores its "
            "result, and a kernel has one contraction or reduction"
        )
    return (
        f"{user.output} is computed where {theirs.first.op} {theirs.first.output} stores its "
        f"result, and reads {node.output} from memory there"
    )
