"""Scaled dot-product attention as one operator, for the page and for export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.ir.operator import Array, Call, Cost, Operand, Tensor, op, standard
from compiler.ir.types import TensorType
from compiler.ops.elementwise import add, mul
from compiler.ops.matmul import matmul
from compiler.ops.requirements import (
    n_elements,
    require_elements,
    rounded,
    traffic,
    widened,
)
from compiler.ops.softmax import softmax


@op(kind="contraction", exact=False)
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float = 1.0
) -> TensorType:
    """Values weighed by how well their keys fit: softmax(q * transposed k * scale + mask) * v.

    Shapes: q [..., T, D], k [..., S, D], v [..., S, E], mask broadcasts to [..., T, S]; the result
    [..., T, E].
    Errors: E-OP-SHAPE, E-OP-DTYPE.
    Source: Vaswani et al. 2017, arXiv:1706.03762.
    """
    require_elements("attention", "float", q, k, v, mask)
    return _composed(q, k, v, mask, scale).type


def _composed(q: Tensor, k: Tensor, v: Tensor, mask: Operand, scale: float) -> Call:
    scores = matmul(q, k, transpose_b=True)
    if scale != 1:
        scores = mul(scores, np.asarray(scale, q.dtype.numpy))
    if mask is not None:
        scores = add(scores, mask)
    return matmul(softmax(scores, axis=-1), v)


@attention.reference
def _(q: Array, k: Array, v: Array, mask: Array | None = None, *, scale: float) -> Array:
    with np.errstate(all="ignore"):
        scores = widened(q) @ np.swapaxes(widened(k), -1, -2) * widened(q).dtype.type(scale)
        if mask is not None:
            scores = scores + widened(mask)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        return rounded(e / e.sum(axis=-1, keepdims=True) @ widened(v), q)


@attention.cost
def _(
    q: TensorType,
    k: TensorType,
    v: TensorType,
    mask: TensorType | None = None,
    *,
    out: TensorType,
    scale: float,
) -> Cost:
    keys, size = k.static_shape[-2:]
    n_scores = n_elements(out) // max(out.static_shape[-1], 1) * keys
    return traffic([q, k, v, mask], out, n_scores * (2 * size + 6 + 2 * out.static_shape[-1]))


@attention.decompose
def _(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float) -> Call:
    return _composed(q, k, v, mask, scale)


@attention.export
def _(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float) -> Operand:
    """The standard's operator takes as many heads of each; else the composition is written."""
    if q.rank != 4 or not q.shape[:2] == k.shape[:2] == v.shape[:2]:
        return _composed(q, k, v, mask, scale)
    return standard("Attention", q, k, v, _for_every_query(q, k, mask), scale=scale)


def _for_every_query(q: Tensor, k: Tensor, mask: Tensor | None) -> Operand:
    """The mask with a row for each query: runtimes broadcast batches and heads alone."""
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    if mask is None or mask.shape[-2:] == (n_queries, n_keys):
        return mask
    if not (isinstance(n_queries, int) and isinstance(n_keys, int)):
        return mask
    return standard("Expand", mask, np.array([n_queries, n_keys], np.int64))


@attention.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5,4]", "f32[2,3,7,4]", "f32[2,3,7,6]"], {"scale": 0.5}
    yield ["f32[2,3,5,4]", "f32[2,3,7,4]", "f32[2,3,7,6]", "f32[5,7]"], {}
    yield ["f32[3,4]", "f32[5,4]", "f32[5,2]", "f32[1,5]"], {"scale": 0.25}
    yield ["f32[2,5,4]", "f32[2,1,4]", "f32[2,1,6]"], {"scale": 2.0}
