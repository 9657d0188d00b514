"""Which products of a kernel are taken of rounded operands, and why others are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from compiler.ir import affine
from compiler.ir.graph import Node
from compiler.ir.types import DType, TensorType, Type

PRODUCTS = frozenset({"matmul", "conv", "conv_transpose"})
"""Operators that sum products of their first two operands."""

FEWEST_TERMS = 8
"""Sums of fewer terms gain nothing from an instruction that adds several products at once."""

FEWEST_PRODUCTS = 4096
"""Fewer multiplications than this are over before a conversion pays."""

TypeOf = Callable[[str], Type]


def inner_nodes(node: Node) -> tuple[Node, ...]:
    """The nodes of a fused group, or the node itself."""
    return node.regions["body"].nodes if node.op == "fusion" else (node,)


def products_of(node: Node) -> Iterator[Node]:
    """The sums of products of floats that a kernel computes."""
    for n in inner_nodes(node):
        if n.op in PRODUCTS and n.tensor.dtype is DType.f32:
            yield n


def objection(product: Node, type_of: TypeOf) -> str:
    """Why the operands of a product stay f32; "" where they may be rounded."""
    if product.attrs.get("algorithm", "direct") != "direct":
        return "it is computed in tiles, whose products are of f32"
    a, b = (type_of(i) for i in product.inputs[:2])
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return "an operand is no tensor"
    if not (a.is_ranked and b.is_ranked and product.tensor.is_ranked):
        return "the rank of an operand is not known"
    if is_depthwise(product, b):
        taps = prod(map(affine.assumed, b.dims[2:]))
        return f"each channel is a sum of {taps} products by itself: its weights stay f32"
    n_terms = _terms(product, a, b)
    if n_terms < FEWEST_TERMS:
        return f"sums of {n_terms} products gain nothing from fewer bits"
    n_products = n_terms * affine.assumed(product.tensor.size)
    if n_products < FEWEST_PRODUCTS:
        return f"{n_products:,} products are too few to be worth rounding for"
    return ""


def is_depthwise(product: Node, weights: TensorType) -> bool:
    """Whether every channel is convolved by itself."""
    return product.op == "conv" and product.attrs["groups"] > 1 and weights.dims[1] == 1


def _terms(product: Node, a: TensorType, b: TensorType) -> int:
    """How many products each element of the result sums up, open sizes assumed."""
    if product.op == "matmul":
        swapped = product.attrs["transpose_a"] and a.rank > 1
        return affine.assumed(a.dims[-2 if swapped else -1])
    if product.op == "conv":
        return prod(map(affine.assumed, b.dims[1:]))
    return (
        affine.assumed(b.dims[0]) // product.attrs["groups"] * prod(map(affine.assumed, b.dims[2:]))
    )
