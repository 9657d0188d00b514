"""The policy `elementwise`: chains and diamonds of elementwise nodes only."""

from __future__ import annotations

from compiler.ir.graph import Graph
from compiler.passes.fusion.growth import grown
from compiler.passes.fusion.policy import Limits, Plan, policy
from compiler.trace import Log


@policy(
    like="the basic fusion of every compiler: loops over the same elements merge",
    example="""
    graph g(x: f32[2,3], w: f32[3,5]) {
      a: f32[2,5] = matmul(x, w)
      s: f32[2,5] = sigmoid(a)
      t: f32[2,5] = tanh(a)
      y: f32[2,5] = mul(s, t)
      return y
    }
    =>
    graph g(x: f32[2,3], w: f32[3,5]) {
      a: f32[2,5] = matmul(x, w)
      y: f32[2,5] = fusion(a, kind="elementwise") {
        body: graph elementwise(a: f32[2,5]) {
          s: f32[2,5] = sigmoid(a)
          t: f32[2,5] = tanh(a)
          y: f32[2,5] = mul(s, t)
          return y
        }
      }
      return y
    }
    """,
)
def elementwise(graph: Graph, limits: Limits, log: Log) -> Plan:
    """Fuse only adjacent elementwise nodes of equal shape.

    Results are bit-identical, since no sum is reordered. Groups have one output.
    """
    return grown(graph, limits, log, "elementwise")
