"""The policy `none`: each node is a kernel."""

from __future__ import annotations

from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.kinds import why_alone
from compiler.passes.fusion.policy import Limits, Plan, policy
from compiler.trace import Log


@policy(
    like="no system: the baseline of the other policies",
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = neg(x)
      y: f32[2,3] = exp(a)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = neg(x)
      y: f32[2,3] = exp(a)
      return y
    }
    """,
)
def none(graph: Graph, limits: Limits, log: Log) -> Plan:
    """Fuse nothing: each node writes its result to memory, and its readers load it again."""
    return Plan(graph, (), _why)


def _why(node: Node, user: Node) -> str:
    alone = why_alone(node) or why_alone(user)
    return alone or f"policy=none fuses nothing: {node.output} is stored and read back"
