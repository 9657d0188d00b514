"""Normalisations of ONNX Runtime, which include additions or use other layouts.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.data_movement.gather import gather
from compiler.ops.data_movement.shape import shape
from compiler.ops.data_movement.slice import slice_
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.activations import swish
from compiler.ops.elementwise.arithmetic import add, mul, reciprocal, sqrt, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import equal
from compiler.ops.microsoft.pointwise import summed
from compiler.ops.normalization.layer_norms import group_norm, layer_norm, rms_norm
from compiler.ops.reductions.reduce import reduce_mean, reduce_sum
from compiler.ops.type_rules.requirements import normal_axis


def _epsilon(n: OnnxCall, default: float = 1e-12) -> float:
    return float(n.attr("epsilon", default))


@rms_norm.onnx("SimplifiedLayerNormalization", "com.microsoft:SimplifiedLayerNormalization")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import RMSNormalization under its old name; ONNX Runtime uses this name in two domains."""
    x, scale = n.operand(0), n.operand(1)
    assert x is not None
    assert scale is not None
    if x.type.shape is None:
        return None
    axis, epsilon = normal_axis(int(n.attr("axis", -1)), x.rank), _epsilon(n, 1e-5)
    made = rms_norm(x, _as(scale, x.dtype), axis=axis, epsilon=epsilon)
    if n.n_outputs == 1:
        return made
    return made, _inverse_root(mul(x, x), tuple(range(axis, x.rank)), epsilon, x.dtype)


def _as(t: Tensor, dtype: DType) -> Operand:
    return t if t.dtype is dtype else cast(t, to=dtype)


def _inverse_root(squares: Operand, axes: tuple[int, ...], epsilon: float, dtype: DType) -> Operand:
    """Return 1 / sqrt(mean of `squares` + epsilon)."""
    mean = reduce_mean(squares, axes=axes, keepdims=True)
    return reciprocal(sqrt(add(mean, np.asarray(epsilon, dtype.numpy))))


@layer_norm.onnx("com.microsoft:SkipLayerNormalization")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import as normalisation of input + skip + bias, followed by the statistics and the sum."""
    x, skip, gamma, beta, bias = (n.operand(i) for i in range(5))
    assert x is not None
    if x.type.shape is None:
        return None
    total = add(x, skip).out(0) if bias is None else add(add(x, skip), bias).out(0)
    last = (x.rank - 1,)
    made = layer_norm(total, gamma, beta, axis=x.rank - 1, epsilon=_epsilon(n))
    if n.n_outputs == 1:
        return made
    mean = reduce_mean(total, axes=last, keepdims=True).out(0)
    centred = sub(total, mean).out(0)
    return made, mean, _inverse_root(mul(centred, centred), last, _epsilon(n), x.dtype), total


@rms_norm.onnx("com.microsoft:SkipSimplifiedLayerNormalization")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import as RMS normalisation of input + skip + bias, followed by statistics and the sum."""
    x, skip, gamma, bias = (n.operand(i) for i in range(4))
    assert x is not None
    if x.type.shape is None:
        return None
    total = add(x, skip).out(0) if bias is None else add(add(x, skip), bias).out(0)
    last = (x.rank - 1,)
    made = rms_norm(total, gamma, axis=x.rank - 1, epsilon=_epsilon(n))
    if n.n_outputs == 1:
        return made
    mean = reduce_mean(total, axes=last, keepdims=True)
    return made, mean, _inverse_root(mul(total, total), last, _epsilon(n), x.dtype), total


@layer_norm.onnx("com.microsoft:EmbedLayerNormalization")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Normalise the sum of word, position and segment embeddings; also return word counts."""
    ids, segments, words, places, kinds, gamma, beta, mask, at = (n.operand(i) for i in range(9))
    assert ids is not None
    assert places is not None
    if ids.type.shape is None or ids.rank != 2:
        return None
    if at is None:
        length = shape(ids, start=1, end=2)
        beside: Operand = slice_(places, np.array([0]), length, np.array([0]))
    else:
        beside = gather(places, at)
    total: Operand = add(gather(words, ids), beside)
    if segments is not None and kinds is not None:
        total = add(total, gather(kinds, segments))
    whole = total.out(0)
    made = layer_norm(whole, gamma, beta, axis=2, epsilon=_epsilon(n))
    if n.n_outputs == 1:
        return made
    given = equal(ids if mask is None else mask, np.asarray(1, np.int32))
    counted: Operand = reduce_sum(cast(given, to=DType.i32), axes=(1,), keepdims=False)
    if mask is None:
        counted = mul(counted, np.asarray(0, np.int32))
    return made, counted, whole


@group_norm.onnx("com.microsoft:GroupNorm")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    return _grouped(n, x, x) if x.type.shape is not None and x.rank >= 3 else None


@group_norm.onnx("com.microsoft:SkipGroupNorm")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    x, skip = n.operand(0), n.operand(3)
    assert x is not None
    assert skip is not None
    if x.type.shape is None or skip.type.shape is None or skip.rank != x.rank:
        return None
    total = summed(x, skip, n.operand(4))
    whole = total.out(0)
    made = _grouped(n, whole, x)
    return made if n.n_outputs == 1 else (made, whole)


def _grouped(n: OnnxCall, x: Operand, like: Tensor) -> Operand:
    """Import a group normalisation; by default, images are channels-last."""
    gamma, beta = n.operand(1), n.operand(2)
    assert gamma is not None
    assert beta is not None
    rank = like.rank
    last = bool(n.attr("channels_last", 1))
    turned = transpose(x, perm=(0, rank - 1, *range(1, rank - 1))) if last else x
    made: Operand = group_norm(
        turned,
        _as(gamma, like.dtype),
        _as(beta, like.dtype),
        groups=int(n.required("groups")),
        epsilon=_epsilon(n, 1e-5),
    )
    if last:
        made = transpose(made, perm=(0, *range(2, rank), 1))
    return swish(made, alpha=1.0) if n.attr("activation", 0) == 1 else made
