"""Cost analysis: operations and memory traffic of a graph."""

from __future__ import annotations

from collections import Counter

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.operator import OPERATORS
from compiler.passes.engine.cost import graph_cost
from compiler.passes.engine.declaration import analysis
from compiler.trace import Log


@dataclass(frozen=True, slots=True)
class Work:
    """Cost of a graph, excluding the `n_open` nodes with open sizes or without a cost facet."""

    n_nodes: int
    n_kernels: int
    flops: int
    bytes_moved: int
    constant_bytes: int
    n_open: int
    by_operator: dict[str, int]


@analysis(
    aliases=("measure",),
    known_as={"XLA": "HloCostAnalysis"},
    example="""
    graph g(x: f32[2,3]) {
      const w: f32[3,4] = splat(0.5)
      a: f32[2,4] = matmul(x, w)
      b: f32[2,4] = relu(a)
      return b
    }
    """,
)
def cost_analysis(graph: Graph, log: Log) -> Work:
    """Count nodes, operations and bytes moved; leave the graph unchanged.

    Each node counts as a kernel that reads its operands from memory and writes its results. Nodes
    inside a fused group cause no memory traffic.
    """
    cost, n_open = graph_cost(graph)
    work = Work(
        sum(n.op != "fusion" for n in all_nodes(graph)),
        sum(_is_kernel(n) for n in graph.nodes),
        cost.flops,
        cost.bytes_moved,
        sum(c.stored_bytes for c in graph.constants.values()),
        n_open,
        dict(Counter(n.op for n in all_nodes(graph) if n.op != "fusion").most_common()),
    )
    log.applied("cost_analysis", graph.name, _sentence(work))
    return work


def _is_kernel(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return operator is None or operator.kind != "view"


def _sentence(w: Work) -> str:
    text = (
        f"{w.n_nodes:,} nodes in {w.n_kernels:,} kernels, {w.flops:,} operations, "
        f"{w.bytes_moved:,} bytes moved, {w.constant_bytes:,} bytes of constants"
    )
    if not w.n_open:
        return text
    if w.n_open == 1:
        return f"{text}; 1 node has open sizes and is not counted"
    return f"{text}; {w.n_open:,} nodes have open sizes and are not counted"
