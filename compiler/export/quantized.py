"""The export of quantized products: integer sums of products become standard quantized operators.

Passes hoist zero points out of sums of products of bytes, and add a correction as a constant. The
export separates the correction from the bias, so that a single operator can subtract the zero
points, compute the sum and round it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from compiler.dataclass import dataclass
from compiler.export.quantized_operators import on_codes
from compiler.export.rows import rows_of
from compiler.ir.constant import Constant
from compiler.ir.graph import Attribute, Node
from compiler.ir.operator import Array
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.export.combine import Work

CONVOLUTIONS = ("conv_codes", "conv_integer")
MOST_STEPS = 1e30
"""The upper bound on the inverse of a scale; beyond it, the scale would be denormal."""
PRODUCTS = (*CONVOLUTIONS, "matmul_integer")


@dataclass(frozen=True)
class _Sums:
    """Sums of products plus a bias per channel; each factor is an operand minus its zero point."""

    product: Node
    added: Node | None
    zeros: tuple[Array, Array]
    bias: Array | None

    @property
    def parts(self) -> list[Node]:
        return [self.product] if self.added is None else [self.product, self.added]


def requantized(work: Work, node: Node) -> None:
    """Recombine a product of quantized integers and its requantization by one scale."""
    value, scale, *rest = node.inputs
    zero = work.type(rest[0]) if rest else None
    t, factors = work.type(value), work.known(scale)
    if zero is None or not zero.is_static or zero.n_elements != 1 or factors is None:
        return
    if t is None or t.shape is None or node.attrs["to"] not in (DType.u8, DType.i8):
        return
    if t.dtype is DType.f32:
        _rounded(work, node, factors, rest[0])
        return
    sums = _sums(work, value, work.inner(value, "add"))
    if sums is not None and sums.bias is not None and _biased(work, node, sums, factors, rest[0]):
        return
    if sums is None or (sums.bias is not None and sums.product.op not in CONVOLUTIONS):
        return
    listed, weights = _each(work, sums.product, factors, t.rank), work.type(sums.product.inputs[1])
    if listed is None or weights is None:
        return
    factor = listed if len(np.unique(listed)) > 1 else listed[:1].reshape(())
    x, w = sums.product.inputs[:2]
    points = [work.constant(node.output, z) for z in sums.zeros]
    one, by = work.constant(node.output, np.float32(1)), work.constant(node.output, factor)
    inputs = [x, one, points[0], w, by, points[1], one, _single(work, node, rest[0])]
    if sums.product.op not in CONVOLUTIONS:
        if factor.ndim == 0 or weights.rank == 2:
            work.combine(node, [*sums.parts, node], "QLinearMatMul", inputs, {})
        return
    inputs.append("" if sums.bias is None else work.constant(node.output, sums.bias))
    work.combine(node, [*sums.parts, node], "QLinearConv", inputs, _window(sums.product))


def _biased(work: Work, node: Node, sums: _Sums, factors: Constant, zero: str) -> bool:
    """Recombine a matrix product, bias and requantization if they come from one model node."""
    x, w = sums.product.inputs[:2]
    one_node = len(node.origins) == 1 and all(p.origins == node.origins for p in sums.parts)
    t, weights = work.type(x), work.type(w)
    if sums.product.op in CONVOLUTIONS or not one_node or t is None or weights is None:
        return False
    listed = _each(work, sums.product, factors, 2) if t.rank == weights.rank == 2 else None
    if listed is None:
        return False
    factor = listed if len(np.unique(listed)) > 1 else listed[:1].reshape(())
    points = [sums.zeros[0], np.broadcast_to(sums.zeros[1], factor.shape).copy()]
    zeros = [work.constant(node.output, z) for z in points]
    one, by = work.constant(node.output, np.float32(1)), work.constant(node.output, factor)
    bias = work.constant(node.output, sums.bias)
    inputs = [x, one, zeros[0], w, by, zeros[1], bias, one, _single(work, node, zero)]
    work.combine(node, [*sums.parts, node], "com.microsoft.QGemm", inputs, {})
    work.set_version(node, 1)
    return True


def _rounded(work: Work, node: Node, factors: Constant, zero: str) -> None:
    """Recombine a quantization by a factor; the standard operator divides by a scale instead.

    Only a number halfway between two quantized values may round differently.
    """
    factor = factors.array().reshape(-1)[:1].astype(np.float32)
    if factors.type.n_elements != 1 or not np.finfo(np.float32).tiny < factor[0] < MOST_STEPS:
        return
    scale = (1 / factor).astype(np.float32)
    if on_codes(work, node, scale.reshape(())):
        return
    if (1 / scale).astype(np.float32) == factor:
        by = work.constant(node.output, scale.reshape(()))
        inputs = [node.inputs[0], by, _single(work, node, zero)]
        work.combine(node, [node], "QuantizeLinear", inputs, {})


def lifted_constant(work: Work, node: Node) -> None:
    """Recombine a sum of products with the addition of a constant zero point correction."""
    sums = _sums(work, node.output, node)
    if sums is None or sums.product.op == "conv_integer" or not sums.zeros[0].any():
        return
    x, w = sums.product.inputs[:2]
    zero = work.constant(node.output, sums.zeros[0])
    if sums.bias is None:
        _whole(work, node, sums.parts, [x, w, zero])
        return
    _whole(work, sums.product, [sums.product], [x, w, zero])
    behind = (-1, *[1] * (sums.product.tensor.rank - 2))
    bias = work.constant(node.output, sums.bias.reshape(behind))
    work.made[node.output] = replace(node, inputs=(sums.product.output, bias))


def lifted_number(work: Work, node: Node) -> None:
    """Recombine a sum of products with the correction for a zero point known only at run time."""
    product, rows = _inner_product(work, node.inputs[0]), None
    if product is None:
        rows = rows_of(work, node.inputs[0])
        product = None if rows is None else rows.product
    amount = work.inner(node.inputs[1], "mul")
    if product is None or amount is None or any(product.inputs[2:]):
        return
    if product.attrs.get("around") or _borders(product):
        return
    totals = _totals(work, product)
    if rows is not None and totals is not None:
        totals = totals - rows.stored.astype(np.int32) * rows.n_terms
    for number, columns in (amount.inputs, amount.inputs[::-1]):
        wide, known = work.graph.producers.get(number), work.known(columns)
        if wide is None or wide.op != "cast" or known is None or totals is None:
            continue
        z, x = work.type(wide.inputs[0]), work.type(product.inputs[0])
        listed = _each(work, product, known, product.tensor.rank)
        if z is None or x is None or z.shape != () or z.dtype is not x.dtype or listed is None:
            continue
        if np.array_equal(listed, totals):
            inputs = [*product.inputs[:2], wide.inputs[0]]
            parts = [product, amount, node]
            if rows is not None:
                inputs.append(work.constant(node.output, rows.stored))
                parts[1:1] = rows.parts
                work.loose.update(rows.loose)
            _whole(work, node, parts, inputs)
            work.loose.add(wide.output)
            return


def scaled_sums(work: Work, node: Node) -> None:
    """Recombine integer sums of products with the dequantization of the sums."""
    for value, scale in (node.inputs, node.inputs[::-1]):
        cast, factors = work.inner(value, "cast"), work.known(scale)
        if cast is None or factors is None or factors.type.dtype is not DType.f32:
            continue
        product, t = _origin(work, cast.inputs[0]), work.type(value)
        if product is None or t is None or t.shape is None or t.dtype is not DType.f32:
            continue
        listed = _each(work, product, factors, t.rank)
        if listed is None or work.type(cast.inputs[0]) != replace(t, dtype=DType.i32):
            continue
        single = len(np.unique(listed)) == 1
        by = work.constant(node.output, listed[:1].reshape(()) if single else listed)
        axis = 1 if product.op in CONVOLUTIONS else t.rank - 1
        attrs: dict[str, Attribute] = {} if single else {"axis": axis}
        work.combine(node, [cast, node], "DequantizeLinear", [cast.inputs[0], by], attrs)
        return


def _whole(work: Work, at: Node, parts: Sequence[Node], inputs: Sequence[str]) -> None:
    """Combine nodes into a matrix product or convolution whose results are i32 sums."""
    product = parts[0]
    if product.op in CONVOLUTIONS:
        work.combine(at, parts, "ConvInteger", inputs, _window(product))
    else:
        work.combine(at, parts, "MatMulInteger", inputs, {})


def _sums(work: Work, value: str, added: Node | None) -> _Sums | None:
    """Match a product; find its zero points, possibly inside a constant that is added to it."""
    product = _inner_product(work, value)
    if product is not None:
        return _told_apart(work, product, None, None)
    if added is None:
        return None
    for part, constant in (added.inputs, added.inputs[::-1]):
        product, known = _inner_product(work, part), work.known(constant)
        if product is not None and known is not None and known.type.dtype is DType.i32:
            return _told_apart(work, product, added, known)
    return None


def _told_apart(
    work: Work, product: Node, added: Node | None, constant: Constant | None
) -> _Sums | None:
    listed = None
    if constant is not None:
        listed = _each(work, product, constant, product.tensor.rank)
        if listed is None or (added is not None and added.tensor != product.tensor):
            return None
    if product.op == "conv_codes":
        return _of_codes(work, product, added, listed)
    zeros = _zeros(work, product)
    if zeros is None:
        return None
    if product.op == "conv_integer" or listed is None:
        return _Sums(product, added, zeros, listed)
    return _of_columns(work, product, added, zeros, listed)


def _of_codes(work: Work, product: Node, added: Node | None, listed: Array | None) -> _Sums | None:
    """Match a product of quantized operands; padding becomes the padded operand's zero point."""
    x, w = (work.type(i) for i in product.inputs[:2])
    around, totals = int(product.attrs["around"]), _totals(work, product)
    if x is None or w is None or (around and totals is None):
        return None
    bias = np.zeros(w.static_shape[0], np.int32) if listed is None else listed
    if around and totals is not None:
        bias = (bias.astype(np.int64) + around * totals.astype(np.int64)).astype(np.int32)
    zeros = (np.array(around, x.dtype.numpy), np.zeros((), w.dtype.numpy))
    return _Sums(product, added, zeros, bias if bias.any() else None)


