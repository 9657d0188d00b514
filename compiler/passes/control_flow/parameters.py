"""Inputs that parametrise a model's computation: axes, pads, sizes, counts.

ONNX passes parameters as tensors, and a model may declare these tensors as inputs. Code for a fixed
value is much faster than code for all values. A program is therefore compiled for the shapes and
the parameter values of a call. An input is a parameter only if some node can be lowered with the
input's value, but not without this value. Data are never parameters. Source: XLA's compile-time
constant operands, TensorRT's shape tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from compiler.compute.lower import lower_node
from compiler.errors import CompileError
from compiler.ir.affine import Undecided
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Array
from compiler.ir.types import DType, TensorType, Type, open_symbols
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.ops.control_flow.loop_form import unfit
from compiler.ops.onnx_import.facets import is_declarable
from compiler.passes.cleanup.fold_constants import fold_constants
from compiler.passes.control_flow.declare import declared, with_values
from compiler.passes.control_flow.fold_constant_branches import fold_constant_branches
from compiler.passes.control_flow.unroll_loops import unroll_loops

MAX_PARAMETER_ELEMENTS = 64
"""Largest number of elements of a parameter: larger inputs are data."""


def possible_parameters(graph: Graph) -> tuple[str, ...]:
    """Return the small inputs on which nodes that cannot be lowered depend.

    The dependence is direct or by shape arithmetic. `needed_parameters` removes the inputs that
    prove to be data.
    """
    small = {v.name for v in graph.inputs if _is_small(v.type)}
    if not small:
        return ()
    behind, computed = _behind(graph, small, _is_shape_math), _behind(graph, small, _is_tiny)
    found: set[str] = set()
    for node in graph.nodes:
        of, names = (computed, _deciding(node)) if node.regions else (behind, node.inputs)
        sources = {s for i in names if i for s in of.get(i, ())}
        if sources - found and not _has_code(node, graph):
            found |= sources
    return tuple(v.name for v in graph.inputs if v.name in found)


def needed_parameters(graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """Return a minimal subset of the values with which as many nodes have code as with all."""
    kept = dict(values)
    best = _n_without_code(graph, kept)
    for name in values:
        fewer = {k: v for k, v in kept.items() if k != name}
        if _is_enough(graph, fewer, best):
            kept = fewer
    return kept


def _is_enough(graph: Graph, values: Mapping[str, Array], best: int) -> bool:
    try:
        return _n_without_code(graph, values) <= best
    except CompileError:
        return False  # Without these values a rank is unknown, so type inference fails.


def _is_small(t: Type) -> bool:
    if not isinstance(t, TensorType) or not t.is_static or t.dtype is DType.string:
        return False
    return t.n_elements <= MAX_PARAMETER_ELEMENTS


def _deciding(node: Node) -> tuple[str, ...]:
    """Return the operands that determine the branch taken or the trip count."""
    return node.inputs[:1] if node.op == "onnx.If" else node.inputs[:2]


def _behind(
    graph: Graph, small: set[str], follows: Callable[[Node], bool]
) -> dict[str, frozenset[str]]:
    """Map values to the small inputs on which they depend through nodes that `follows` accepts."""
    behind = {name: frozenset({name}) for name in small}
    for node in graph.nodes:
        sources = frozenset(s for i in node.inputs for s in behind.get(i, ()))
        if sources and follows(node):
            behind.update((o, sources) for o in node.outputs if o)
    return behind


def _is_shape_math(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return is_declarable(node) or (operator is not None and operator.shape_math)


def _is_tiny(node: Node) -> bool:
    return _is_shape_math(node) or (node.op in OPERATORS and all(map(_is_small, node.types)))


def _n_without_code(graph: Graph, values: Mapping[str, Array]) -> int:
    # A lowering accepts operands as parameters only if they are constants.
    known = fold_constants.run(declared(with_values(graph, values)))
    if any(n.op in CONTROL_FLOW for n in known.nodes):
        known = unroll_loops.run(fold_constant_branches.run(known))
    return sum(not _has_code(node, known) for node in known.nodes)


def _has_code(node: Node, graph: Graph) -> bool:
    """Whether the known parameters of a node suffice to lower it."""
    if is_declarable(node):
        return False
    operator = OPERATORS.get(node.op)
    if node.op in CONTROL_FLOW:
        types = [*_operand_types(node, graph), *node.types]
        return not all(isinstance(t, TensorType) for t in types) or not unfit(node, graph)
    if operator is None or (operator.kind == "scan" and operator.lower_fn is None):
        return True  # The node is foreign or a loop, independent of known values.
    operands = tuple(_operand_types(node, graph))
    if not all(map(_is_ranked, node.types)):
        return False
    if not open_symbols(node.types) <= open_symbols(operands):
        return False  # The values of operands determine the sizes of the result.
    if operator.lower_fn is None and operator.decompose_fn is None:
        return True
    if not all(map(_is_ranked, operands)):
        return False
    try:
        return lower_node(node, graph) is not None
    except (CompileError, Undecided):
        return False
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError):
        if open_symbols([*operands, *node.types]):
            return False  # The facet accepts only numbers, not symbols.
        raise


def _operand_types(node: Node, graph: Graph) -> Iterator[Type]:
    return (graph.types[i] for i in node.inputs if i)


def _is_ranked(t: Type) -> bool:
    return isinstance(t, TensorType) and t.is_ranked
