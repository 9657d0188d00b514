"""One drawing for all stages, with the union of their nodes, so a surviving node never moves.

The drawing is nested: groups of nodes (`app/grouping`) can be closed to a single box. Each group
has its own DOT text, so every layout covers a single level. The DOT text contains only keys and
sizes, but no names of the model. See docs/graph-view.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import graphviz

from app.chains import chains_of
from app.grouping import Group, Homes, Item, tree_of
from app.wire import VERSION
from app.wire.shapes.stages import Union as UnionPayload
from app.wire.shapes.stages import UnionGroup, UnionNode

_PX_PER_INCH = 72
_NODE_HEIGHT, _NODE_WIDTHS = 40, (64, 232)
_GROUP_HEIGHT, _GROUP_WIDTHS = 48, (176, 260)
_PX_PER_CHARACTER, _PADDING = 8.5, 26
_CHAIN_WEIGHT = 100
"""The cost of an oblique edge inside a chain, relative to other edges."""
_TERMINALS_AT_ROOT = 20
"""Maximum number of inputs and results that are drawn in rows of their own.

If there are more, each is drawn next to a reader or producer.
"""
INTO, OUT_OF = "into", "out_of"
"""Names of a group's ports in its DOT text, for edges from and to nodes outside the group."""


@dataclass(slots=True)
class Drawing:
    """The union of the graphs of all stages: labels and stage ranges by node id, edges, and
    groups."""

    root: Group
    labels: dict[str, str] = field(default_factory=dict)
    stages: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    edges: dict[tuple[str, str], None] = field(default_factory=dict)
    group_of: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(skeletons: Sequence[Mapping[str, Any]]) -> Drawing:
        """Build the union of the skeletons, one per stage in order, also for unchanged stages.

        The first stage, the imported model, defines the groups; later stages never change them.
        """
        items = _items(skeletons[0])
        ids = {i.id for i in items}
        inner = [(a, b) for a, b in skeletons[0]["edges"] if a in ids and b in ids]
        made = Drawing(tree_of(items, inner))
        homes = Homes.of(made.root, items)
        terminals: list[str] = []
        for stage, skeleton in enumerate(skeletons):
            for node_id, label, op, origins in skeleton["nodes"]:
                made._add(node_id, label, stage)
                if node_id not in made.group_of:
                    made.group_of[node_id] = homes.find(origins)
                    terminals += [node_id] * (op in _TERMINALS)
            for source, target in skeleton["edges"]:
                made.edges[source, target] = None
        if len(terminals) > _TERMINALS_AT_ROOT:
            made._place_beside_neighbours(set(terminals))
        return made

    def _add(self, node_id: str, label: str, stage: int) -> None:
        self.labels[node_id] = max(self.labels.get(node_id, ""), label, key=len)
        ranges = self.stages.setdefault(node_id, [])
        if ranges and ranges[-1][1] == stage:
            ranges[-1] = (ranges[-1][0], stage + 1)
        else:
            ranges.append((stage, stage + 1))

    def _place_beside_neighbours(self, ids: set[str]) -> None:
        for source, target in reversed(self.edges):
            for node_id, beside in ((source, target), (target, source)):
                if node_id in ids and beside not in ids:
                    self.group_of[node_id] = self.group_of[beside]

    def keys(self) -> dict[str, str]:
        """Return the key by which the DOT text names each node."""
        return {node_id: f"n{number}" for number, node_id in enumerate(self.labels)}

    def levels(self) -> dict[str, dict[tuple[str, str], None]]:
        """For each group, return the edges between its children, as pairs of keys.

        An edge of the model is drawn in segments. A group that contains only one end of the edge
        has a segment to or from its port. The innermost group that contains both ends has a segment
        between two of its children.
        """
        paths = {"": (), **{group.key: group.path for group in self.root.groups()}}
        ways = {i: (*paths[self.group_of[i]], key) for i, key in self.keys().items()}
        levels: dict[str, dict[tuple[str, str], None]] = {key: {} for key in paths}
        for source, target in self.edges:
            a, b = ways[source], ways[target]
            shared = 0
            while shared < min(len(a), len(b)) - 1 and a[shared] == b[shared]:
                shared += 1
            levels[a[shared - 1] if shared else ""][a[shared], b[shared]] = None
            for at in range(shared + 1, len(a)):
                levels[a[at - 1]][a[at], OUT_OF] = None
            for at in range(shared + 1, len(b)):
                levels[b[at - 1]][INTO, b[at]] = None
        return levels


_TERMINALS = ("input", "result")


