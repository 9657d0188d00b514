"""The union of the graphs of all stages: nodes, edges, and the groups that contain the nodes.

A control-flow node is a group: its bodies are inside, each with a tree of groups of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from app.grouping import Group, Homes, Item, adopt, tree_of

_TERMINALS = ("input", "result")
_TERMINALS_AT_ROOT = 20
"""Maximum number of inputs and results that are drawn in rows of their own.

If there are more, each is drawn next to a reader or producer.
"""
INTO, OUT_OF = "into", "out_of"
"""Names of a group's ports in its DOT text, for edges from and to nodes outside the group."""

Way = tuple[str, ...]
"""A body: the id of its control-flow node, and the name of the region; () for the graph itself."""


class _Row(NamedTuple):
    """A node of a skeleton."""

    id: str
    label: str
    op: str
    origins: Sequence[str]
    way: Way

    @staticmethod
    def of(row: Sequence[Any]) -> _Row:
        """Return a row of a skeleton; the fifth item is the body, absent outside all bodies."""
        node_id, label, op, origins, *way = row
        return _Row(node_id, label, op, origins, tuple(way[0]) if way else ())


@dataclass(slots=True)
class _Place:
    """A body or the graph itself: its group, and the map that finds the groups of later nodes."""

    group: Group
    homes: Homes

    def find(self, origins: Sequence[str]) -> str:
        """Return the key of the group for a node with these origins."""
        return self.homes.find(origins) or self.group.key


