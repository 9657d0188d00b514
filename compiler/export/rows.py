"""Row sums for weight zero points that int8 cannot express."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.graph import Node
from compiler.ir.operator import Array

if TYPE_CHECKING:
    from compiler.export.combine import Work


@dataclass(frozen=True)
class Rows:
    """A matrix product, and the correction for the zero point of its weights: scaled row sums."""

    product: Node
    parts: Sequence[Node]
    """The nodes of the product and of the correction."""
    loose: Sequence[str]
    """The names of the row sums and of the widened operand, both of which may have other
    readers."""
    stored: Array
    """The weight zero point, or one zero point per column, in the weights' type."""
    n_terms: int
    """The number of products that are summed for each element of the matrix product."""


def rows_of(work: Work, value: str) -> Rows | None:
    """Match the addition of a matrix product and a multiple of its left operand's row sums."""
    added = work.inner(value, "add")
    for one, other in () if added is None else (added.inputs, added.inputs[::-1]):
        product, scaled = work.inner(one, "matmul_integer"), work.inner(other, "mul")
        if added is None or product is None or scaled is None or any(product.inputs[2:]):
            continue
        w = work.type(product.inputs[1])
        for sums, times in (scaled.inputs, scaled.inputs[::-1]):
            known, loose = work.known(times), _summed(work, product, sums)
            if known is None or loose is None or w is None or not w.is_static or w.rank != 2:
                continue
            zero, ends = -known.array().astype(np.int64), np.iinfo(w.dtype.numpy)
            fits = zero.size and ends.min <= zero.min() and zero.max() <= ends.max
            if fits and zero.shape in ((), (w.static_shape[1],)):
                stored = zero.astype(w.dtype.numpy)
                return Rows(product, (scaled, added), loose, stored, w.static_shape[0])
    return None


def _summed(work: Work, product: Node, value: str) -> Sequence[str] | None:
    """Return the names of the row sums and of the widened operand; None without a match."""
    total = work.graph.producers.get(value)
    x = work.type(product.inputs[0])
    if total is None or total.op != "reduce_sum" or x is None or x.shape is None:
        return None
    wide = work.graph.producers.get(total.inputs[0])
    last = total.attrs["axes"] in ((x.rank - 1,), [x.rank - 1])
    if wide is None or wide.op != "cast" or wide.inputs[0] != product.inputs[0]:
        return None
    return (total.output, wide.output) if last and total.attrs["keepdims"] else None
