"""A stage's graph as the difference to the graph before it: what is kept, and what is new.

A part of a graph (nodes, edges, constants) is put together of pieces `[start, end, items]`: the
items of the old part from `start` to before `end`, then new ones. Pieces are in the order of the
new part, so that parts in which things changed places are told too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from app.wire.shapes import stages as shapes

T = TypeVar("T")


def delta_of(before: shapes.StageGraph | None, after: shapes.StageGraph) -> shapes.StageDelta:
    """What makes the graph of a stage of the one before; all of it where there is none before."""
    nodes, edges, constants = _parts(before)
    return {
        **_facts(after),
        "against": before["graph_stage"] if before else -1,
        "nodes": spliced(nodes, after["nodes"], lambda node: node["id"]),
        "edges": spliced(edges, after["edges"], tuple),
        "constants": spliced(constants, after["constants"], lambda constant: constant["name"]),
    }


def applied(before: shapes.StageGraph | None, delta: shapes.StageDelta) -> shapes.StageGraph:
    """The graph that a delta makes of the one before; what is kept are the same objects."""
    given = before["graph_stage"] if before else -1
    assert given == delta["against"], (
        f"a delta against stage {delta['against']} is given stage {given}"
    )
    nodes, edges, constants = _parts(before)
    return {
        **_facts(delta),
        "nodes": joined(nodes, delta["nodes"]),
        "edges": joined(edges, delta["edges"]),
        "constants": joined(constants, delta["constants"]),
    }


def _parts(
    graph: shapes.StageGraph | None,
) -> tuple[list[shapes.GraphNode], list[shapes.Edge], list[shapes.GraphConstant]]:
    return (graph["nodes"], graph["edges"], graph["constants"]) if graph else ([], [], [])


def _facts(of: shapes.StageFacts) -> shapes.StageFacts:
    return {
        "version": of["version"],
        "stage": of["stage"],
        "graph_stage": of["graph_stage"],
        "name": of["name"],
        "added": of["added"],
        "changed": of["changed"],
        "removed": of["removed"],
    }


def chained(deltas: Iterable[shapes.StageDelta]) -> shapes.StageGraph:
    """The graph at the end of a chain of deltas that begins with the first graph."""
    graph: shapes.StageGraph | None = None
    for each in deltas:
        graph = applied(graph, each)
    assert graph is not None, "a chain begins with the first graph"
    return graph


def spliced(
    old: Sequence[T], new: Sequence[T], key: Callable[[T], Hashable]
) -> list[tuple[int, int, list[T]]]:
    """The pieces that make the new items of the old ones; keys are unique among each."""
    places = {key(item): place for place, item in enumerate(old)}
    pieces: list[tuple[int, int, list[T]]] = [(0, 0, [])]
    for item in new:
        place = places.get(key(item))
        start, end, items = pieces[-1]
        if place is None or (old[place] is not item and old[place] != item):
            items.append(item)
        elif place == end and not items:
            pieces[-1] = (start, end + 1, items)
        else:
            pieces.append((place, place + 1, []))
    return [(start, end, items) for start, end, items in pieces if start < end or items]


def joined(old: Sequence[T], pieces: Iterable[tuple[int, int, list[T]]]) -> list[T]:
    """The items that the pieces say."""
    return [item for start, end, new in pieces for item in (*old[start:end], *new)]