@dataclass(slots=True)
class Drawing:
    """The union of the graphs of all stages: labels and stage ranges by node id, edges, and
    groups.

    `regions` has the group of each control-flow node, by the id of the node. `late` contains the
    groups that the imported model lacks; their parents do not list them as children.
    """

    root: Group = field(default_factory=lambda: Group("scope", "", []))
    labels: dict[str, str] = field(default_factory=dict)
    stages: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    edges: dict[tuple[str, str], None] = field(default_factory=dict)
    group_of: dict[str, str] = field(default_factory=dict)
    regions: dict[str, Group] = field(default_factory=dict)
    late: list[Group] = field(default_factory=list)
    _places: dict[Way, _Place] = field(default_factory=dict)
    _ways: dict[str, Way] = field(default_factory=dict)
    _n_keys: int = 0

    @staticmethod
    def of(skeletons: Sequence[Mapping[str, Any]]) -> Drawing:
        """Build the union of the skeletons, one per stage in order, also for unchanged stages.

        The first stage is the imported model, and defines the groups. Later stages only add groups
        for the bodies of new control-flow nodes.
        """
        made = Drawing()
        terminals: dict[Way, list[str]] = {}
        for stage, skeleton in enumerate(skeletons):
            rows = [_Row.of(row) for row in skeleton["nodes"]]
            made._add_places(rows, skeleton["edges"])
            for row in rows:
                made._add(row, stage)
                if row.id not in made.group_of:
                    made.group_of[row.id] = made._places[row.way].find(row.origins)
                    if row.op in _TERMINALS:
                        terminals.setdefault(row.way, []).append(row.id)
            for source, target in skeleton["edges"]:
                made.edges[source, target] = None
        for ids in terminals.values():
            if len(ids) > _TERMINALS_AT_ROOT:
                made._place_beside_neighbours(set(ids))
        return made

    def groups(self) -> Iterator[Group]:
        """Yield all groups except the root; outer groups precede inner groups."""
        yield from self.root.groups()
        for group in self.late:
            yield group
            yield from group.groups()

    def keys(self) -> dict[str, str]:
        """Return the key by which the DOT text names each node."""
        return {node_id: f"n{number}" for number, node_id in enumerate(self.labels)}

    def levels(self) -> dict[str, dict[tuple[str, str], None]]:
        """For each group, return the edges between its children, as pairs of keys.

        An edge of the model is drawn in segments. A group that contains only one end of the edge
        has a segment to or from its port. The innermost group that contains both ends has a segment
        between two of its children.
        """
        paths = {"": (), **{group.key: group.path for group in self.groups()}}
        ways = {i: self._path(i, key, paths) for i, key in self.keys().items()}
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

    def _path(self, node_id: str, key: str, paths: Mapping[str, tuple[str, ...]]) -> Way:
        """Return the keys from the outermost group to the box of a node."""
        around = paths[self.group_of[node_id]]
        return around if node_id in self.regions else (*around, key)

    def _add(self, row: _Row, stage: int) -> None:
        self.labels[row.id] = max(self.labels.get(row.id, ""), row.label, key=len)
        self._ways.setdefault(row.id, row.way)
        ranges = self.stages.setdefault(row.id, [])
        if ranges and ranges[-1][1] == stage:
            ranges[-1] = (ranges[-1][0], stage + 1)
        else:
            ranges.append((stage, stage + 1))

    def _add_places(self, rows: Sequence[_Row], edges: Sequence[Any]) -> None:
        """Find the bodies that no earlier stage has, and group the nodes of each body."""
        new: dict[Way, list[_Row]] = {} if self._places else {(): []}
        for row in rows:
            if row.way not in self._places:
                new.setdefault(row.way, []).append(row)
        if not new:
            return
        by_id = {row.id: row for row in rows}
        inside = _origins_inside(rows)
        holders: dict[str, Group] = {}
        for way, own in new.items():
            items = _items(own, inside)
            ids = {item.id for item in items}
            group = tree_of(items, [(a, b) for a, b in edges if a in ids and b in ids])
            if way:
                is_only = sum(each[:1] == way[:1] for each in new) == 1
                group = self._add_body(way, group, by_id[way[0]], holders, is_only)
            else:
                self.root = group
            self._places[way] = _Place(group, Homes.of(group, items))
            for holder in (group, *group.groups()):
                holders.update(
                    (child, holder) for child in holder.children if isinstance(child, str)
                )

    def _add_body(
        self, way: Way, tree: Group, row: _Row, holders: Mapping[str, Group], is_only: bool
    ) -> Group:
        """Add a body to the group of its node, and return the group of the body's nodes."""
        is_new = row.id not in self.regions
        region = self.regions.get(row.id) or self._add_region(row, holders)
        if is_new and is_only:
            region.children, group = tree.children, region
        else:
            group = Group("body", way[1], tree.children, key=self._key(), parent=region)
            if is_new or row.id in holders:
                region.children.append(group)
            else:
                self.late.append(group)
        for inner in group.groups():
            inner.key = self._key()
        adopt(group)
        return group

    def _add_region(self, row: _Row, holders: Mapping[str, Group]) -> Group:
        """Replace a control-flow node by its group; add the group of a new node to that of its
        origins."""
        region = Group("region", "", [], key=self._key(), node=row.id)
        holder = holders.get(row.id)
        if holder is not None:
            holder.children[holder.children.index(row.id)] = region
            region.parent = holder
        else:
            home = self.group_of.get(row.id) or self._places[row.way].find(row.origins)
            region.parent = next((g for g in self.groups() if g.key == home), self.root)
            self.late.append(region)
        self.regions[row.id] = region
        self.group_of[row.id] = region.key
        return region

    def _key(self) -> str:
        self._n_keys += 1
        return f"r{self._n_keys - 1}"

    def _place_beside_neighbours(self, ids: set[str]) -> None:
        for source, target in reversed(self.edges):
            for node_id, beside in ((source, target), (target, source)):
                if node_id not in ids or beside in ids or self._ways[node_id] != self._ways[beside]:
                    continue
                region = self.regions.get(beside)
                around = region.parent.key if region and region.parent else self.group_of[beside]
                self.group_of[node_id] = around


def _items(rows: Sequence[_Row], inside: Mapping[str, Sequence[str]]) -> list[Item]:
    """Return the nodes of a body; a control-flow node also has the origins of its bodies."""
    return [
        Item(row.id, row.op, (*row.origins, *inside.get(row.id, ())))
        for row in rows
        if row.op not in _TERMINALS
    ]


def _origins_inside(rows: Sequence[_Row]) -> dict[str, list[str]]:
    """Return the ONNX nodes in the bodies of each control-flow node, at any depth."""
    found: dict[str, list[str]] = {}
    for row in reversed(rows):
        if row.way:
            found.setdefault(row.way[0], []).extend((*row.origins, *found.get(row.id, ())))
    return found
