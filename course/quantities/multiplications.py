"""The multiplications of a graph, which depend on the algorithms of its convolutions."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping

from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType, Type
from compiler.ops.convolution.winograd import ALGORITHMS
from compiler.passes.engine.cost import node_cost
from course.quantities.quantity import quantity
from course.quantities.subject import Subject

Types = Mapping[str, Type]


@quantity("count")
def multiplications(subject: Subject) -> float:
    """The multiplications of matrix products, convolutions and elementwise products.

    Elementwise products with a constant do not count, and neither do the transforms of tiles.
    """
    graph = subject.graph
    return _of_nodes(graph.nodes, graph.types, graph.constants.keys())


def _of_nodes(nodes: Iterable[Node], types: Types, constants: Iterable[str]) -> int:
    known = set(constants)
    total = 0
    for node in nodes:
        total += _of_node(node, types, known)
        for region in node.regions.values():
            pairs = zip(region.inputs, node.inputs, strict=False)
            passed = {v.name for v, name in pairs if name in known}
            inner = known | passed | region.constants.keys()
            # A region also reads values of the graph around it.
            scope = ChainMap(dict(region.types), dict(types))
            total += _of_nodes(region.nodes, scope, inner)
    return total


def _of_node(node: Node, types: Types, constants: set[str]) -> int:
    out = node.types[0] if node.types else None
    if not isinstance(out, TensorType) or not out.is_static:
        return 0
    if node.op == "mul":
        return 0 if constants.intersection(node.inputs) else out.n_elements
    operator = OPERATORS.get(node.op)
    if operator is None or operator.kind != "contraction":
        return 0
    tiling = ALGORITHMS.get(str(node.attrs.get("algorithm", "")))
    if tiling is None:
        cost = node_cost(node, types.__getitem__)
        return cost.flops // 2 if cost else 0
    weights = types[node.inputs[1]]
    assert isinstance(weights, TensorType), "a convolution has weights"
    images, outputs, *sizes = out.static_shape
    tiles = images
    for n in sizes:
        tiles *= -(-n // tiling.outputs)
    return tiling.inputs**2 * tiles * outputs * weights.static_shape[1]
