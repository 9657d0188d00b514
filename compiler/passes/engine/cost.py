"""Costs of nodes: the operations and bytes that operators declare, and estimated seconds.

The seconds are an estimate by the roofline model of one core (Williams et al. 2009). In this model,
the time of a kernel is the maximum of its compute time and its memory time, plus a launch overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Cost
from compiler.ir.types import DType, TensorType, Type
from compiler.units import bytes_text

TypeOf = Callable[[str], Type]


@dataclass(frozen=True, slots=True)
class Roofline:
    """The roofline model of a core: its peak rates, and the launch overhead of a kernel."""

    flops_per_second: float = 100e9
    bytes_per_second: float = 20e9
    seconds_per_kernel: float = 1e-6

    def seconds(self, cost: Cost, n_kernels: int = 1) -> float:
        """Estimate the seconds that a cost takes in `n_kernels` kernels."""
        busy = max(cost.flops / self.flops_per_second, cost.bytes_moved / self.bytes_per_second)
        return busy + n_kernels * self.seconds_per_kernel


TRAFFIC = "{traffic}"
"""A placeholder in the reason of a rule, which the engine replaces with the saved traffic."""


def bytes_saved(before: Cost | None, after: Cost | None) -> int | None:
    """Return the bytes read and written that a rewrite saves; None if a cost is unknown."""
    return None if before is None or after is None else before.bytes_moved - after.bytes_moved


def traffic_text(nbytes: int | None) -> str:
    """Describe saved memory traffic: `saves 8.19 kB of traffic`; `nbytes` is None if unknown."""
    if nbytes is None:
        return "saves one pass over memory"
    return f"{'saves' if nbytes >= 0 else 'adds'} {bytes_text(abs(nbytes))} of traffic"


CORE = Roofline()
"""A typical core with 256-bit vectors; accurate enough to compare two graphs."""


def cost_of(nodes: Iterable[Node], type_of: TypeOf) -> Cost | None:
    """Return the total cost of nodes, or None if a size is open or a cost is not declared."""
    total = Cost()
    for node in nodes:
        cost = node_cost(node, type_of)
        if cost is None:
            return None
        total += cost
    return total


def node_cost(node: Node, type_of: TypeOf) -> Cost | None:
    """Return the cost of a node, or None if a size is open or the cost is not declared."""
    operator = OPERATORS.get(node.op)
    types = [type_of(i) if i else None for i in node.inputs]
    for t in (*types, *node.types):
        if t is not None and not (isinstance(t, TensorType) and t.is_static):
            return None
    if node.op == "fusion":
        return _fusion_cost(node, type_of)
    if operator is None or operator.cost_fn is None:
        return None
    out = node.types[0] if len(node.types) == 1 else node.types
    return operator.cost_fn(*types, out=out, **node.attrs)


def reported_cost(node: Node, types: Mapping[str, Type]) -> Cost:
    """Return the cost of a node for reports, or a lower bound if `node_cost` returns None.

    In a fusion, nodes without a declared cost add nothing. If a node has open sizes or no declared
    cost, the bytes moved include only operands and results of known size.
    """
    values = [*(types[i] for i in node.inputs if i), *node.types]
    found = node_cost(node, types.__getitem__) if all(map(_is_sized, values)) else None
    if found is not None:
        return found
    body = node.regions.get("body") if node.op == "fusion" else None
    inner = [node_cost(n, body.types.__getitem__) for n in body.nodes] if body else []
    flops = sum(c.flops for c in inner if c is not None)
    reads = [types[i] for i in dict.fromkeys(node.reads) if i in types]
    return Cost(flops, sum(map(_nbytes, reads)), sum(_nbytes(v.type) for v in node.values()))


def _is_sized(t: Type) -> bool:
    """Whether the size of a value in bytes is known at compile time."""
    return isinstance(t, TensorType) and t.is_static and t.dtype is not DType.string


def _nbytes(t: Type) -> int:
    return t.nbytes if isinstance(t, TensorType) and _is_sized(t) else 0


def graph_cost(graph: Graph) -> tuple[Cost, int]:
    """Return the total cost of all nodes with a known cost, and the number of other nodes."""
    total, n_open = Cost(), 0
    for node in graph.nodes:
        cost = node_cost(node, graph.types.__getitem__)
        if cost is None:
            n_open += 1
        else:
            total += cost
    return total, n_open


def _fusion_cost(node: Node, type_of: TypeOf) -> Cost | None:
    """Return the operations inside a fusion, and the bytes of operands and results."""
    flops = 0
    for region in node.regions.values():
        inner = cost_of(region.nodes, region.types.__getitem__)
        if inner is None:
            return None
        flops += inner.flops
    read = sum(t.nbytes for i in node.inputs if i and isinstance(t := type_of(i), TensorType))
    written = sum(t.nbytes for t in node.types if isinstance(t, TensorType))
    return Cost(flops, read, written)
