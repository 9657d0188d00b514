"""The attention operators of ONNX Runtime, with projections, masks and key-value caches.

Nodes with other features (beam search with shared buffers of past and present keys, masks of packed
batches) stay foreign.
Source: ONNX Runtime, docs/ContribOperators.md, and its CPU kernels.
"""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.attention.attention import (
    angles,
    as_heads,
    as_rows,
    attended,
    counted,
    is_earlier,
    length,
    once,
    part,
    rotated,
    widened_index,
)
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.reshape import reshape, squeeze, unsqueeze
from compiler.ops.data_movement.shape import fill, shape
from compiler.ops.data_movement.shifts import tensor_scatter
from compiler.ops.data_movement.slice import slice_
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.arithmetic import add, max_, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import equal, greater_equal, less, where
from compiler.ops.elementwise.logic import logical_and
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.normalization.layer_norms import rms_norm

MASKED = -10000.0
"""The default number that is added to the score of a masked key."""


def _static(t: Tensor | None, axis: int) -> int | None:
    """Return a static size, or None."""
    if t is None or t.type.shape is None or not -t.rank <= axis < t.rank:
        return None
    n = t.shape[axis]
    return n if isinstance(n, int) else None


@dataclass
class _Parts:
    """Queries, keys and values as heads, and the head size of the result."""

    q: Operand
    k: Operand
    v: Operand
    dtype: DType
    head: int
    value_head: int


# Masks


def _mask(mask: Tensor | None, n: OnnxCall, k: Operand, batch: Any, dtype: DType) -> Any:
    """Convert a mask to addends of scores (0 or a large negative number); False if unsupported."""
    if mask is None:
        return None
    if mask.type.shape is None:
        return False
    keys = counted(length(k, 2))
    if mask.rank == 1:
        if mask.shape[0] == batch:
            ends = reshape(widened_index(mask), np.array([-1, 1, 1, 1]))
            kept: Operand = less(keys, ends)
        elif isinstance(batch, int) and mask.shape[0] == 2 * batch and batch != 0:
            bounds = once(widened_index(mask))
            ends = reshape(part(bounds, 0, 0, batch), np.array([-1, 1, 1, 1]))
            starts = reshape(part(bounds, 0, batch, 2 * batch), np.array([-1, 1, 1, 1]))
            kept = logical_and(less(keys, ends), greater_equal(keys, starts))
        else:
            return False
    elif mask.rank in (2, 3):
        one = np.asarray(1, mask.dtype.numpy)
        kept = equal(unsqueeze(mask, axes=(1, 2) if mask.rank == 2 else (1,)), one)
    else:
        return False
    masked = float(n.attr("mask_filter_value", MASKED))
    return where(kept, np.asarray(0, dtype.numpy), np.asarray(masked, dtype.numpy))


def _finished(n: OnnxCall, parts: _Parts, n_heads: int, mask: Any, bias: Tensor | None) -> Operand:
    """Compute attention over the heads of queries, keys and values; return the result as rows."""
    made = attended(
        parts.q,
        parts.k,
        parts.v,
        dtype=parts.dtype,
        scale=float(n.attr("scale", 0.0)) or 1 / sqrt(parts.head),
        added=(mask, bias),
        kept=is_earlier(parts.q, parts.k) if n.attr("unidirectional", 0) else None,
    )
    return as_rows(made, n_heads * parts.value_head)


# Attention with its own projection


