"""Frames of passes: the nodes that each rewrite matched, and the graph with those that it made.

The trace has the graphs before and after each pass only. The graphs between two rewrites come from
further runs of the same passes, whose gate allows the first rewrites and declines all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compiler.ir.graph import Graph
from compiler.passes.engine.account import UNREAD
from compiler.passes.pipeline.pipeline import Pipeline
from compiler.passes.pipeline.run import run_pipeline
from compiler.trace import Decision, Step, Trace
from course.frames.limits import LeftOut, bounded, left_out

MOST_NODES = 40
"""Maximum number of nodes of the graph."""
MOST_STEPS = 24
"""Maximum number of applied rewrites; each has two frames."""
MOST_RUNS = 60
"""Maximum number of runs of the passes."""


class First:
    """A gate that allows the first `n` rewrites."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, decision: Decision) -> bool:
        """Return whether the rewrite is one of the first."""
        self.left -= 1
        return self.left >= 0


def applied(trace: Trace) -> list[Step]:
    """Return the applied rewrites of all passes, in order.

    Steps that only account for a constant without readers are no rewrites: no gate is asked.
    """
    steps = (s for e in trace.events for s in e.steps)
    return [s for s in steps if s.outcome == "applied" and s.rule != UNREAD.name]


def graphs_between(graph: Graph, passes: Pipeline, trace: Trace) -> list[Graph]:
    """Return the graph before all rewrites of a trace, and the graph after each. Errors: LeftOut.

    `passes` are those that left the trace.
    """
    wanted = [*map(_identity, applied(trace))]
    if len(graph.nodes) > MOST_NODES:
        raise LeftOut(f"its graph has {len(graph.nodes):,} nodes; the limit is {MOST_NODES}")
    if not wanted:
        raise LeftOut("its passes apply no rewrite")
    if len(wanted) > MOST_STEPS:
        raise LeftOut(f"its passes apply {len(wanted):,} rewrites; the limit is {MOST_STEPS}")
    found = [graph]
    for n in range(1, MOST_RUNS):
        if len(found) > len(wanted):
            return found
        after, part = run_pipeline(graph, passes, gate=First(n), keep_declined=False)
        done = [*map(_identity, applied(part))]
        if len(done) == len(found) and done == wanted[: len(done)]:
            found.append(after)
        elif len(done) >= len(found):
            break
    if len(found) > len(wanted):
        return found
    raise LeftOut("its passes do not apply their rewrites one at a time")


def _identity(s: Step) -> tuple[Any, ...]:
    return s.rule, s.at, s.took, s.made


def rewriting_picture(graph: Graph, passes: Pipeline, trace: Trace) -> dict[str, Any]:
    """Return the moving picture of passes as data, or the reason why it is left out.

    A frame has the position of its graph in `graphs`, and the nodes of this graph that the step
    matched (`phase` "match") or made ("replace").
    """
    try:
        graphs = graphs_between(graph, passes, trace)
    except LeftOut as e:
        return left_out("rewrites", str(e))
    frames = [*_frames(applied(trace), graphs)]
    return {**bounded({"kind": "rewrites", "omitted": "", "frames": frames}),
            "graphs": [str(g) for g in graphs]}  # fmt: skip


def _frames(steps: Sequence[Step], graphs: Sequence[Graph]) -> Iterator[dict[str, Any]]:
    yield {"phase": "start", "step": 0, "rule": "", "at": "", "because": "", "took": [],
           "made": [], "graph": 0, "marked": []}  # fmt: skip
    for i, s in enumerate(steps):
        words = {"step": i + 1, "rule": s.rule, "at": s.at, "because": s.because,
                 "took": list(s.took), "made": list(s.made)}  # fmt: skip
        for phase, names, at in (("match", s.took, i), ("replace", s.made, i + 1)):
            values = {n.output for n in graphs[at].nodes}
            marked = [name for name in names if name in values]
            yield {"phase": phase, **words, "graph": at, "marked": marked}
