"""The graph of a stage as a delta: ranges of items from the previous graph, and new items.

Each list of a graph (nodes, edges, constants) is encoded as pieces `[start, end, items]`. A piece
stands for the old items from `start` to before `end`, followed by the new `items`. The pieces are
in the order of the new list, so a delta also represents permutations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from app.wire.shapes import stages as shapes

T = TypeVar("T")


def delta_of(before: shapes.StageGraph | None, after: shapes.StageGraph) -> shapes.StageDelta:
    """Return the delta from the previous graph, or from the empty graph, to a stage's graph."""
    nodes, edges, constants = _parts(before)
    return {
        **_facts(after),
        "against": before["graph_stage"] if before else -1,
        "nodes": spliced(nodes, after["nodes"], lambda node: node["id"]),
        "edges": spliced(edges, after["edges"], tuple),
        "constants": spliced(constants, after["constants"], lambda constant: constant["name"]),
    }


def applied(before: shapes.StageGraph | None, delta: shapes.StageDelta) -> shapes.StageGraph:
    """Apply a delta to the previous graph; unchanged items are the same objects."""
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
        "refined": of["refined"],
        "removed": of["removed"],
    }


def chained(deltas: Iterable[shapes.StageDelta]) -> shapes.StageGraph:
    """Return the graph after a chain of deltas; the first delta contains the complete initial
    graph."""
    graph: shapes.StageGraph | None = None
    for each in deltas:
        graph = applied(graph, each)
    assert graph is not None, "a chain begins with the first graph"
    return graph


def spliced(
    old: Sequence[T], new: Sequence[T], key: Callable[[T], Hashable]
) -> list[tuple[int, int, list[T]]]:
    """Return the pieces that turn the old items into the new; the keys of each list are unique."""
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
    """Return the items that the pieces describe."""
    return [item for start, end, new in pieces for item in (*old[start:end], *new)]
