"""Attention composed of calls of other operators: heads, scores, masks, rotary positions.

The functions build calls of other operators, so passes can optimise the matrix products, the
softmax and the pointwise operators. The attention operators of ONNX and of ONNX Runtime become the
same calls.
Shapes: heads are [batch, heads, positions, head size].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.operator import Call, Operand, Out
from compiler.ir.types import DType
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.gather import gather
from compiler.ops.data_movement.reshape import reshape, unsqueeze
from compiler.ops.data_movement.shape import range_, shape
from compiler.ops.data_movement.slice import slice_
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.arithmetic import add, div, mul, sub, tanh
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import greater, less_equal, where
from compiler.ops.elementwise.logic import logical_and
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.reductions.softmax import softmax


def once(x: Operand) -> Operand:
    """Name the output of a call, so that several readers share one computation."""
    return x.out(0) if isinstance(x, Call) else x


def part(x: Operand, axis: int, start: int, end: int, step: int = 1) -> Out:
    """Slice an axis."""
    bounds = (np.array([v]) for v in (start, end, axis, step))
    return slice_(x, *bounds).out(0)


def as_heads(x: Operand, n_heads: int, size: int) -> Out:
    """Reshape rows [batch, positions, heads * size] to [batch, heads, positions, size]."""
    split = reshape(x, np.array([0, 0, n_heads, size]))
    return transpose(split, perm=(0, 2, 1, 3)).out(0)


def as_rows(x: Operand, width: int) -> Call:
    """Reshape heads to rows [batch, positions, width]."""
    return reshape(transpose(x, perm=(0, 2, 1, 3)), np.array([0, 0, width]))


def length(x: Operand, axis: int) -> Out:
    """Build the size of an axis, as a list of one number."""
    return shape(x, start=axis, end=axis + 1).out(0)


def counted(n: Operand) -> Out:
    """Build a list of the numbers 0 to n - 1."""
    return range_(np.array([0]), n, np.array([1])).out(0)


def is_earlier(q: Operand, k: Operand, past: Operand = None, window: int = -1) -> Out:
    """Build the causal mask: each query reads the keys up to its position, the last query all keys.

    `past` has one number per batch: the number of keys that precede the first query. With `window`,
    each query reads at most the last `window` keys up to its position.
    Shapes: the mask is [queries, keys], or [batch, 1, queries, keys] with `past`.
    """
    places, keys = counted(length(q, 2)), counted(length(k, 2))
    if past is None:
        ahead: Operand = sub(length(k, 2), length(q, 2))
        last = once(add(unsqueeze(places, axes=(1,)), ahead))
    else:
        first = reshape(past, np.array([-1, 1, 1, 1]))
        last = once(add(unsqueeze(places, axes=(1,)), first))
    kept = less_equal(keys, last)
    if window >= 0:
        kept = logical_and(kept, greater(keys, sub(last, np.asarray(window, np.int64))))
    return kept.out(0)


def attended(
    q: Operand,
    k: Operand,
    v: Operand,
    *,
    dtype: DType,
    scale: float,
    groups: tuple[int, int] = (1, 1),
    softcap: float = 0.0,
    added: Sequence[Operand] = (),
    kept: Operand = None,
) -> Call:
    """Build softmax(q * transposed k * scale + bias) * v; masked keys have weight 0.

    `groups` is a pair: the number of heads of k, and the number of heads of q per head of k.
    `groups` is (1, 1) if q and k have equal numbers of heads.
    Source: Vaswani et al. 2017, arXiv:1706.03762.
    """
    few, shared = groups
    scores: Operand = _grouped(q, k, few, shared, transpose_b=True)
    scores = mul(scores, np.asarray(scale, dtype.numpy))
    if softcap:
        cap = np.asarray(softcap, dtype.numpy)
        scores = mul(tanh(div(scores, cap)), cap)
    for other in added:
        if other is not None:
            scores = add(scores, other)
    if kept is not None:
        scores = where(kept, scores, np.asarray(lowest(dtype), dtype.numpy))
    return _grouped(softmax(scores, axis=3), v, few, shared, transpose_b=False)


def lowest(dtype: DType) -> Any:
    """Return the lowest finite number of a float type."""
    return -65504.0 if dtype is DType.f16 else float(np.finfo(np.float32).min)


def _grouped(a: Operand, b: Operand, few: int, shared: int, *, transpose_b: bool) -> Call:
    """Multiply matrices per head; one head of b may serve several heads of a."""
    if shared == 1:
        return matmul(a, b, transpose_b=transpose_b)
    a, b = once(a), once(b)
    # [batch, heads, ...] as [batch, few, shared, ...]: the product repeats b along `shared`.
    sizes = np.array([few, shared])
    split = reshape(a, concat(length(a, 0), sizes, shape(a, start=2, end=4), axis=0))
    made = once(matmul(split, unsqueeze(b, axes=(2,)), transpose_b=transpose_b))
    whole = concat(length(a, 0), np.array([few * shared]), shape(made, start=3, end=5), axis=0)
    return reshape(made, whole)


# Positions


def rotated(
    x: Operand, cos: Operand, sin: Operand, size: int, n_rotated: int, *, interleaved: bool
) -> Operand:
    """Rotate pairs of elements of each head by angles; see the operator `rotary`.

    Shapes: cos and sin broadcast to [batch, 1, positions, n_rotated / 2]; the elements of a head
    from index `n_rotated` on stay unchanged.
    Source: Su et al. 2021, arXiv:2104.09864.
    """
    x = once(x)
    half = n_rotated // 2
    if interleaved:
        a, b = part(x, 3, 0, n_rotated, 2), part(x, 3, 1, n_rotated, 2)
    else:
        a, b = part(x, 3, 0, half), part(x, 3, half, n_rotated)
    cos, sin = once(cos), once(sin)
    first = sub(mul(a, cos), mul(b, sin))
    second = add(mul(a, sin), mul(b, cos))
    if interleaved:
        pairs = concat(unsqueeze(first, axes=(4,)), unsqueeze(second, axes=(4,)), axis=4)
        turned: Operand = reshape(pairs, np.array([0, 0, 0, n_rotated]))
    else:
        turned = concat(first, second, axis=3)
    return turned if n_rotated == size else concat(turned, part(x, 3, n_rotated, size), axis=3)


def angles(cache: Operand, positions: Operand, rank: int) -> Call:
    """Gather the rows of a table of cosines or sines for positions [T] or [batch, T]."""
    return unsqueeze(gather(cache, positions), axes=(0, 1) if rank == 1 else (1,))


def widened_index(x: Operand) -> Call:
    """Convert positions to i64."""
    return cast(x, to=DType.i64)
