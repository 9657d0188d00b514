"""The operator kinds of TVM's FuseOps: how result elements depend on operand elements.

Source: TVM, include/tvm/relay/op_attr_types.h (OpPatternKind).
"""

from __future__ import annotations

from enum import IntEnum

from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import TensorType
from compiler.passes.fusion.kinds import (
    is_contraction,
    is_elementwise,
    is_lowerable,
    is_reduction,
    why_alone,
)

INJECTIVE = with_trait("injective")
"""Operators, other than views, that copy each result element from one element of the operand."""

POOLING = with_trait("pooling")


class Pattern(IntEnum):
    """Kinds in order of decreasing fusibility; a group has the highest kind of its members."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCTION = 3
    OUT_ELEMENTWISE_FUSABLE = 4
    OPAQUE = 8

    @property
    def word(self) -> str:
        """The name of the kind in TVM's documentation."""
        return self.name.lower().replace("_", "-")


def pattern_of(node: Node, graph: Graph) -> Pattern:
    """Return the kind of a node."""
    if why_alone(node):
        return Pattern.OPAQUE
    if is_elementwise(node):
        same = all(_has_shape_of(graph, i, node) for i in node.inputs if i)
        return Pattern.ELEMENTWISE if same else Pattern.BROADCAST
    if is_contraction(node) or (is_reduction(node) and node.op in POOLING):
        return Pattern.OUT_ELEMENTWISE_FUSABLE
    if is_reduction(node):
        return Pattern.REDUCTION
    return Pattern.INJECTIVE if _is_injective(node, graph) else Pattern.OPAQUE


def _has_shape_of(graph: Graph, value: str, node: Node) -> bool:
    t = graph.types[value]
    return isinstance(t, TensorType) and t.shape == node.tensor.shape


def _is_injective(node: Node, graph: Graph) -> bool:
    """Whether a node only permutes or selects elements, by an index map known at compile time."""
    if not is_lowerable(node) or not (node.op in INJECTIVE or OPERATORS[node.op].kind == "view"):
        return False
    types = [node.type, *(graph.types[i] for i in node.inputs[:1])]
    known = all(i in graph.constants for i in node.inputs[1:] if i)
    return known and all(isinstance(t, TensorType) and t.is_static for t in types)
