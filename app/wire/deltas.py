"""A stage's graph as the difference to the graph before it: what is kept, and what is new.

A part of a graph (nodes, edges, constants) is put together of pieces `[start, end, items]`: the
items of the old part from `start` to before `end`, then new ones. Pieces are in the order of the
new part, so that parts in which things changed places are told too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

Payload = Mapping[str, Any]
Piece = list[Any]

_KEYS: dict[str, Callable[[Any], Hashable]] = {
    "nodes": lambda node: node["id"],
    "edges": tuple,
    "constants": lambda constant: constant["name"],
}
_NOTHING: Payload = {"graph_stage": -1, **{part: [] for part in _KEYS}}


def delta_of(before: Payload | None, after: Payload) -> dict[str, Any]:
    """What makes the graph of a stage of the one before; all of it where there is none before."""
    old = before or _NOTHING
    pieces = {part: spliced(old[part], after[part], key) for part, key in _KEYS.items()}
    return {**after, "against": old["graph_stage"], **pieces}


def applied(before: Payload | None, delta: Payload) -> dict[str, Any]:
    """The graph that a delta makes of the one before; what is kept are the same objects."""
    old = before or _NOTHING
    assert old["graph_stage"] == delta["against"], (
        f"a delta against stage {delta['against']} is given stage {old['graph_stage']}"
    )
    whole = {part: joined(old[part], delta[part]) for part in _KEYS}
    return {**{k: v for k, v in delta.items() if k != "against"}, **whole}


def chained(deltas: Iterable[Payload]) -> dict[str, Any]:
    """The graph at the end of a chain of deltas that begins with the first graph."""
    graph: dict[str, Any] | None = None
    for each in deltas:
        graph = applied(graph, each)
    assert graph is not None, "a chain begins with the first graph"
    return graph


def spliced(old: Sequence[Any], new: Sequence[Any], key: Callable[[Any], Hashable]) -> list[Piece]:
    """The pieces that make the new items of the old ones; keys are unique among each."""
    places = {key(item): place for place, item in enumerate(old)}
    pieces: list[Piece] = [[0, 0, []]]
    for item in new:
        place = places.get(key(item))
        piece = pieces[-1]
        if place is None or (old[place] is not item and old[place] != item):
            piece[2].append(item)
        elif place == piece[1] and not piece[2]:
            piece[1] += 1
        else:
            pieces.append([place, place + 1, []])
    return [piece for piece in pieces if piece[0] < piece[1] or piece[2]]


def joined(old: Sequence[Any], pieces: Iterable[Piece]) -> list[Any]:
    """The items that the pieces say."""
    return [item for start, end, new in pieces for item in (*old[start:end], *new)]
