"""The policy `anchor`: what runs by default."""

from __future__ import annotations

from compiler.ir.graph import Graph
from compiler.passes.fusion.growth import grown
from compiler.passes.fusion.policy import Limits, Plan, policy
from compiler.trace import Log


@policy(
    like="pattern fusion as in ONNX Runtime and OpenVINO: an anchor and what follows it",
    example="""
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      a: f32[2,5] = matmul(x, w)
      b: f32[2,5] = add(a, r)
      c: f32[2,5] = neg(b)
      m: f32[2] = reduce_max(c, axes=[1], keepdims=false)
      y: f32[2] = abs(m)
      return y
    }
    =>
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      c: f32[2,5] = fusion(x, w, r, kind="contraction") {
        body: graph contraction(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = add(a, r)
          c: f32[2,5] = neg(b)
          return c
        }
      }
      y: f32[2] = fusion(c, kind="reduction") {
        body: graph reduction(c: f32[2,5]) {
          m: f32[2] = reduce_max(c, axes=[1], keepdims=false)
          y: f32[2] = abs(m)
          return y
        }
      }
      return y
    }
    """,
)
def anchor(graph: Graph, limits: Limits, log: Log) -> Plan:
    """Groups grow round a convolution, product, pool or reduction; elementwise nodes follow.

    An anchor takes the elementwise nodes behind it up to where all that reads them comes together,
    a pool or reduction also those before it. What is left forms elementwise groups. A cheap node
    that several groups read is computed in each when that saves bytes, and a single number, such as
    a product of scales, where elementwise nodes read it. Groups have one output.
    """
    return grown(graph, limits, log, "anchor")
