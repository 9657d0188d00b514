"""Determinism of operators: equal operands give equal results."""

from __future__ import annotations

from compiler.ir.graph import Node

_RANDOM = frozenset(
    f"onnx.{name}"
    for name in (
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    )
)


def is_deterministic(node: Node) -> bool:
    """Whether a node, including its regions, depends only on its operands.

    Foreign operators of domains other than ONNX count as non-deterministic: they may have state.
    """
    if node.op in _RANDOM or node.op.count(".") > 1:
        return False
    if node.op == "onnx.Dropout":
        # In training mode dropout draws a random mask.
        return len(node.inputs) < 3 or not node.inputs[2]
    return all(is_deterministic(n) for region in node.regions.values() for n in region.nodes)
