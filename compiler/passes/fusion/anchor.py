"""The default policy `anchor`: groups grow around contractions and reductions."""

from __future__ import annotations

from compiler.ir.graph import Graph
from compiler.passes.fusion.growth import grown
from compiler.passes.fusion.policy import Limits, Plan, policy
from compiler.trace import Log


@policy(
    like="pattern fusion as in ONNX Runtime and OpenVINO: an anchor and its epilogue",
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
    """Grow groups of elementwise nodes around convolutions, products, pools and reductions.

    The group of an anchor includes the following elementwise nodes, up to a post-dominator: a node
    on all paths from the anchor. The group of a pool or reduction also includes the preceding
    elementwise nodes. The remaining elementwise nodes form separate groups. A cheap node with
    readers in several groups is duplicated into each group if that saves bytes. A scalar with
    elementwise readers, such as a product of scales, is duplicated too. Groups have one output.
    """
    return grown(graph, limits, log, "anchor")
