"""Fusion: groups of nodes become kernels, which keep intermediate values in registers.

A policy chooses the groups; the pass rewrites the graph and records its steps in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ops.fusion import fuse_nodes
from compiler.passes.engine.cost import bytes_saved, cost_of, node_cost, traffic_text
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.fusion.policies import POLICIES
from compiler.passes.fusion.policy import Group, Limits, Plan
from compiler.trace import Log


@graph_pass(
    known_as={"MLIR": "linalg-fuse-elementwise-ops", "XLA": "InstructionFusion", "TVM": "FuseOps"},
    for_code=True,
    needs=["constants", "single uses"],
    gives=["fusion"],
    choices={"policy": tuple(POLICIES)},
    example="""
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      a: f32[2,5] = matmul(x, w)
      b: f32[2,5] = add(a, r)
      c: f32[2,5] = relu(b)
      d: f32[2] = reduce_sum(c, axes=[1], keepdims=false)
      return d
    }
    =>
    graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
      c: f32[2,5] = fusion(x, w, r, kind="contraction") {
        body: graph contraction(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = add(a, r)
          c: f32[2,5] = relu(b)
          return c
        }
      }
      d: f32[2] = reduce_sum(c, axes=[1], keepdims=false)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], w: f32[3,5], v: f32[5,4]) {
      a: f32[2,5] = matmul(x, w)
      b: f32[2,4] = matmul(a, v)
      return b
    }
    """,
    steps=[
        step_kind(
            "copy_cheap_producer",
            "Compute a cheap node in each group that reads it, instead of storing its result.",
            example="""
            graph g(x: f32[20,30]) {
              p: f32[20,30] = relu(x)
              t: f32[20,30] = exp(x)
              q: f32[20,30] = neg(p)
              r: f32[20,30] = sqrt(p)
              a: f32[30,20] = transpose(q, perm=[1,0])
              b: f32[30,20] = transpose(r, perm=[1,0])
              return a, b, t
            }
            =>
            graph g(x: f32[20,30]) {
              t: f32[20,30] = exp(x)
              q: f32[20,30] = fusion(x, kind="elementwise") <- p, q {
                body: graph elementwise(x: f32[20,30]) {
                  p: f32[20,30] = relu(x)
                  q: f32[20,30] = neg(p)
                  return q
                }
              }
              r: f32[20,30] = fusion(x, kind="elementwise") <- p, r {
                body: graph elementwise(x: f32[20,30]) {
                  p_2: f32[20,30] = relu(x) <- p
                  r: f32[20,30] = sqrt(p_2)
                  return r
                }
              }
              a: f32[30,20] = transpose(q, perm=[1,0])
              b: f32[30,20] = transpose(r, perm=[1,0])
              return a, b, t
            }
            """,
            near_miss="""
            graph g(x: f32[20,30]) {
              p: f32[20,30] = tanh(x)
              t: f32[20,30] = exp(x)
              q: f32[20,30] = neg(p)
              r: f32[20,30] = sqrt(p)
              a: f32[30,20] = transpose(q, perm=[1,0])
              b: f32[30,20] = transpose(r, perm=[1,0])
              return a, b, t
            }
            """,
        ),
    ],
)
def fuse(
    graph: Graph,
    log: Log,
    *,
    policy: str = "anchor",
    duplicate: bool = True,
    max_nodes: int = 32,
) -> Graph:
    """Group neighbouring nodes into kernels.

    Without fusion each node writes its result to memory and its readers load it again. `policy`
    names the policy that chooses groups. The default policy fuses a convolution, product, pool or
    reduction with the following elementwise nodes. Pools and reductions are also fused with the
    preceding elementwise nodes. A reduction here combines the elements along axes in one pass over
    the operand; `softmax` needs several passes and does not count. The remaining elementwise nodes
    form separate groups. With `duplicate`, each group that reads a cheap node computes a copy of
    the node if copies save bytes.
    """
    return carried_out(POLICIES[policy].plan(graph, Limits(max_nodes, duplicate), log), log)


def carried_out(plan: Plan, log: Log) -> Graph:
    """Replace the groups of a plan with kernels, and record the steps."""
    groups = [g for g in plan.groups if log.may("fuse", g.last.output)]
    _log_declined(plan, log)
    if not groups:
        return plan.graph
    position = {n.output: i for i, n in enumerate(plan.graph.nodes)}
    fused = {g.last.output: _fuse(plan.graph, g, position, log) for g in groups}
    members = {name for g in groups for name in g.nodes}
    nodes = [
        fused.get(n.output, n)
        for n in plan.graph.nodes
        if n.output in fused or n.output not in members
    ]
    read = {i for n in nodes for i in n.reads} | plan.graph.result_values
    constants = {k: c for k, c in plan.graph.constants.items() if k in read}
    made = replace(plan.graph, nodes=tuple(nodes), constants=constants)
    # A reader of the first output may precede the producer of the last output.
    in_order = all(n.outputs == (last,) for last, n in fused.items())
    return made if in_order else Editor(made).graph()


def _fuse(graph: Graph, group: Group, position: Mapping[str, int], log: Log) -> Node:
    nodes = sorted(group.nodes.values(), key=lambda n: position[n.output])
    made = fuse_nodes(graph, nodes, group.kind)
    before = cost_of(nodes, graph.types.__getitem__)
    after = node_cost(made, graph.types.__getitem__)
    saved = bytes_saved(before, after)
    saved = _assumed_bytes_saved(graph, nodes, made) if saved is None else saved
    names = ", ".join(n.op for n in nodes)
    stored = f", {len(made.outputs)} results" if len(made.outputs) > 1 else ""
    because = f"{len(nodes)} nodes in one kernel ({names}){stored}; {traffic_text(saved)}"
    log.applied(
        "fuse",
        group.last.output,
        because,
        nodes,
        [made],
        cost_before=before,
        cost_after=after,
    )
    return made


def _assumed_bytes_saved(graph: Graph, nodes: Sequence[Node], made: Node) -> int:
    """Return the bytes of memory traffic that a kernel saves for its internal values, if open sizes
    have their assumed values."""
    inside = {n.output for n in nodes}
    saved = 0
    for n in nodes:
        if n.output not in made.outputs:
            saved += n.tensor.assumed.nbytes * (1 + len(graph.users.get(n.output, ())))
        elif len(made.outputs) > 1:
            n_readers = sum(u.output in inside for u in graph.users.get(n.output, ()))
            saved += n.tensor.assumed.nbytes * n_readers
    return saved


def _log_declined(plan: Plan, log: Log) -> None:
    """Record a declined step for each node and reader in different kernels."""
    if not log.keep_declined:
        return
    group_of = {name: number for number, g in enumerate(plan.groups) for name in g.nodes}
    for user in plan.graph.nodes:
        for value in dict.fromkeys(user.reads):
            node = plan.graph.producers.get(value)
            if node is None:
                continue
            group = group_of.get(node.output)
            if group is None or group != group_of.get(user.output):
                log.declined("fuse", user.output, plan.why(node, user), [node, user])
