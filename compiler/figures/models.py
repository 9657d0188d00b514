"""Figures of a graph's composition: nodes, constants, parameters, bytes of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from compiler.figures.figure import figure
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import DType, TensorType


def graphs_within(graph: Graph) -> Iterator[Graph]:
    """Yield a graph and the regions of its control flow, in pre-order; fusions have no regions."""
    yield graph
    for node in graph.nodes:
        if node.op != "fusion":
            for region in node.regions.values():
                yield from graphs_within(region)


def nodes_within(graph: Graph) -> Iterator[Node]:
    """Yield the nodes of a graph and of the regions of its control flow."""
    return (node for each in graphs_within(graph) for node in each.nodes)


def constants_within(graph: Graph) -> Iterator[Constant]:
    """Yield the constants of a graph and of the regions of its control flow."""
    return (c for each in graphs_within(graph) for c in each.constants.values())


@figure(
    "ONNX nodes", "count", "samples.n_onnx_nodes = result.model.n_onnx_nodes = inspect.n_onnx_nodes"
)
def n_onnx_nodes(graph: Graph) -> int:
    """The number of nodes in the model file, including nodes in subgraphs and constants.

    It counts the distinct origins of the nodes and constants of the imported graph. For one
    ONNX node, the importer may create several nodes, or a constant.
    """
    origins = {origin for node in nodes_within(graph) for origin in node.origins}
    origins.update(origin for c in constants_within(graph) for origin in c.origins)
    return len(origins)


@figure(
    "nodes",
    "count",
    "inspect.n_nodes = result.model.n_nodes = result.stages[sized].n_nodes",
    "compile.passes[].n_nodes = result.stages[passes].n_nodes",
)
def n_nodes(graph: Graph) -> int:
    """The number of operations of a graph, including those in regions of control flow.

    A fusion counts as one node. Inputs, results and constants are not nodes.
    """
    return sum(1 for _ in nodes_within(graph))


@figure(
    "nodes by operator",
    "names",
    "inspect.operators = result.model.operators",
)
def operators(graph: Graph) -> Mapping[str, int]:
    """The number of nodes of each operator, the most frequent operator first.

    The sum over all operators is the number of nodes.
    """
    found = Counter(node.op for node in nodes_within(graph))
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


@figure(
    "constants",
    "count",
    "inspect.n_constants = result.model.n_constants = result.stages[sized].n_constants",
)
def n_constants(graph: Graph) -> int:
    """The number of constant tensors of a graph, including those in regions of control flow.

    Scalars count. Constants inside a fusion do not count.
    """
    return sum(1 for _ in constants_within(graph))


@figure("parameters", "count", "inspect.n_parameters = result.model.n_parameters")
def n_parameters(graph: Graph) -> int:
    """The number of learned elements: floating-point and quantized constants, without scalars.

    Integers of at most 8 bits are quantized. In a graph with quantized operators, 32-bit integers
    that are added or viewed are biases. Indices and shapes do not count. Constants in regions of
    control flow count.
    """
    return sum(c.type.n_elements for each in graphs_within(graph) for c in _learned(each))


def _learned(graph: Graph) -> Iterator[Constant]:
    quantized = with_trait("quantized")
    has_biases = any(node.op in quantized for node in graph.nodes)
    for name, c in graph.constants.items():
        t = c.type.dtype
        if not c.type.rank or t in (DType.bool, DType.string):
            continue
        if t.is_float or t.bits <= 8:
            yield c
        elif has_biases and t is DType.i32 and any(map(_adds, graph.users.get(name, ()))):
            yield c


def _adds(node: Node) -> bool:
    """Return whether an operand of a node may be a bias; operands of other nodes may be indices."""
    operator = OPERATORS.get(node.op)
    return operator is not None and (
        operator.kind in ("elementwise", "view") or "quantized" in operator.traits
    )


@figure(
    "bytes of constants",
    "B",
    "inspect.constant_bytes = result.model.constant_bytes = result.stages[sized].constant_bytes",
    "compile.passes[].constant_bytes = result.stages[passes].constant_bytes",
)
def constant_bytes(graph: Graph) -> int:
    """The size of all constants of a graph, as if every element were stored.

    A splat, whose elements are equal, counts in full, although the file stores one element.
    """
    return sum(map(bytes_of_constant, constants_within(graph)))


def bytes_of_constant(c: Constant) -> int:
    """Return the size of a constant's elements in bytes, independent of its storage."""
    return c.type.nbytes if c.type.is_static else 0


@figure(
    "bytes of values",
    "B",
    "inspect.value_bytes = result.stages[sized].value_bytes",
    "compile.passes[].value_bytes = result.stages[passes].value_bytes",
)
def value_bytes(graph: Graph) -> int | None:
    """The size of all tensors that the nodes of a graph compute; unknown while a size is open.

    Values inside a fusion are not stored, so they do not count. Values in regions of control flow
    count once. Buffers share memory, so a run needs less: see the arena.
    """
    types = [t for node in nodes_within(graph) for t in node.types if isinstance(t, TensorType)]
    if not all(t.is_static for t in types):
        return None
    return sum(t.nbytes for t in types)
