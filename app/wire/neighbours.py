"""The fusion verdict of each edge of the model: one kernel or two kernels, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from app.wire import VERSION
from app.wire.identities import Identified
from app.wire.levels import Ways, levels
from app.wire.shapes import stages as shapes
from app.wire.shapes.stages import Neighbour, Neighbours
from compiler.ir.graph import Graph
from compiler.ledger import Chapter, Ledger
from compiler.trace import Trace

EDGES_KEPT = 20_000
CHAPTERS_KEPT = 12
"""Maximum number of steps stored for an edge: the last steps, which explain more."""


def neighbours(
    graph: Graph, trace: Trace | None, stages: Sequence[int], ways: Sequence[Ways]
) -> Neighbours:
    """Return a verdict for each pair of a node and its reader in the imported graph, at all levels.

    For each event of the trace, `stages` has the number of its stage in the page, and `ways` has
    the ids of values in bodies.
    """
    edges = _edges(graph)[:EDGES_KEPT] if trace is not None else []
    rows: list[Neighbour] = []
    if edges:
        assert trace is not None
        ledger = Ledger(trace)
        known = set(ledger.names())
        for a, b in edges:
            if a not in known or b not in known:
                continue
            answer = ledger.why(a, b)
            chapters = answer.chapters[-CHAPTERS_KEPT:]
            rows.append(
                {
                    "maker": a,
                    "reader": b,
                    "verdict": answer.verdict,
                    "because": answer.because,
                    "chapters": [_chapter(c, stages, ways) for c in chapters],
                }
            )
    return {"version": VERSION, "edges": rows}


def _edges(graph: Graph) -> list[tuple[str, str]]:
    """Return the pairs [node, reader] of ONNX nodes; a reader in a body may read a captured
    value."""
    every = list(levels(Identified(graph)))
    origins = {
        level.node_id(n): n.origins[0] for level in every for n in level.graph.nodes if n.origins
    }
    found = (
        (origins[source.id], origins[reader])
        for level in every
        for source, reader, _, _ in level.reads()
        if source.id in origins and reader in origins
    )
    return list(dict.fromkeys(found))


def _chapter(c: Chapter, stages: Sequence[int], ways: Sequence[Ways]) -> shapes.Chapter:
    is_shown = c.event < len(stages)
    named = ways[c.event] if is_shown else Ways()
    return {
        "stage": stages[c.event] if is_shown else -1,
        "pass_name": c.pass_name,
        "rule": c.step.rule,
        "outcome": c.step.outcome,
        "at": named.id(c.step.inside, c.step.at),
        "because": c.step.because,
    }
