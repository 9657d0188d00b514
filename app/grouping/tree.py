"""The tree of groups over the imported model, and the groups of nodes in later stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.grouping.repeats import Run, Sequenced, runs
from app.grouping.scopes import common, scopes_of
from app.grouping.stretches import depth_first, stretches

LEAST_GROUPED = 24
"""Minimum number of nodes for grouping a model."""
LEAST_IN_SCOPE = 4
MOST_IN_LEVEL = 150
"""Maximum number of boxes per level; a larger level is split into stretches."""

Kind = Literal["scope", "repeat", "block", "stretch", "region", "body"]
Edges = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Item:
    """A node of the model as imported."""

    id: str
    op: str
    origins: tuple[str, ...]


@dataclass(slots=True)
class Group:
    """A group of nodes, drawn as one box while it is closed; a repeat has `times` equal
    children.

    A group of kind `region` contains the bodies of a control-flow node. If there are several
    bodies, each is a child group of kind `body`.
    """

    kind: Kind
    label: str
    children: list[Group | str]
    times: int = 1
    key: str = ""
    """A key, stable for a model: `g` and a number, outer groups first; "" for the root itself."""
    parent: Group | None = None
    node: str = ""
    """For a group of kind `region`: the id of the control-flow node whose bodies are inside."""

    def ids(self) -> Iterator[str]:
        """Return all nodes inside this group, at any depth."""
        for child in self.children:
            yield from child.ids() if isinstance(child, Group) else (child,)

    def groups(self) -> Iterator[Group]:
        """Return all groups inside this group, outer groups before inner groups."""
        for child in self.children:
            if isinstance(child, Group):
                yield child
                yield from child.groups()

    @property
    def path(self) -> tuple[str, ...]:
        """The keys of the groups from the outermost group to this one."""
        return (*(self.parent.path if self.parent else ()), *([self.key] if self.key else ()))


def tree_of(items: Sequence[Item], edges: Edges) -> Group:
    """Build the tree from the scopes in names, from repeated blocks, and from stretches of other
    nodes."""
    root = Group("scope", "", [i.id for i in items])
    if len(items) >= LEAST_GROUPED:
        builder = _Builder(items, edges)
        children = builder.by_scope(builder.in_order(), 0)
        if len(children) == 1 and isinstance(children[0], Group):
            children = children[0].children
        root.children = builder.arranged(children)
    for number, group in enumerate(root.groups()):
        group.key = f"g{number}"
    adopt(root)
    return root


def adopt(root: Group) -> None:
    """Set the parents of all groups inside a group."""
    for group in (root, *root.groups()):
        for child in group.children:
            if isinstance(child, Group):
                child.parent = group


@dataclass(slots=True)
class Homes:
    """Maps nodes of any stage to groups, by the ONNX nodes from which they were created."""

    paths: dict[str, Counter[tuple[str, ...]]] = field(default_factory=dict)
    """For each ONNX node, the number of graph nodes created from it, by group."""
    found: dict[tuple[str, ...], str] = field(default_factory=dict)

    @staticmethod
    def of(root: Group, items: Sequence[Item]) -> Homes:
        """Return the groups of all nodes of the imported model."""
        at = {i: root.path for i in root.children if isinstance(i, str)}
        for group in root.groups():
            at.update((i, group.path) for i in group.children if isinstance(i, str))
        found = Homes()
        for item in items:
            for origin in item.origins:
                found.paths.setdefault(origin, Counter())[at[item.id]] += 1
        return found

    def find(self, origins: Sequence[str]) -> str:
        """Return the key of the group with most of these ONNX nodes, chosen level by level.

        "" is the key of the root. Among groups with equally many nodes, the first is chosen.
        """
        key = tuple(origins)
        if key not in self.found:
            self.found[key] = self._find(key)
        return self.found[key]

    def _find(self, origins: tuple[str, ...]) -> str:
        paths: Counter[tuple[str, ...]] = Counter()
        for origin in origins:
            paths.update(self.paths.get(origin, {}))
        here, depth = "", 0
        while paths:
            votes: Counter[str] = Counter()
            for path, n in paths.items():
                if len(path) > depth:
                    votes[path[depth]] += n
            if not votes or votes.total() * 2 < paths.total():
                break
            here = max(votes, key=lambda key: votes[key])
            kept = {p: n for p, n in paths.items() if len(p) > depth and p[depth] == here}
            paths = Counter(kept)
            depth += 1
        return here


class _Builder:
    """Builds the tree of groups, with the state that all levels share."""

    def __init__(self, items: Sequence[Item], edges: Edges) -> None:
        self.ops = {i.id: i.op for i in items}
        self.sources: dict[str, list[str]] = {i.id: [] for i in items}
        for a, b in edges:
            self.sources[b].append(a)
        self.signatures: dict[object, int] = {}
        self.scopes = _scopes(items, edges)

    def in_order(self) -> list[str]:
        """Return the ids in model order; nodes without operands precede their first reader."""
        ids = list(self.ops)
        place = {i: at for at, i in enumerate(ids)}
        first: dict[str, int] = {}
        for i in ids:
            for source in self.sources[i]:
                if not self.sources[source]:
                    first.setdefault(source, place[i])
        return sorted(ids, key=lambda i: (first.get(i, place[i]), i not in first, place[i]))

    def by_scope(self, ids: Sequence[str], depth: int) -> list[Group | str]:
        """Group the nodes of a scope by their inner scopes."""
        inside: dict[str, list[str]] = {}
        for i in ids:
            if len(self.scopes[i]) > depth:
                inside.setdefault(self.scopes[i][depth], []).append(i)
        small = {scope for scope, own in inside.items() if len(own) < LEAST_IN_SCOPE}
        children: list[Group | str] = []
        seen: set[str] = set()
        for i in ids:
            scope = self.scopes[i][depth] if len(self.scopes[i]) > depth else None
            if scope is None or scope in small:
                children.append(i)
            elif scope not in seen:
                seen.add(scope)
                children.append(self._scope(scope, inside[scope], depth))
        return children

    def _scope(self, label: str, ids: Sequence[str], depth: int) -> Group:
        children = self.by_scope(ids, depth + 1)
        if len(children) == 1 and isinstance(only := children[0], Group):
            return Group("scope", f"{label}/{only.label}", only.children)
        return Group("scope", label, children)

    def arranged(self, children: Sequence[Group | str]) -> list[Group | str]:
        """Arrange the children of a level recursively: find repeats, split large levels."""
        for child in children:
            if isinstance(child, Group):
                child.children = self.arranged(child.children)
                _take_over_repeat(child)
        edges = list(self._edges(children))
        everything = range(len(children))
        orders = [everything, depth_first(everything, edges)]
        found = [(order, runs(self._sequence(children, order))) for order in orders]
        order, repeats = max(found, key=lambda each: sum(run.worth for run in each[1]))
        made: list[Group | str] = []
        at = 0
        for run in repeats:
            made += [children[i] for i in order[at : run.start]]
            blocks = [[children[order[i]] for i in block] for block in run.blocks]
            made.append(self._repeat(run, blocks))
            at = run.end
        made += [children[i] for i in order[at:]]
        return self._cut(made)

    def _repeat(self, run: Run, blocks: Sequence[list[Group | str]]) -> Group:
        if run.period == 1:
            labels = [b[0].label for b in blocks if isinstance(b[0], Group)]
            children = [child for block in blocks for child in block]
            return Group("repeat", f"{labels[0]} … {labels[-1]}", self._cut(children), run.times)
        made: list[Group | str] = []
        for number, block in enumerate(blocks):
            made.append(Group("block", f"block {number + 1}", self.arranged(block)))
        return Group("repeat", "block", self._cut(made), run.times)

    def _sequence(self, children: Sequence[Group | str], order: Sequence[int]) -> Sequenced:
        in_order = [children[k] for k in order]
        sources: list[dict[int, None]] = [{} for _ in order]
        for a, b in self._edges(in_order):
            if a < b:
                sources[b][a] = None
        return Sequenced(
            [self._signature(child) for child in in_order],
            [sum(1 for _ in _ids(child)) for child in in_order],
            [tuple(sorted(each)) for each in sources],
        )

    def _edges(self, children: Sequence[Group | str]) -> dict[tuple[int, int], None]:
        """Return the edges between children, as pairs of their positions."""
        at = {i: k for k, child in enumerate(children) for i in _ids(child)}
        pairs = ((at[a], k) for b, k in at.items() for a in self.sources[b] if a in at)
        return dict.fromkeys((a, b) for a, b in pairs if a != b)

    def _signature(self, child: Group | str) -> int:
        """Return a signature that is equal for nodes of one operator, and for isomorphic groups."""
        if isinstance(child, str):
            return self.signatures.setdefault(self.ops[child], len(self.signatures))
        ids = list(child.ids())
        edges = self._edges(ids)
        place = {k: at for at, k in enumerate(depth_first(range(len(ids)), list(edges)))}
        reads: dict[int, list[int]] = {k: [] for k in place}
        for a, b in edges:
            reads[b].append(place[b] - place[a])
        shape = tuple((self.ops[ids[k]], *sorted(back)) for k, back in reads.items())
        return self.signatures.setdefault(shape, len(self.signatures))

    def _cut(self, children: list[Group | str]) -> list[Group | str]:
        """Group neighbours repeatedly until a level is small enough."""
        if len(children) <= MOST_IN_LEVEL:
            return children
        pieces = stretches(range(len(children)), list(self._edges(children)), MOST_IN_LEVEL)
        piece_of = {k: number for number, piece in enumerate(pieces) for k in piece}
        made: list[Group | str] = []
        seen: set[int] = set()
        for k, child in enumerate(children):
            number = piece_of.get(k)
            if number is None:
                made.append(child)
            elif number not in seen:
                seen.add(number)
                inside = [children[each] for each in pieces[number]]
                n_nodes = sum(1 for each in inside for _ in _ids(each))
                made.append(Group("stretch", f"{n_nodes} nodes", self._cut(inside)))
        return made


def _scopes(items: Sequence[Item], edges: Edges) -> dict[str, tuple[str, ...]]:
    """Return the scopes of each node; a node with neither operands nor scopes gets the common
    scopes of its readers."""
    found = {i.id: scopes_of(i.origins[0]) if i.origins else () for i in items}
    reads = {b for _, b in edges}
    readers: dict[str, list[tuple[str, ...]]] = {}
    for a, b in edges:
        if a not in reads and b in found:
            readers.setdefault(a, []).append(found[b])
    for i, paths in readers.items():
        if found.get(i) == ():
            found[i] = common(paths)
    return found


def _take_over_repeat(group: Group) -> None:
    """Inline the only child of a group if this child is a group."""
    if group.times == 1 and len(group.children) == 1:
        only = group.children[0]
        if isinstance(only, Group):
            group.children, group.times = only.children, only.times


def _ids(child: Group | str) -> Iterator[str]:
    return child.ids() if isinstance(child, Group) else iter((child,))
