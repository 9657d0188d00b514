"""One drawing for all stages: the union of their nodes, so that a surviving node never moves.

The DOT text carries keys and sizes only, never a name of the model. Large unions are drawn with
neighbours grouped; each group can be opened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import graphviz

from app.wire import VERSION

_PX_PER_INCH = 72
_NODE_HEIGHT, _NODE_WIDTHS = 40, (64, 232)
_PX_PER_CHARACTER, _PADDING = 7, 24
_GROUP_LIMIT = 40
"""Chains longer than this are grouped in several pieces."""


@dataclass(slots=True)
class Drawing:
    """The union of stages: ids with labels and the stages they are in, and the edges."""

    labels: dict[str, str] = field(default_factory=dict)
    stages: dict[str, list[list[int]]] = field(default_factory=dict)
    edges: dict[tuple[str, str], None] = field(default_factory=dict)

    @staticmethod
    def of(skeletons: Sequence[Mapping[str, Any]]) -> Drawing:
        """The union; a stage is the position of its skeleton, unchanged stages repeat theirs."""
        made = Drawing()
        for stage, skeleton in enumerate(skeletons):
            for node_id, label in skeleton["nodes"]:
                made.labels.setdefault(node_id, label)
                if len(label) > len(made.labels[node_id]):
                    made.labels[node_id] = label
                ranges = made.stages.setdefault(node_id, [])
                if ranges and ranges[-1][1] == stage:
                    ranges[-1][1] = stage + 1
                else:
                    ranges.append([stage, stage + 1])
            for source, target in skeleton["edges"]:
                made.edges[source, target] = None
        return made


def union_payload(drawing: Drawing, limit: int, opened: Collection[str]) -> dict[str, Any]:
    """The drawing as DOT, with groups when it has more nodes than the limit."""
    ids = list(drawing.labels)
    groups = grouped(ids, list(drawing.edges), limit) if len(ids) > limit else []
    key_of: dict[str, str] = {}
    closed: list[dict[str, Any]] = []
    for number, members in enumerate(groups):
        key = f"g{number}"
        if key in opened:
            continue
        key_of.update((m, key) for m in members)
        label = f"{len(members)} nodes"
        closed.append({"key": key, "label": label, "members": members, **_size(label)})
    nodes: list[dict[str, Any]] = []
    for number, node_id in enumerate(ids):
        if node_id not in key_of:
            key_of[node_id] = key = f"n{number}"
            size = _size(drawing.labels[node_id])
            nodes.append({"key": key, "id": node_id, "stages": drawing.stages[node_id], **size})
    edges = dict.fromkeys((key_of[a], key_of[b]) for a, b in drawing.edges)
    return {
        "version": VERSION,
        "dot": _dot([*nodes, *closed], [e for e in edges if e[0] != e[1]]),
        "n_nodes": len(ids),
        "n_drawn": len(nodes) + len(closed),
        "collapsed": bool(closed),
        "nodes": nodes,
        "groups": closed,
    }


def _size(label: str) -> dict[str, int]:
    low, high = _NODE_WIDTHS
    width = len(label) * _PX_PER_CHARACTER + _PADDING
    return {"width": min(max(width, low), high), "height": _NODE_HEIGHT}


def _dot(boxes: Sequence[Mapping[str, Any]], edges: Sequence[tuple[str, str]]) -> str:
    dot = graphviz.Digraph(
        "union",
        graph_attr={"rankdir": "TB", "nodesep": "0.25", "ranksep": "0.4"},
        node_attr={"shape": "box", "fixedsize": "true", "label": ""},
        edge_attr={"arrowhead": "none"},
    )
    for box in boxes:
        dot.node(
            box["key"],
            width=f"{box['width'] / _PX_PER_INCH:.3f}",
            height=f"{box['height'] / _PX_PER_INCH:.3f}",
        )
    for source, target in edges:
        dot.edge(source, target)
    return dot.source


def grouped(ids: Sequence[str], edges: Sequence[tuple[str, str]], limit: int) -> list[list[str]]:
    """Groups of neighbours, so that no more than about `limit` boxes are drawn.

    First chains, in which every node has one way in and one way out; when that is not enough,
    stretches of a topological order, which never make a new cycle.
    """
    order = _topological(ids, edges)
    chains = _chains(order, edges)
    size = -(-len(chains) // limit)
    merged = [
        [node for chain in chains[i : i + size] for node in chain]
        for i in range(0, len(chains), size)
    ]
    return [g for g in merged if len(g) > 1]


def _chains(order: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    n_out: dict[str, int] = {}
    sources: dict[str, list[str]] = {}
    for source, target in edges:
        n_out[source] = n_out.get(source, 0) + 1
        sources.setdefault(target, []).append(source)
    chains: list[list[str]] = []
    chain_of: dict[str, int] = {}
    for node in order:
        into = sources.get(node, [])
        at = chain_of.get(into[0], -1) if len(into) == 1 and n_out[into[0]] == 1 else -1
        if at >= 0 and len(chains[at]) < _GROUP_LIMIT:
            chains[at].append(node)
        else:
            at = len(chains)
            chains.append([node])
        chain_of[node] = at
    return chains


def _topological(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    """Depth-first from the results up, sources first: chains lie together.

    A union of stages may have cycles; the edge that closes one is ignored.
    """
    sources: dict[str, list[str]] = {i: [] for i in ids}
    for source, target in edges:
        sources[target].append(source)
    order: list[str] = []
    seen: set[str] = set()
    for root in reversed(ids):
        stack = [(root, iter(sources[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            node, rest = stack[-1]
            following = next((s for s in rest if s not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(sources[following])))
    return order
