"""Rules that recognise scaled dot-product attention, and their pass."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType
from compiler.passes.engine.declaration import rules_pass
from compiler.passes.engine.pattern import Any, AnyAttr, Number, OneOf, Pattern, Product
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.calls import o

_LOWEST = -1e30
"""Largest mask value that makes every score negligible in f32."""


def _scaled(x: Pattern, name: str) -> OneOf:
    """Return the pattern of x or of x times a number."""
    return OneOf(Product(x, Number(name)), x)


_Q, _K = _scaled(Any("q"), "scale_q"), _scaled(Any("k"), "scale_k")
_TURNED = o.transpose(_K, perm=AnyAttr("perm"))
_PRODUCT = OneOf(
    o.matmul(_Q, _K, transpose_b=True),
    o.matmul(_Q, _scaled(_TURNED, "scale_kt")),
    o.matmul(_Q, _scaled(Any("columns"), "scale_kt")),
)
_SCORES = _scaled(_PRODUCT, "scale")
_MASKED = OneOf(
    o.add(_SCORES, Any("mask")),
    o.where(Any("kept"), _SCORES, Number("lowest")),
    o.where(Any("hidden"), Number("lowest"), _SCORES),
    _SCORES,
)


@rule(
    o.matmul(o.softmax(_MASKED, axis=AnyAttr("axis")), Any("v")),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(q: f32[2,3,4], k: f32[2,5,4], v: f32[2,5,6], m: f32[3,5]) {
      const half: f32[] = literal(0.5)
      t: f32[2,4,5] = transpose(k, perm=[0,2,1])
      s: f32[2,3,5] = matmul(q, t)
      c: f32[2,3,5] = mul(s, half)
      d: f32[2,3,5] = add(c, m)
      p: f32[2,3,5] = softmax(d)
      y: f32[2,3,6] = matmul(p, v)
      return y
    }
    =>
    graph g(q: f32[2,3,4], k: f32[2,5,4], v: f32[2,5,6], m: f32[3,5]) {
      y: f32[2,3,6] = attention(q, k, v, m, scale=0.5)
      return y
    }
    """,
    near_miss="""
    graph g(q: f32[2,3,4], k: f32[2,5,4], v: f32[2,3,6], m: f32[5,3]) {
      const half: f32[] = literal(0.5)
      s: f32[2,5,3] = matmul(k, q, transpose_b=true)
      c: f32[2,5,3] = mul(s, half)
      d: f32[2,5,3] = add(c, m)
      p: f32[2,5,3] = softmax(d, axis=1)
      y: f32[2,5,6] = matmul(p, v)
      return y
    }
    """,
)
def attention_of_products(
    q: Tensor,
    k: Tensor | None,
    columns: Tensor | None,
    v: Tensor,
    mask: Tensor | None,
    kept: Tensor | None,
    hidden: Tensor | None,
    lowest: float | None,
    scale: float | None,
    scale_q: float | None,
    scale_k: float | None,
    scale_kt: float | None,
    perm: tuple[int, ...] | None,
    axis: int,
) -> Operand:
    """Recognise softmax(q * transposed k * scale + mask) * v as attention.

    Exporters write attention in many ways. A single kernel computes attention for one block of
    queries after another, so the scores stay in the cache.
    """
    keys = columns if k is None else k
    assert keys is not None, "one of the alternatives binds the right operand"
    if v.type.shape is None or keys.type.shape is None or q.type.shape is None:
        return Skip(f"the ranks of {q.type}, {keys.type} and {v.type} are not all known")
    if axis not in (-1, v.rank - 1) or not q.rank == keys.rank == v.rank:
        return Skip(f"the softmax is along axis {axis}, not along the last axis, the keys")
    if lowest is not None and lowest > _LOWEST:
        return Skip(f"the mask sets hidden scores to {lowest:g}, too high for an additive mask")
    factor = float(np.prod([s for s in (scale, scale_q, scale_k, scale_kt) if s is not None]))
    if columns is not None and columns.value is not None:
        return Skip(f"{columns.name} is a constant, which the product packs at compile time")
    if columns is not None:
        perm = tuple(range(keys.rank))
    k_rows: Operand = keys
    if perm is not None:
        # The operator requires positions before features; k may already have that order.
        order = (*perm[:-2], perm[-1], perm[-2])
        k_rows = keys if order == tuple(range(keys.rank)) else o.transpose(keys, perm=order)
    made = o.attention(q, k_rows, v, _mask(q, mask, kept, hidden, lowest), scale=factor)
    because = (
        f"the softmax of {q.name} times {keys.name}, scaled by {factor:.4g}, multiplies {v.name}"
    )
    return Because(made, because)


def _mask(
    q: Tensor, mask: Tensor | None, kept: Tensor | None, hidden: Tensor | None, lowest: float | None
) -> Operand:
    """Convert the mask to an additive mask."""
    if lowest is None:
        return mask
    dtype: DType = q.dtype
    nothing, much = np.asarray(0, dtype.numpy), np.asarray(lowest, dtype.numpy)
    return o.where(kept, nothing, much) if kept is not None else o.where(hidden, much, nothing)


ATTENTION: list[Rule] = [attention_of_products]
"""Rules for attention."""

recognise_attention = rules_pass(
    "recognise_attention",
    ATTENTION,
    """Recognise attention in two matrix products and a softmax.

    The operator is a single kernel. The kernel computes all stages for one block of queries before
    the next block, so the scores stay in the cache.
    """,
    needs=["constants"],
    known_as={"ONNX Runtime": "AttentionFusion"},
)
