"""The levels of a graph: the graph itself, and each body of its control-flow nodes, at any depth.

The nodes of all levels form one flat list, so a change inside a body is a change of single nodes.
The id of a node in a body contains the way to the body: `y→then_branch→sum`. The way starts with
the id of the outermost control-flow node, so a body keeps its way if this node survives a pass.
Inside a body, the first output of a node is its id. Bodies of fusions are not levels: a fusion is
one kernel.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from app.wire.identities import Identified, Ids
from compiler.ir.graph import Graph, Node

ARROW = "→"
Way = tuple[str, str]
"""A body: the id of its node, and the name of its region."""


def arrow_of(graph: Graph) -> str:
    """Return the arrow of ids: a sequence of arrows that no name of a graph contains.

    Passes derive new names from existing names, so no later name contains the sequence.
    """
    arrow = ARROW
    names = set(_names(graph))
    while any(arrow in name for name in names):
        arrow += ARROW
    return arrow


def _names(graph: Graph) -> Iterator[str]:
    yield from graph.types
    yield from (r.name for r in graph.results)
    for node in graph.nodes:
        for key, region in node.regions.items():
            yield key
            yield from _names(region)


def has_bodies(node: Node) -> bool:
    """Return whether the page shows the regions of a node as graphs; a fusion is one kernel."""
    return bool(node.regions) and node.op != "fusion"


class Source(NamedTuple):
    """The definition of a value: the id of a node, an input or a constant."""

    id: str
    is_constant: bool = False


@dataclass(frozen=True)
class Level:
    """A graph or a body; `start` precedes the names of its values in ids.

    `outside` has the sources of the values of the enclosing levels. `ids` maps the first output of
    a node to its id if the two differ; it is empty for a body.
    """

    graph: Graph
    arrow: str
    start: str = ""
    way: Way | None = None
    outside: ChainMap[str, Source] | None = None
    ids: Ids = field(default_factory=dict)

    @staticmethod
    def of(now: Identified, arrow: str = ARROW) -> Level:
        """Return the outermost level of a graph."""
        return Level(now.graph, arrow, ids=now.ids)

    def id(self, name: str) -> str:
        """Return the id of an input or constant of this level, given its name."""
        return self.start + name

    def node_id(self, node: Node) -> str:
        """Return the id of a node of this level."""
        return self.start + self.ids.get(node.output, node.output)

    def result_id(self, name: str) -> str:
        """Return the id of a result of this level."""
        return f"{self.start}{self.arrow}{name}"

    @cached_property
    def sources(self) -> ChainMap[str, Source]:
        """The source of each visible value; inner names hide outer names."""
        graph = self.graph
        own: MutableMapping[str, Source] = {v.name: Source(self.id(v.name)) for v in graph.inputs}
        own.update((name, Source(self.id(name), is_constant=True)) for name in graph.constants)
        own.update((o, Source(self.node_id(n))) for n in graph.nodes for o in n.outputs if o)
        return ChainMap(own, *(self.outside.maps if self.outside is not None else ()))

    def reads(self) -> Iterator[tuple[Source, str, int, str]]:
        """Yield [source, id of the reader, operand index, value] for each value that is read.

        The readers are nodes and results. The index is -1 for captures of a fusion; a capture of
        a body is read by nodes of the body.
        """
        for node in self.graph.nodes:
            reader = self.node_id(node)
            for index, name in enumerate(node.inputs):
                if name in self.sources:
                    yield self.sources[name], reader, index, name
            captured = () if has_bodies(node) else dict.fromkeys(node.reads)
            for name in captured:
                if name in self.sources and name not in node.inputs:
                    yield self.sources[name], reader, -1, name
        for r in self.graph.results:
            if r.value in self.sources:
                yield self.sources[r.value], self.result_id(r.name), 0, r.value

    def inside(self, node: Node) -> Iterator[Level]:
        """Yield the bodies of a node of this level."""
        if has_bodies(node):
            around = self.node_id(node)
            for key, region in node.regions.items():
                start = f"{around}{self.arrow}{key}{self.arrow}"
                yield Level(region, self.arrow, start, (around, key), self.sources)


def levels(now: Identified, arrow: str = ARROW) -> Iterator[Level]:
    """Yield a graph, then the bodies inside it; an outer body precedes its inner bodies."""
    return _from(Level.of(now, arrow))


def _from(level: Level) -> Iterator[Level]:
    yield level
    for node in level.graph.nodes:
        for body in level.inside(node):
            yield from _from(body)


@dataclass(frozen=True)
class Ways:
    """The ids of values that the trace of a pass names.

    `ids` has the id of each control-flow node of the graph, by its first output.
    """

    arrow: str = ARROW
    ids: Ids = field(default_factory=dict)

    @staticmethod
    def of(before: Identified, now: Identified, arrow: str) -> Ways:
        """Return the ids for a pass; a name in both graphs gets its id in `before`."""
        ids = {n.output: g.id_of(n) for g in (now, before) for n in g.graph.nodes if has_bodies(n)}
        return Ways(arrow, ids)

    def id(self, inside: tuple[Way, ...], name: str) -> str:
        """Return the id of a value; outside all bodies, the id is the value's name.

        `inside` has the enclosing regions, outermost first, each as the first output of its node
        and the name of the region.
        """
        first, *parts = (*(part for way in inside for part in way), name)
        return self.arrow.join((self.ids.get(first, first) if inside else first, *parts))
