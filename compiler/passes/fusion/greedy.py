"""The policy `greedy`: merges pairs of kernels, first the pair that shares the most bytes."""

from __future__ import annotations

from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.policy import Limits, Plan, policy
from compiler.passes.fusion.siblings import shared_bytes, try_to_merge, why_not
from compiler.passes.fusion.units import MOST_READERS, Unit, Units
from compiler.trace import Log

ROUNDS = 10
"""Limit on the number of iterations over all pairs: later iterations have less effect."""

FARTHEST = 64
"""Limit on the distance of paired kernels in topological order; distant kernels share little."""


@policy(
    like="PyTorch Inductor's scheduler: pairs scored by shared bytes, then by proximity",
    example="""
    graph g(x: f32[4,50], z: f32[4,50]) {
      a: f32[4,50] = mul(x, z)
      b: f32[4,50] = sub(x, z)
      s: f32[4] = reduce_sum(a, axes=[1], keepdims=false)
      return b, s
    }
    =>
    graph g(x: f32[4,50], z: f32[4,50]) {
      a: f32[4,50], b: f32[4,50] = fusion(x, z, kind="elementwise") {
        body: graph elementwise(x: f32[4,50], z: f32[4,50]) {
          a: f32[4,50] = mul(x, z)
          b: f32[4,50] = sub(x, z)
          return a, b
        }
      }
      s: f32[4] = reduce_sum(a, axes=[1], keepdims=false)
      return b, s
    }
    """,
)
def greedy(graph: Graph, limits: Limits, log: Log) -> Plan:
    """Merge pairs of kernels, first the pair that shares the most bytes.

    The shared bytes of two kernels are the bytes of values that one passes to the other, or that
    both read. Kernels may have several outputs; merges that would close a cycle through a third
    kernel are skipped. No node is computed twice. Iterations continue until no pair merges.
    """
    units = Units(graph)
    for _ in range(ROUNDS):
        if not _round(units, limits.max_nodes):
            break
    made, groups = units.result()

    def why(node: Node, user: Node) -> str:
        a, b = units.unit_of[node.output], units.unit_of[user.output]
        reason = why_not(units, a, b, limits.max_nodes) or units.way(a, b).obstacle
        if not reason and units.has_many_readers(a):
            return f"{node.output} has more than {MOST_READERS} readers, so it is stored"
        return reason or f"{a.last} and {b.last} share too few bytes for a merge"

    return Plan(made, groups, why)


def _round(units: Units, max_nodes: int) -> int:
    """Merge pairs, best first; return the number of merges."""
    scored: dict[tuple[str, str], tuple[int, int]] = {}
    for a, b in _pairs(units):
        key = (a.last, b.last)
        if key not in scored and not why_not(units, a, b, max_nodes):
            scored[key] = (-shared_bytes(units, a, b), abs(a.order - b.order))
    n_merged = 0
    for (x, y), (score, _) in sorted(scored.items(), key=lambda item: item[1]):
        a, b = units.unit_of[x], units.unit_of[y]
        if score and a is not b and try_to_merge(units, a, b, max_nodes):
            n_merged += 1
    return n_merged


def _pairs(units: Units) -> list[tuple[Unit, Unit]]:
    """Return producers with their readers, and adjacent readers of a value."""
    found: list[tuple[Unit, Unit]] = []
    for value in units.users:
        maker = units.unit_of.get(value)
        readers = [r for r in units.readers_of(value) if r is not maker]
        if maker is not None:
            found += [(maker, r) for r in readers]
        for i, a in enumerate(readers):
            found += [(a, b) for b in readers[i + 1 : i + 4] if b.order - a.order <= FARTHEST]
    return found
