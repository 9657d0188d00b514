"""Decomposition of a node by its operator's `decompose` facet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.operator import OPERATORS, Array, Operand, Tensor
from compiler.ir.types import TensorType


def decomposition(
    node: Node, types: Mapping[str, TensorType], known: Callable[[str], Array | None]
) -> Graph:
    """Return the decomposition as a graph from the node's operands to the node's outputs.

    `known` returns the elements of small constants. Errors: any error of the facet and the type
    rules.
    """
    facet = OPERATORS[node.op].decompose_fn
    assert facet is not None, f"{node.op} has no decompose facet"
    operands = [Tensor(i, types[i].logical, known(i)) if i else None for i in node.inputs]
    return composition(node, types, facet(*operands, **node.attrs))


def composition(
    node: Node, types: Mapping[str, TensorType], made: Operand | tuple[Operand, ...]
) -> Graph:
    """Build the graph of the calls that compute a node's outputs from its operands.

    Errors: any error of the type rules.
    """
    reads = dict.fromkeys(filter(None, node.inputs))
    inputs = tuple(Value(i, types[i].logical) for i in reads)
    editor = Editor(Graph(node.op, inputs, (), ()))
    several = made if isinstance(made, tuple) else (made,)
    for value, part in zip(node.outputs, several, strict=False):
        if value:
            built = editor.build(part, hint=f"{value}%", outputs=[value])
            assert built == value, f"the decomposition of {node.op} has no nodes"
    editor.results = [Result(o, o) for o in node.outputs if o]
    return editor.graph()
