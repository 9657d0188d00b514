"""The policy `xla`: fuses producers in order of time saved, then merges sibling kernels."""

from __future__ import annotations

from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.policy import Limits, Plan, policy
from compiler.passes.fusion.priority import Priorities
from compiler.passes.fusion.siblings import shared_bytes, try_to_merge, why_not
from compiler.passes.fusion.units import MOST_READERS, Unit, Units
from compiler.trace import Log

CANDIDATES = 8
"""For each reader of a value: largest number of earlier readers tried for merging, latest first."""


@policy(
    like="XLA: PriorityFusion (before it CpuInstructionFusion), then MultiOutputFusion",
    example="""
    graph g(x: f32[4,50]) {
      a: f32[4,50] = neg(x)
      s: f32[4] = reduce_sum(a, axes=[1], keepdims=false)
      t: f32[4] = reduce_max(a, axes=[1], keepdims=false)
      m: f32[50] = reduce_min(a, axes=[0], keepdims=false)
      return s, t, m
    }
    =>
    graph g(x: f32[4,50]) {
      s: f32[4], t: f32[4] = fusion(x, kind="reduction") {
        body: graph reduction(x: f32[4,50]) {
          a: f32[4,50] = neg(x)
          s: f32[4] = reduce_sum(a, axes=[1], keepdims=false)
          t: f32[4] = reduce_max(a, axes=[1], keepdims=false)
          return s, t
        }
      }
      m: f32[50] = fusion(x, kind="reduction") {
        body: graph reduction(x: f32[4,50]) {
          a_3: f32[4,50] = neg(x)
          m: f32[50] = reduce_min(a_3, axes=[0], keepdims=false)
          return m
        }
      }
      return s, t, m
    }
    """,
)
def xla(graph: Graph, limits: Limits, log: Log) -> Plan:
    """Repeatedly fuse the producer that saves the most time into all of its readers.

    The cost model estimates the time. A producer fuses into all of its readers or none. With
    several readers, each reader gets a duplicate, so the nodes must be cheap. Finally, kernels that
    read the same value merge into kernels with several outputs. Producers also merge with their
    readers into kernels with several outputs.
    """
    units = Units(graph)
    priorities = Priorities(units, limits, log)
    priorities.run()
    for value in [*(v.name for v in graph.inputs), *graph.producers]:
        _merge_round(units, value, limits.max_nodes)
    made, groups = units.result()

    def why(node: Node, user: Node) -> str:
        return _why(units, priorities, node, user, limits.max_nodes)

    return Plan(made, groups, why)


def _merge_round(units: Units, value: str, max_nodes: int) -> None:
    """Merge kernels that read a value, then the producer of the value with its readers."""
    if not units.nbytes(value):
        return
    merged: list[Unit] = []
    for reader in units.readers_of(value):
        for other in merged[: -CANDIDATES - 1 : -1]:
            made = try_to_merge(units, other, reader, max_nodes)
            if made is not None:
                merged[merged.index(other)] = made
                break
        else:
            merged.append(reader)
    maker = units.unit_of.get(value)
    for reader in units.readers_of(value):
        if maker is not None and reader is not maker and shared_bytes(units, maker, reader):
            maker = try_to_merge(units, maker, reader, max_nodes) or maker


def _why(units: Units, priorities: Priorities, node: Node, user: Node, max_nodes: int) -> str:
    """Return the reason that a node and its reader are in two kernels of the final plan."""
    a, b = units.unit_of[node.output], units.unit_of[user.output]
    reason = why_not(units, a, b, max_nodes) or units.way(a, b).obstacle
    apart = priorities.kept_apart.get(node.output, "")
    if reason and apart and not (a.alone or b.alone):
        return f"{reason}; {apart}"
    if reason or apart:
        return reason or apart
    if units.has_many_readers(a):
        return f"{node.output} has more than {MOST_READERS} readers, so it is stored"
    return f"{a.last} and {b.last} were compared only before other kernels merged with them"