@matmul.onnx("com.microsoft:Attention")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import Attention: one product projects the input to queries, keys and values."""
    x, weights, bias, mask, past, added = (n.operand(i) for i in range(6))
    assert x is not None
    assert weights is not None
    if x.type.shape is None or n.operand(6) is not None:
        return None
    projected: Operand = matmul(x, weights)
    projected = projected if bias is None else add(projected, bias)
    return of_projection(n, x, weights, projected, x.dtype, mask, past, added)


def of_projection(
    n: OnnxCall,
    x: Tensor,
    weights: Tensor,
    projected: Operand,
    dtype: DType,
    mask: Tensor | None,
    past: Tensor | None,
    added: Tensor | None,
) -> Operand | tuple[Operand, ...] | None:
    """Compute attention from the packed product of the input and the projection weights."""
    heads = int(n.attr("num_heads", 1))
    width = _static(weights, 1)
    if width is None or n.attr("do_rotary", 0):
        return None
    sizes = [int(s) for s in n.attr("qkv_hidden_sizes") or [width // 3] * 3]
    if any(s % heads for s in sizes) or sum(sizes) != width:
        return None
    projected = once(projected)
    bounds = [0, sizes[0], sizes[0] + sizes[1], width]
    q, k, v = (
        as_heads(part(projected, 2, a, b), heads, (b - a) // heads) for a, b in pairwise(bounds)
    )
    present: Operand = None
    if past is not None or n.n_outputs > 1:
        k, v = (once(_behind(past, i, new)) for i, new in enumerate((k, v)))
        present = concat(unsqueeze(k, axes=(0,)), unsqueeze(v, axes=(0,)), axis=0)
    masked = _mask(mask, n, k, x.shape[0], dtype)
    if masked is False:
        return None
    parts = _Parts(q, k, v, dtype, sizes[0] // heads, sizes[2] // heads)
    made = _finished(n, parts, heads, masked, added)
    return made if n.n_outputs == 1 else (made, present)


def _behind(past: Tensor | None, index: int, new: Operand) -> Operand:
    """Append new keys or values to the past ones, both of which are in one tensor."""
    if past is None:
        return new
    return concat(squeeze(part(past, 0, index, index + 1), axes=(0,)), new, axis=2)


# Attention on separate queries, keys and values


@matmul.onnx("com.microsoft:MultiHeadAttention")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    heads = int(n.attr("num_heads", 1))
    query, mask, added = n.operand(0), n.operand(4), n.operand(5)
    shares = n.operand(8) is not None or n.operand(9) is not None
    if shares or n.n_outputs > 3 or query is None or query.type.shape is None:
        return None
    parts = _given(n, heads)
    if parts is None:
        return None
    for name, index in (("k", 6), ("v", 7)):
        if n.operand(index) is not None:
            whole = concat(n.operand(index), getattr(parts, name), axis=2)
            setattr(parts, name, once(whole))
    masked = _mask(mask, n, parts.k, query.shape[0], query.dtype)
    if masked is False:
        return None
    made = _finished(n, parts, heads, masked, added)
    return made if n.n_outputs == 1 else (made, parts.k, parts.v)


def _given(n: OnnxCall, heads: int) -> _Parts | None:
    """Convert the accepted forms of queries, keys and values to heads, and add biases."""
    query, key, value, bias = (n.operand(i) for i in range(4))
    assert query is not None
    if query.rank == 5:
        head = _static(query, 4)
        if head is None or bias is not None:
            return None
        q, k, v = (_packed(query, i) for i in range(3))
        return _Parts(q, k, v, query.dtype, head, head)
    width = _static(query, 2)
    if width is None or width % heads or key is None or key.type.shape is None:
        return None
    head = width // heads
    wide = _static(value, -1)
    value_width = width if value is None else wide if key.rank == 3 else wide and wide * heads
    if value_width is None or value_width % heads:
        return None
    bounds = [0, width, 2 * width, 2 * width + value_width]
    biases = [None if bias is None else part(bias, 0, bounds[i], bounds[i + 1]) for i in range(3)]
    value_head = value_width // heads
    q = as_heads(_plus(query, biases[0]), heads, head)
    if key.rank == 5:
        if bias is not None:
            return None
        return _Parts(q, _packed(key, 0), _packed(key, 1), query.dtype, head, head)
    if value is None:
        return None
    if key.rank == 4:
        return _Parts(q, key, value, query.dtype, head, value_head)
    k = as_heads(_plus(key, biases[1]), heads, head)
    v = as_heads(_plus(value, biases[2]), heads, value_head)
    return _Parts(q, k, v, query.dtype, head, value_head)


def _plus(x: Tensor, bias: Operand) -> Operand:
    return x if bias is None else add(x, bias)


def _packed(x: Tensor, index: int) -> Operand:
    """Extract one of several tensors packed as [batch, positions, heads, tensors, size]."""
    taken = squeeze(part(x, 3, index, index + 1), axes=(3,))
    return transpose(taken, perm=(0, 2, 1, 3)).out(0)


# Groups of heads that share keys, with a cache


@matmul.onnx("com.microsoft:GroupQueryAttention")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import GroupQueryAttention: append new keys to each sequence's cache, then attend."""
    query, lengths, total = n.operand(0), n.operand(5), n.operand(6)
    if query is None or lengths is None or total is None or not _is_plain_group(n, query):
        return None
    heads, few = int(n.attr("num_heads", 1)), int(n.attr("kv_num_heads", 1))
    width = _static(query, 2)
    per_head = heads if n.operand(1) is not None else heads + 2 * few
    if width is None or width % per_head or total.value is None:
        return None
    head = width // per_head
    q, k, v = _heads_of_groups(n, heads, few, head)
    # The number of cached keys of each sequence: 0 if all keys are new and padded.
    behind = add(sub(widened_index(lengths), length(q, 2)), np.asarray(1, np.int64))
    before = once(max_(behind, np.asarray(0, np.int64)))
    if n.attr("do_rotary", 0):
        q, k = (_turned(n, x, before, head) for x in (q, k))
    count = once(reshape(widened_index(total), np.array([1])))
    keys, values = (_written(n.operand(3 + i), new, before, count) for i, new in enumerate((k, v)))
    axis = np.array([2])
    seen = [once(slice_(x, np.array([0]), count, axis)) for x in (keys, values)]
    window = int(n.attr("local_window_size", -1))
    made = attended(
        q,
        seen[0],
        seen[1],
        dtype=query.dtype,
        scale=float(n.attr("scale", 0.0)) or 1 / sqrt(head),
        groups=(few, heads // few),
        softcap=float(n.attr("softcap", 0.0)),
        added=(n.operand(10),),
        kept=is_earlier(q, seen[0], before, window),
    )
    rows = as_rows(made, heads * head)
    return rows if n.n_outputs == 1 else (rows, keys, values)


def _is_plain_group(n: OnnxCall, query: Tensor) -> bool:
    """Return whether a node uses only features that the import supports."""
    special = (
        n.attr("smooth_softmax", -1) == 1
        or n.attr("sliding_window_cache", 0)
        or n.attr("kv_cache_bit_width", 0)
        or n.attr("causal", 1) != 1
        or n.attr("qk_output", 0)
        or n.n_outputs > 3
        or any(n.operand(i) is not None for i in (11, 12, 13))
    )
    return not special and query.type.shape is not None and query.rank == 3


def _heads_of_groups(n: OnnxCall, heads: int, few: int, head: int) -> tuple[Operand, ...]:
    query, key, value = n.operand(0), n.operand(1), n.operand(2)
    if key is None:
        edges = [0, heads * head, (heads + few) * head, (heads + 2 * few) * head]
        rows: list[Operand] = [part(query, 2, a, b) for a, b in pairwise(edges)]
    else:
        rows = [query, key, value]
    counts = (heads, few, few)
    made = [as_heads(x, c, head) for x, c in zip(rows, counts, strict=True)]
    weights = (n.operand(14), n.operand(15))
    epsilon = float(n.attr("qk_norm_epsilon", 1e-6))
    normed = [
        x if w is None else once(rms_norm(x, w, axis=3, epsilon=epsilon))
        for x, w in zip(made, weights, strict=False)
    ]
    return (*normed, made[2])


def _turned(n: OnnxCall, x: Operand, before: Operand, head: int) -> Operand:
    """Rotate heads by angles of their positions; new positions follow the cached positions."""
    cos, sin, given = n.operand(7), n.operand(8), n.operand(9)
    half = _static(cos, 1)
    assert half is not None, "the table of angles has a known width"
    if given is not None:
        positions: Operand = given
    else:
        positions = add(unsqueeze(before, axes=(1,)), counted(length(x, 2)))
    positions = once(positions)
    cosines, sines = angles(cos, positions, 2), angles(sin, positions, 2)
    interleaved = bool(n.attr("rotary_interleaved", 0))
    return once(rotated(x, cosines, sines, head, 2 * half, interleaved=interleaved))


def _written(past: Tensor | None, new: Operand, before: Operand, count: Operand) -> Operand:
    """Write new keys to the cache; a cache of fewer than `count` keys is extended first."""
    if past is None:
        return once(new)
    more = max_(sub(count, length(past, 2)), np.asarray(0, np.int64))
    sizes = concat(shape(past, start=0, end=2), more, length(past, 3), axis=0)
    grown = concat(past, fill(sizes, dtype=past.dtype), axis=2)
    return once(tensor_scatter(grown, new, before, axis=2))


# Positions as angles


@matmul.onnx("com.microsoft:RotaryEmbedding")
def _(n: OnnxCall) -> Operand | None:
    """Import RotaryEmbedding: rotate heads, or rows of heads, by angles of their positions."""
    x, positions, cos, sin = (n.operand(i) for i in range(4))
    assert x is not None
    assert positions is not None
    half = _static(cos, 1)
    if half is None or x.type.shape is None or positions.type.shape is None:
        return None
    if float(n.attr("scale", 1.0)) != 1 or n.attr("is_packed_batching", 0):
        return None
    heads, n_rotated = int(n.attr("num_heads", 0)), int(n.attr("rotary_embedding_dim", 0))
    width = _static(x, -1)
    if width is None:
        return None
    head = width if x.rank == 4 else width // heads if heads else 2 * half
    x4 = once(x if x.rank == 4 else as_heads(x, width // head, head))
    if positions.rank == 1:
        at = add(cast(positions, to=DType.i64), counted(length(x4, 2)))
    else:
        at = positions
    at, interleaved = once(at), bool(n.attr("interleaved", 0))
    cosines, sines = angles(cos, at, positions.rank), angles(sin, at, positions.rank)
    turned = rotated(x4, cosines, sines, head, n_rotated or 2 * half, interleaved=interleaved)
    return turned if x.rank == 4 else as_rows(turned, width)
