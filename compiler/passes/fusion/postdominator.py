"""The policy `postdominator`: fuses a node with its immediate post-dominator."""

from __future__ import annotations

from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.paths import Fuser
from compiler.passes.fusion.patterns import Pattern
from compiler.passes.fusion.policy import Limits, Plan, policy
from compiler.trace import Log


@policy(
    like="TVM's FuseOps (Relay and Relax): kinds of operators, post-dominators, three phases",
    example="""
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      a: f32[2,5] = matmul(x, w)
      s: f32[2,5] = sigmoid(a)
      b: f32[2,5] = mul(a, s)
      t: f32[5,2] = transpose(b, perm=[1,0])
      u: f32[5,2] = exp(t)
      v: f32[5,2] = mul(u, t)
      m: f32[5] = reduce_max(v, axes=[1], keepdims=false)
      y: f32[5] = neg(m)
      return y
    }
    =>
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      b: f32[2,5] = fusion(x, w, kind="contraction") {
        body: graph contraction(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          s: f32[2,5] = sigmoid(a)
          b: f32[2,5] = mul(a, s)
          return b
        }
      }
      t: f32[5,2] = transpose(b, perm=[1,0])
      m: f32[5] = fusion(t, kind="reduction") {
        body: graph reduction(t: f32[5,2]) {
          u: f32[5,2] = exp(t)
          v: f32[5,2] = mul(u, t)
          m: f32[5] = reduce_max(v, axes=[1], keepdims=false)
          return m
        }
      }
      y: f32[5] = neg(m)
      return y
    }
    """,
)
def postdominator(graph: Graph, limits: Limits, log: Log) -> Plan:
    """Fuse a node with its immediate post-dominator if the kinds on all paths permit fusion.

    In the first phase, contractions and pools fuse with elementwise epilogues. In this phase,
    elementwise and broadcasting nodes also fuse into their readers. In the second phase, data
    movement fuses. Groups have one output, no node is computed twice, and a kernel ends with its
    reduction.
    """
    fuser = Fuser(graph, limits.max_nodes)
    for phase in (0, 1):
        for node in graph.nodes:
            fuser.visit(node, phase)

    def why(node: Node, user: Node) -> str:
        return (
            fuser.why_alone(user) or fuser.reasons.get(node.output) or _default(fuser, node, user)
        )

    return Plan(graph, fuser.groups(), why)


def _default(fuser: Fuser, node: Node, user: Node) -> str:
    a, b = (fuser.pattern(n.output) for n in (node, user))
    assert a is not Pattern.OPAQUE, f"{node.output} has no reason"
    return f"{a.word} {node.op} and {b.word} {user.op} do not fuse"
