"""Predicates that all policies share: nodes that may share a kernel, and their roles."""

from __future__ import annotations

import math

from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import TensorType

EXPENSIVE = with_trait("expensive")
"""Elementwise operators whose recomputation costs more than the memory traffic saved."""

REDUCTIONS = (with_trait("axis_reduction") | with_trait("pooling")) - with_trait("staged")
"""Pools and reductions that make a single pass over the operand."""


def is_lowerable(node: Node) -> bool:
    """Whether a node has generated code: declared operator, known ranks, no regions, no strings."""
    operator = OPERATORS.get(node.op)
    return (
        operator is not None
        and (operator.lower_fn is not None or operator.decompose_fn is not None)
        and not node.regions
        and sum(bool(v) for v in node.outputs) == 1
        and all(isinstance(t, TensorType) and t.is_ranked for t in node.types)
        and node.tensor.dtype.label != "string"
    )


def is_elementwise(node: Node) -> bool:
    """Whether each element of the result depends on a single element of each operand."""
    return is_lowerable(node) and OPERATORS[node.op].kind == "elementwise"


def is_cheap_number(node: Node) -> bool:
    """Whether a node computes a scalar from scalars at negligible cost."""
    if not is_elementwise(node) or node.op in EXPENSIVE:
        return False
    return node.tensor.is_static and node.tensor.n_elements == 1


def is_contraction(node: Node) -> bool:
    """Whether a node is a sum of products: a convolution or a matrix product."""
    return is_lowerable(node) and OPERATORS[node.op].kind == "contraction"


def is_reduction(node: Node) -> bool:
    """Whether a node is a pool or reduction that makes a single pass over its operand."""
    return is_lowerable(node) and node.op in REDUCTIONS


def share_lanes(a: Node, b: Node) -> bool:
    """Whether vectors of two nodes hold the same number of elements.

    Elements of fewer than four bytes are widened to four for computation.
    """
    bytes_ = [n.tensor.dtype.nbytes for n in (a, b)]
    return a.tensor.dtype is b.tensor.dtype or max(bytes_) <= 4


def overlap(node: Node) -> float:
    """Return the average number of reads of an element by a pool; 1 for other nodes."""
    kernel, strides = node.attrs.get("kernel"), node.attrs.get("strides")
    if not kernel or not strides:
        return 1.0
    return math.prod(kernel) / math.prod(strides)


def why_alone(n: Node) -> str:
    """Return the reason that a node cannot share a kernel, or "" if it may."""
    if n.op == "fusion":
        return f"{n.output} is a fused group already"
    if is_lowerable(n):
        return ""
    if n.regions:
        return f"{n.op} has regions, which run separately"
    if n.op not in OPERATORS:
        return f"{n.op} is opaque: it has no generated code, so it runs separately"
    if not all(isinstance(t, TensorType) and t.is_ranked for t in n.types):
        return f"the rank of {n.output} is open: {n.type}"
    if len([v for v in n.outputs if v]) > 1:
        return f"{n.output} is one of {len(n.outputs)} outputs of {n.op}"
    return f"{n.op} has no generated code"
