"""Dead code elimination: removal of nodes and constants that affect no result."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.graph import Graph, Node
from compiler.ir.types import TensorType
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log


@graph_pass(
    aliases=("dce", "remove_dead"),
    known_as={"LLVM": "DCE, ADCE", "XLA": "HloDCE", "TVM": "DeadCodeElimination"},
    gives=["single uses"],
    example="""
    graph g(x: f32[2,3]) {
      const unread: f32[3] = literal(1.0,2.0,3.0)
      a: f32[2,3] = relu(x)
      b: f32[2,3] = neg(a)
      c: f32[2,3] = exp(b)
      return a
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      return a
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const read: f32[3] = literal(1.0,2.0,3.0)
      a: f32[2,3] = add(x, read)
      b: f32[2,3] = neg(a)
      return a, b
    }
    """,
)
def dead_code_elimination(graph: Graph, log: Log) -> Graph:
    """Remove nodes and constants on which no result depends.

    A node without readers still costs run time. A single walk backwards from
    the results marks the live nodes.
    """
    needed = {r.value for r in graph.results}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.outputs) and log.may("dead_code_elimination", node.output):
            log.applied("dead_code_elimination", node.output, _reason(graph, node), took=[node])
            continue
        kept.append(node)
        needed.update(node.reads)
    constants = {
        k: c
        for k, c in graph.constants.items()
        if k in needed or not log.may("dead_code_elimination", k)
    }
    for name in [k for k in graph.constants if k not in constants]:
        size = graph.constants[name].stored_bytes
        log.applied(
            "dead_code_elimination", name, f"no node reads this constant of {size:,} bytes", [name]
        )
    if len(kept) == len(graph.nodes) and len(constants) == len(graph.constants):
        return graph
    return replace(graph, nodes=tuple(reversed(kept)), constants=constants)


def _reason(graph: Graph, node: Node) -> str:
    readers = [u for o in node.outputs for u in graph.users.get(o, ())]
    saved = sum(t.nbytes for t in node.types if isinstance(t, TensorType) and t.is_static)
    if not readers:
        why = "it has no readers"
    elif len(readers) == 1:
        why = "its reader is dead too"
    else:
        why = f"its {len(readers)} readers are dead too"
    return f"{why}; saves {saved:,} bytes of writes"