def _of_columns(
    work: Work, product: Node, added: Node | None, zeros: tuple[Array, Array], listed: Array
) -> _Sums:
    """Interpret the constant as a zero point correction if possible, else as a bias."""
    x, totals = work.type(product.inputs[0]), _totals(work, product)
    kept = _Sums(product, added, zeros, listed if listed.any() else None)
    if x is None or totals is None or any(product.inputs[2:]) or not totals.any():
        return kept
    k = int(np.argmax(totals != 0))
    zero = int(-listed[k]) // int(totals[k])
    ends = np.iinfo(x.dtype.numpy)
    if not ends.min <= zero <= ends.max or not np.array_equal(listed, -zero * totals):
        return kept
    return replace(kept, zeros=(np.array(zero, x.dtype.numpy), zeros[1]), bias=None)


def _inner_product(work: Work, value: str) -> Node | None:
    found = (work.inner(value, op) for op in PRODUCTS)
    return next((n for n in found if n is not None), None)


def _origin(work: Work, value: str, most: int = 2) -> Node | None:
    """Return the product from which at most `most` additions or subtractions compute a value."""
    node = work.graph.producers.get(value)
    if node is None or node.op in PRODUCTS:
        return node
    parts = node.inputs if most and node.op in ("add", "sub") else ()
    return next((n for i in parts if (n := _origin(work, i, most - 1)) is not None), None)


