"""The fusion verdict of each edge of the model: one kernel or two kernels, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.wire import VERSION
from app.wire.shapes import stages as shapes
from app.wire.shapes.stages import Neighbour, Neighbours
from compiler.ir.graph import Graph
from compiler.ledger import Chapter, Ledger
from compiler.trace import Trace

EDGES_KEPT = 20_000
CHAPTERS_KEPT = 12
"""Maximum number of steps stored for an edge: the last steps, which explain more."""


def neighbours(graph: Graph, trace: Trace | None, stages: Sequence[int]) -> Neighbours:
    """Return a verdict for each pair of a node and its reader in the imported graph.

    `stages` are the stage numbers that the page gives to the events of the trace.
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
                    "chapters": [_chapter(c, stages) for c in chapters],
                }
            )
    return {"version": VERSION, "edges": rows}


def _edges(graph: Graph) -> list[tuple[str, str]]:
    makers: Mapping[str, str] = {
        v: n.origins[0] for n in graph.nodes if n.origins for v in n.outputs
    }
    found = (
        (makers[value], n.origins[0])
        for n in graph.nodes
        if n.origins
        for value in n.reads
        if value in makers
    )
    return list(dict.fromkeys(found))


def _chapter(c: Chapter, stages: Sequence[int]) -> shapes.Chapter:
    return {
        "stage": stages[c.event] if c.event < len(stages) else -1,
        "pass_name": c.pass_name,
        "rule": c.step.rule,
        "outcome": c.step.outcome,
        "at": c.step.at,
        "because": c.step.because,
    }
