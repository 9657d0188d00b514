"""The payload of the drawing for all stages, so a surviving node never moves.

The drawing is nested: groups of nodes (`app/grouping`) can be closed to a single box. Each group
has its own DOT text, so every layout covers a single level. The DOT text contains only keys and
sizes, but no names of the model. See docs/graph-view.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import graphviz

from app.chains import chains_of
from app.drawing import INTO, OUT_OF, Drawing
from app.grouping import Group
from app.wire import VERSION
from app.wire.shapes.stages import Union as UnionPayload
from app.wire.shapes.stages import UnionGroup, UnionNode

_PX_PER_INCH = 72
_NODE_HEIGHT, _NODE_WIDTHS = 40, (64, 232)
_GROUP_HEIGHT, _GROUP_WIDTHS = 48, (176, 260)
_PX_PER_CHARACTER, _PADDING = 8.5, 26
_CHAIN_WEIGHT = 100
"""The cost of an oblique edge inside a chain, relative to other edges."""
_TRIANGLE = 16
"""Width of the button that opens the bodies of a control-flow node."""


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
    groups = [_group(group, group.key in opened, drawing) for group in drawing.groups()]
    boxes: dict[str, list[UnionNode | UnionGroup]] = {"": [], **{g["key"]: [] for g in groups}}
    for box in (*(n for n in nodes if n["id"] not in drawing.regions), *groups):
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


def _group(group: Group, is_open: bool, drawing: Drawing) -> UnionGroup:
    low, high = _GROUP_WIDTHS
    width = round(len(group.label) * _PX_PER_CHARACTER) + 3 * _PADDING
    made: UnionGroup = {
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
    if group.node:
        wide = _width(drawing.labels[group.node]) + _TRIANGLE
        made.update(node=group.node, width=wide, height=_NODE_HEIGHT)
    return made


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
