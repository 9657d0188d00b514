"""Selection of the products whose operands may be rounded, and the reasons against the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from compiler.ir import affine
from compiler.ir.graph import Node
from compiler.ir.types import DType, TensorType, Type

FEWEST_TERMS = 8
"""Smallest number of terms of a sum that gains from dot-product instructions."""

FEWEST_PRODUCTS = 4096
"""Smallest number of multiplications that amortises the conversions."""

TypeOf = Callable[[str], Type]


def inner_nodes(node: Node) -> tuple[Node, ...]:
    """Return the nodes of a fused group, or the node itself."""
    return node.regions["body"].nodes if node.op == "fusion" else (node,)


def products_of(node: Node) -> Iterator[Node]:
    """Return the float contractions of a kernel."""
    for n in inner_nodes(node):
        if n.op in _TERMS and n.tensor.dtype is DType.f32:
            yield n


def objection(product: Node, type_of: TypeOf) -> str:
    """Return the reason that operands of a product stay f32, or "" if they may be rounded."""
    if product.attrs.get("algorithm", "direct") != "direct":
        return "the convolution is computed in Winograd tiles, whose products are f32"
    a, b = (type_of(i) for i in product.inputs[:2])
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return "an operand is not a tensor"
    if not (a.is_ranked and b.is_ranked and product.tensor.is_ranked):
        return "the rank of an operand is not known"
    if is_depthwise(product, b):
        taps = prod(map(affine.assumed, b.dims[2:]))
        return (
            f"each channel is a separate sum of {taps} products (depthwise): the weights stay f32"
        )
    n_terms = _TERMS[product.op](product, a, b)
    if n_terms < FEWEST_TERMS:
        return f"sums of {n_terms} products gain nothing from lower precision"
    n_products = n_terms * affine.assumed(product.tensor.size)
    if n_products < FEWEST_PRODUCTS:
        return f"{n_products:,} products are too few to amortise the conversions"
    return ""


def is_depthwise(product: Node, weights: TensorType) -> bool:
    """Whether every channel is convolved separately."""
    return product.op == "conv" and product.attrs["groups"] > 1 and weights.dims[1] == 1


def _of_matmul(product: Node, a: TensorType, b: TensorType) -> int:
    swapped = product.attrs["transpose_a"] and a.rank > 1
    return affine.assumed(a.dims[-2 if swapped else -1])


def _of_conv(product: Node, a: TensorType, b: TensorType) -> int:
    return prod(map(affine.assumed, b.dims[1:]))


def _of_conv_transpose(product: Node, a: TensorType, b: TensorType) -> int:
    channels = affine.assumed(b.dims[0]) // product.attrs["groups"]
    return channels * prod(map(affine.assumed, b.dims[2:]))


_TERMS: dict[str, Callable[[Node, TensorType, TensorType], int]] = {
    "matmul": _of_matmul,
    "conv": _of_conv,
    "conv_transpose": _of_conv_transpose,
}
"""For each operator: the number of terms in a result element's sum, with assumed open sizes."""
