"""Completion of a pass's ledger: costs of its steps, and constants that became dead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Cost
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.step_kind import step_kind
from compiler.trace import Step

UNREAD = step_kind(
    "unread_constant",
    """Remove a constant whose last reader was removed by another step of the same pass.""",
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(1.0,2.0,3.0)
      y: f32[2,3] = mul(x, c)
      z: f32[2,3] = relu(x)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      z: f32[2,3] = relu(x)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(1.0,2.0,3.0)
      y: f32[2,3] = mul(x, c)
      return y
    }
    """,
)
"""The kind of step that this module adds to the ledger of any pass."""


def complete(steps: Sequence[Step], before: Graph, after: Graph) -> tuple[Step, ...]:
    """Return the steps of a pass with costs, plus a step for each constant that became dead."""
    if before is after:
        return tuple(steps)
    priced = [_priced(s, before, after) if s.outcome == "applied" else s for s in steps]
    return (*priced, *_unread(steps, before, after))


def _priced(step: Step, before: Graph, after: Graph) -> Step:
    """Return a step with costs, if the graphs before and after the pass contain its nodes."""
    if step.cost_before is not None or step.cost_after is not None:
        return step
    cost_before = _cost(step.took, before)
    if cost_before is None:
        return step
    return replace(step, cost_before=cost_before, cost_after=_cost(step.made, after))


def _cost(names: Sequence[str], graph: Graph) -> Cost | None:
    nodes: dict[str, Node] = {}
    for name in names:
        node = graph.producers.get(name)
        if node is None and name not in graph.types:
            return None
        if node is not None:
            nodes[node.output] = node
    return cost_of(nodes.values(), graph.types.__getitem__)


def _unread(steps: Sequence[Step], before: Graph, after: Graph) -> Iterator[Step]:
    gone = [c for c in before.constants if c not in after.types]
    if not gone:
        return
    told = {v for s in steps if s.outcome == "applied" for v in s.took}
    for c in gone:
        if c not in told:
            yield Step(UNREAD.name, "applied", "this constant no longer has readers", c, (c,))
