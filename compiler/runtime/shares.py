"""Attribution of a kernel's time to the ONNX nodes that it implements.

The operators of a fused kernel cannot be timed separately, since they share loops. A model of an
ordinary core divides the time. For each node, the model counts operations, and the bytes of the
kernel's operands and results that the node reads or writes. Intermediate values are free, since
they stay in registers or in the L1 cache.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from compiler.ir.graph import Graph, Node
from compiler.ir.types import TensorType, Type
from compiler.passes.engine.cost import CORE, reported_cost


def origin_shares(node: Node, graph: Graph, imported: Graph) -> dict[str, float]:
    """Return each ONNX node's fraction of a kernel's time (sum 1); empty without origins.

    `node` is the node of the kernel in the compiled `graph`. If one node implements several ONNX
    nodes, its time is divided among these in proportion to the operations of each in the `imported`
    graph.
    """
    found: dict[str, float] = defaultdict(float)
    own = _operations(imported, node.origins)
    for inner, seconds in _parts(node, graph):
        total = sum(own[o] for o in inner.origins)
        for origin in inner.origins:
            found[origin] += seconds * (own[origin] / total if total else 1 / len(inner.origins))
    whole = sum(found.values())
    if not whole:
        return {origin: 1 / len(node.origins) for origin in node.origins}
    return {origin: seconds / whole for origin, seconds in found.items() if seconds}


def _parts(node: Node, graph: Graph) -> Iterator[tuple[Node, float]]:
    """Yield the nodes of a kernel, and the seconds of each node on an ordinary core."""
    body = node.regions.get("body") if node.op == "fusion" else None
    if body is None:
        cost = reported_cost(node, graph.types)
        yield node, _seconds(cost.flops, cost.bytes_read + cost.bytes_written)
        return
    waiting = {v.name for v in body.inputs}
    results = {r.value for r in body.results}
    for inner in body.nodes:
        read = waiting.intersection(inner.reads)  # later readers hit the cache
        waiting -= read
        border = _nbytes(read, body.types) + _nbytes(
            results.intersection(inner.outputs), body.types
        )
        yield inner, _seconds(reported_cost(inner, body.types).flops, border)


def _seconds(flops: float, nbytes: float) -> float:
    return flops / CORE.flops_per_second + nbytes / CORE.bytes_per_second


def _nbytes(values: Iterable[str], types: Mapping[str, Type]) -> int:
    found = (types[v] for v in values)
    return sum(t.nbytes for t in found if isinstance(t, TensorType) and t.is_static)


def _operations(imported: Graph, origins: Iterable[str]) -> Mapping[str, float]:
    """Return the operations of ONNX nodes before any pass; 0 if unknown."""
    wanted = set(origins)
    found: dict[str, float] = dict.fromkeys(wanted, 0.0)
    for node in imported.nodes:
        for origin in wanted.intersection(node.origins):
            found[origin] += reported_cost(node, imported.types).flops
    return found
