"""Loop-invariant code motion."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts
from compiler.ir.legality import is_legal
from compiler.ir.operator import OPERATORS
from compiler.ir.regions import rename_values
from compiler.ir.types import TensorType
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.trace import Log

LOOPS = ("onnx.Loop", "onnx.Scan")


@graph_pass(
    aliases=("licm", "hoist"),
    known_as={"LLVM": "LICM", "XLA": "WhileLoopInvariantCodeMotion"},
    example="""
    graph g(x: f32[5,3], w: f32[4,3], v: f32[4]) {
      y: f32[4], z: f32[5,4] = onnx.Scan(v, x, num_scan_inputs=1, opset=16) {
        body: graph step(s: f32[4], r: f32[3]) {
          e: f32[4,3] = exp(w)
          m: f32[4] = matmul(e, r)
          t: f32[4] = add(m, s)
          return t, out=t
        }
      }
      return y, z
    }
    =>
    graph g(x: f32[5,3], w: f32[4,3], v: f32[4]) {
      e: f32[4,3] = exp(w)
      y: f32[4], z: f32[5,4] = onnx.Scan(v, x, num_scan_inputs=1, opset=16) {
        body: graph step(s: f32[4], r: f32[3]) {
          m: f32[4] = matmul(e, r)
          t: f32[4] = add(m, s)
          return t, out=t
        }
      }
      return y, z
    }
    """,
    near_miss="""
    graph g(x: f32[5,3], w: f32[4,3], v: f32[4]) {
      y: f32[4] = onnx.Scan(v, x, num_scan_inputs=1, opset=16) {
        body: graph step(s: f32[4], r: f32[3]) {
          e: f32[3] = exp(r)
          m: f32[4] = matmul(w, e)
          t: f32[4] = add(m, s)
          return t
        }
      }
      return y
    }
    """,
)
def loop_invariant_code_motion(graph: Graph, log: Log) -> Graph:
    """Move loop-invariant nodes out of loops.

    A moved node runs once instead of once per iteration, and the loop captures its value. Only
    operators that cannot fail are moved, since a loop may run no iteration at all. For the same
    reason, a node with illegal operands stays in the loop.
    """
    if not any(n.op in LOOPS for n in graph.nodes):
        return graph
    nodes: list[Node] = []
    constants = dict(graph.constants)
    taken = set(graph.types)
    facts = Facts.of_graph(graph)
    n_moved = 0
    for node in graph.nodes:
        if node.op in LOOPS:
            body = _renamed(node.regions["body"], taken)
            moved = _invariant(body, log, node, facts)
            if moved:
                node, brought = _without(node, body, moved, constants)
                nodes += brought
                taken.update(o for m in brought for o in m.outputs if o)
                n_moved += len(brought)
                for m in brought:
                    facts.record(m)
        nodes.append(node)
        facts.record(node)
    return replace(graph, nodes=tuple(nodes), constants=constants) if n_moved else graph


def _renamed(body: Graph, taken: set[str]) -> Graph:
    """Rename values of the body whose names are also used outside the body."""
    names: dict[str, str] = {}
    for name in body.types:
        if name in taken:
            fresh, n = name, 1
            while fresh in taken or fresh in body.types or fresh in names.values():
                n += 1
                fresh = f"{name}_{n}"
            names[name] = fresh
    return rename_values(body, names)


def _invariant(body: Graph, log: Log, loop: Node, outer: Facts) -> list[Node]:
    """Return the legal nodes of a body that depend only on captured values and constants."""
    varying = {v.name for v in body.inputs}
    facts = Facts.of_graph(body, outer)
    found: list[Node] = []
    for node in body.nodes:
        same = varying.isdisjoint(node.reads) and _may_move(node)
        if same and not is_legal(node, facts):
            because = "the operands are illegal, and an iteration may never run"
            log.declined("loop_invariant_code_motion", node.output, because, [node])
            same = False
        facts.record(node)
        if same and log.may("loop_invariant_code_motion", node.output):
            found.append(node)
            because = f"the node is invariant in {loop.output}"
            log.applied("loop_invariant_code_motion", node.output, because, [node], [node])
        else:
            varying.update(o for o in node.outputs if o)
    return found


def _may_move(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return (
        operator is not None
        and (operator.lower_fn is not None or operator.decompose_fn is not None)
        and is_deterministic(node)
        and all(isinstance(t, TensorType) and t.is_static for t in node.types)
    )


def _without(
    loop: Node, body: Graph, moved: list[Node], constants: dict[str, Constant]
) -> tuple[Node, list[Node]]:
    """Split a loop into a loop without invariant nodes and the invariant nodes.

    The constants that the invariant nodes read are added to `constants`.
    """
    gone = {id(n) for n in moved}
    kept = tuple(n for n in body.nodes if id(n) not in gone)
    read = {i for n in moved for i in n.reads if i in body.constants}
    constants.update((name, body.constants[name]) for name in read)
    own = {k: c for k, c in body.constants.items() if k not in read}
    body = replace(body, nodes=kept, constants=own)
    return replace(loop, regions={"body": body}), moved