def _items(skeleton: Mapping[str, Any]) -> list[Item]:
    return [
        Item(node_id, op, tuple(origins))
        for node_id, _, op, origins in skeleton["nodes"]
        if op not in _TERMINALS
    ]


def union_payload(drawing: Drawing, limit: int) -> UnionPayload:
    """Return the drawing as nested DOT texts; groups are opened up to `limit` drawn boxes."""
    nodes: list[UnionNode] = [
        {
            "key": key,
            "id": node_id,
            "stages": drawing.stages[node_id],
            "group": drawing.group_of[node_id],
            "width": _width(drawing.labels[node_id]),
            "height": _NODE_HEIGHT,
        }
        for node_id, key in drawing.keys().items()
    ]
    opened = _open_at_first(drawing, limit)
    groups = [_group(group, group.key in opened) for group in drawing.root.groups()]
    boxes: dict[str, list[UnionNode | UnionGroup]] = {"": [], **{g["key"]: [] for g in groups}}
    for box in (*nodes, *groups):
        boxes[box["group"]].append(box)
    levels = drawing.levels()
    for group in groups:
        group["dot"] = _dot(boxes[group["key"]], levels[group["key"]])
    n_drawn = len(boxes[""]) + sum(len(boxes[key]) - 1 for key in opened)
    return {
        "version": VERSION,
        "dot": _dot(boxes[""], levels[""]),
        "n_nodes": len(nodes),
        "n_drawn": n_drawn,
        "collapsed": len(opened) < len(groups),
        "nodes": nodes,
        "groups": groups,
    }


def _open_at_first(drawing: Drawing, limit: int) -> set[str]:
    """Open groups depth by depth, from the outside in, while the number of boxes is within the
    limit.

    Only nodes of the imported model count, so the set of open groups is the same for all stages.
    """
    opened: set[str] = set()
    n_drawn = len(drawing.root.children)
    level = [child for child in drawing.root.children if isinstance(child, Group)]
    while level:
        n_drawn += sum(len(group.children) - 1 for group in level)
        if n_drawn > limit:
            break
        opened |= {group.key for group in level}
        level = [c for group in level for c in group.children if isinstance(c, Group)]
    return opened


def _group(group: Group, is_open: bool) -> UnionGroup:
    low, high = _GROUP_WIDTHS
    width = round(len(group.label) * _PX_PER_CHARACTER) + 3 * _PADDING
    return {
        "key": group.key,
        "label": group.label,
        "kind": group.kind,
        "times": group.times,
        "group": group.parent.key if group.parent else "",
        "open": is_open,
        "width": min(max(width, low), high),
        "height": _GROUP_HEIGHT,
        "dot": "",
    }


def _width(label: str) -> int:
    low, high = _NODE_WIDTHS
    return min(max(round(len(label) * _PX_PER_CHARACTER) + _PADDING, low), high)


def _dot(boxes: Sequence[UnionNode | UnionGroup], edges: Mapping[tuple[str, str], None]) -> str:
    dot = graphviz.Digraph(
        "union",
        graph_attr={"rankdir": "TB", "nodesep": "0.25", "ranksep": "0.4"},
        node_attr={"shape": "box", "fixedsize": "true", "label": ""},
        edge_attr={"arrowhead": "none"},
    )
    # Keys and numbers need no quotes: writing lines directly is much faster than calling graphviz.
    dot.body.extend(_statements(boxes, edges))
    return dot.source


def _statements(
    boxes: Sequence[UnionNode | UnionGroup], edges: Mapping[tuple[str, str], None]
) -> Iterator[str]:
    ports_apart = [edge for edge in edges if not {INTO, OUT_OF}.intersection(edge)]
    links = {link for chain in chains_of(ports_apart) for link in pairwise(chain)}
    for box in boxes:
        width, height = box["width"] / _PX_PER_INCH, box["height"] / _PX_PER_INCH
        yield f"\t{box['key']} [width={width:.3f} height={height:.3f}]\n"
    ends = {end for edge in edges for end in edge}
    for port, rank in ((INTO, "min"), (OUT_OF, "max")):
        if port in ends:
            yield f"\t{{rank={rank} {port} [shape=point width=0.01 height=0.01]}}\n"
    groups = {box["key"] for box in boxes if "kind" in box}
    for tail, head in edges:
        # An edge ends in the middle of a group's side; inside the open group, it continues.
        how = ["tailport=s"] * (tail in groups) + ["headport=n"] * (head in groups)
        how += [f"weight={_CHAIN_WEIGHT}"] * ((tail, head) in links)
        yield f"\t{tail} -> {head} [{' '.join(how)}]\n"
