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
    """Return the composition as a graph from the node's operands to its outputs.

    `known` gives the elements of small constants. Errors: what the facet and the type rules raise.
    """
    facet = OPERATORS[node.op].decompose_fn
    assert facet is not None, f"{node.op} has no decompose facet"
    operands = [Tensor(i, types[i].logical, known(i)) if i else None for i in node.inputs]
    return composition(node, types, facet(*operands, **node.attrs))


def composition(
    node: Node, types: Mapping[str, TensorType], made: Operand | tuple[Operand, ...]
) -> Graph:
    """Build the graph of calls over a node's operands that compute the node's outputs.

    Errors: what the type rules raise.
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