def _each(work: Work, product: Node, constant: Constant, rank: int) -> Array | None:
    """Return a constant as one number per filter or column; None if it has another shape."""
    w, array = work.type(product.inputs[1]), constant.array()
    if w is None or not w.is_static or w.rank < 2 or array.ndim > rank:
        return None
    along = product.op in CONVOLUTIONS
    axis, n = (1, w.static_shape[0]) if along else (rank - 1, w.static_shape[-1])
    shape = [1] * (rank - array.ndim) + list(array.shape)
    alone = all(size == 1 for d, size in enumerate(shape) if d != axis)
    if not alone or shape[axis] not in (1, n) or not n:
        return None
    return np.broadcast_to(array.reshape(-1), (n,)).copy()


def _totals(work: Work, product: Node) -> Array | None:
    """Return the i32 sums of weights over the reduced axes if weights are constant, else None."""
    w = work.known(product.inputs[1])
    if w is None:
        return None
    if product.op in CONVOLUTIONS:
        axes = tuple(range(1, w.type.rank))
    else:
        if w.type.rank != 2:
            return None
        axes = (0,)
    return w.array().sum(axis=axes, dtype=np.int64).astype(np.int32)


def _borders(product: Node) -> bool:
    """Return whether a convolution reads padding."""
    if product.op not in CONVOLUTIONS:
        return False
    pads = product.attrs["pads"]
    assert isinstance(pads, tuple | list), f"{product.name} has the pads {pads}"
    return any(pads) or product.attrs["auto_pad"] not in ("notset", "valid")


def _window(conv: Node) -> dict[str, Attribute]:
    attrs: dict[str, Attribute] = {
        "strides": conv.attrs["strides"],
        "dilations": conv.attrs["dilations"],
        "group": conv.attrs["groups"],
    }
    if conv.attrs["auto_pad"] == "notset":
        return {**attrs, "pads": conv.attrs["pads"]}
    return {**attrs, "auto_pad": str(conv.attrs["auto_pad"]).upper()}


def _zeros(work: Work, product: Node) -> tuple[Array, Array] | None:
    """Return both operands' zero points, each as a scalar; an omitted zero point is 0.

    Return None if a zero point is not constant, or if its elements differ.
    """
    made: list[Array] = []
    points = [*product.inputs[2:], "", ""]
    for operand, point in zip(product.inputs[:2], points, strict=False):
        t, known = work.type(operand), work.known(point) if point else None
        if t is None or (point and (known is None or len(np.unique(known.array())) != 1)):
            return None
        value = np.zeros((), t.dtype.numpy) if known is None else known.array().reshape(-1)[0]
        made.append(np.asarray(value))
    return made[0], made[1]


def _single(work: Work, node: Node, value: str) -> str:
    """Return the name of a constant of one element, reshaped to rank 0."""
    c = work.known(value)
    return value if c is None else work.constant(node.output, c.array().reshape(()))
