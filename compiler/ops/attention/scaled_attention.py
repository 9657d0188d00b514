"""Scaled dot-product attention as one operator, for the page and for export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Read, Scalar
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Call, Cost, Operand, Tensor, op, standard
from compiler.ir.types import TensorType
from compiler.ops.elementwise.arithmetic import add, mul
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.reductions.softmax import softmax
from compiler.ops.type_rules.requirements import (
    n_elements,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)


@op(kind="contraction", exact=False)
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float = 1.0
) -> TensorType:
    """Scaled dot-product attention: softmax(q * transposed k * scale + mask) * v.

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


@attention.lower
def _(
    k: Lowering,
    q: Handle,
    keys: Handle,
    v: Handle,
    mask: Handle | None,
    out: Handle,
    *,
    scale: float,
) -> None:
    """Lower to scores, exponentials and weighted values; the division by the sum is the last step.

    Short floats are rounded after every step of the standard's definition.
    Source: the order of FlashAttention-2, Dao 2023, arXiv:2307.08691.
    """
    stages = _Stages(k, q, keys, out)
    score = stages.scores(q, keys, mask, scale)
    e, total = stages.exponentials(score)
    *at, row = stages.points()
    column, inner = k.axis(out.shape[-1], "c"), k.axis(stages.n_keys, "n")
    weight, value = stages.wide(e[*at, row, inner]), stages.wide(_at(v, at, [inner, column]))
    whole = stages.wide(total[*at, row])
    if stages.is_wide:
        k.assign(out[*at, row, column], k.sum(weight * value, over=inner) * (1.0 / whole))
        return
    share = stages.wide(stages.short(weight / whole))
    k.assign(out[*at, row, column], stages.short(k.sum(share * value, over=inner)))


class _Stages:
    """The stages before the last stage, over batches, queries and keys."""

    def __init__(self, k: Lowering, q: Handle, keys: Handle, out: Handle) -> None:
        self.k = k
        self.dtype = out.dtype
        self.rows = out.shape[:-1]
        self.size, self.n_keys = q.shape[-1], keys.shape[-2]

    @property
    def is_wide(self) -> bool:
        """Whether arithmetic uses the element type of the memory."""
        return wide(self.dtype) is self.dtype

    def wide(self, x: Scalar) -> Scalar:
        """Convert a number to the element type of arithmetic."""
        return self.k.convert(x, wide(self.dtype))

    def short(self, x: Scalar) -> Scalar:
        """Convert a number to the element type in memory."""
        return self.k.convert(x, self.dtype)

    def points(self) -> list[Expr]:
        """Create a new index for each batch axis, and one for the query."""
        return [*(self.k.axis(n, "b") for n in self.rows[:-1]), self.k.axis(self.rows[-1], "m")]

    def scores(self, q: Handle, keys: Handle, mask: Handle | None, scale: float) -> Handle:
        """Emit the stage that computes the score of each query and key."""
        k = self.k
        made = k.temporary((*self.rows, self.n_keys), self.dtype, "score")
        *at, row = self.points()
        column, inner = k.axis(self.n_keys, "n"), k.axis(self.size, "d")
        factors = self.wide(_at(q, at, [row, inner])), self.wide(_at(keys, at, [column, inner]))
        value = self.short(k.sum(factors[0] * factors[1], over=inner))
        if scale != 1:
            value = self.short(self.wide(value) * self.wide(k.number(scale, self.dtype)))
        if mask is not None:
            read = mask.broadcast([*at, row, column][len(self.rows) + 1 - max(mask.rank, 0) :])
            value = self.short(self.wide(value) + self.wide(read))
        k.assign(made[*at, row, column], value)
        return made

    def exponentials(self, score: Handle) -> tuple[Handle, Handle]:
        """Emit two stages: exp(score - row maximum), which propagates NaN, and its row sums."""
        k = self.k
        top = k.temporary(self.rows, self.dtype, "top")
        e = k.temporary(score.shape, self.dtype, "e")
        total = k.temporary(self.rows, self.dtype, "total")
        at, inner = self.points(), k.axis(self.n_keys, "n")
        k.assign(top[at], k.reduce("larger", score[*at, inner], over=inner))
        at, column = self.points(), k.axis(self.n_keys, "n")
        distance = self.short(self.wide(score[*at, column]) - self.wide(top[at]))
        k.assign(e[*at, column], self.short(k.decay(self.wide(distance))))
        at, inner = self.points(), k.axis(self.n_keys, "n")
        k.assign(total[at], self.short(k.sum(self.wide(e[*at, inner]), over=inner)))
        return e, total


def _at(t: Handle, batch: list[Expr], matrix: list[Expr]) -> Read:
    """Read an element of a matrix whose batch axes are broadcast."""
    own = batch[len(batch) - (t.rank - 2) :]
    outer = [t.repeated(i, n) for i, n in zip(own, t.shape[:-2], strict=True)]
    return t[*outer, *matrix]


@attention.export
def _(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float) -> Operand:
    """Export as ONNX Attention for equal numbers of heads, else as the decomposition."""
    if q.rank != 4 or not q.shape[:2] == k.shape[:2] == v.shape[:2]:
        return _composed(q, k, v, mask, scale)
    return standard("Attention", q, k, v, _for_every_query(q, k, mask), scale=scale)


def _for_every_query(q: Tensor, k: Tensor, mask: Tensor | None) -> Operand:
    """Expand the mask over queries: runtimes broadcast it only over batches and heads."""
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
