"""Losses of classification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.reshape import reshape
from compiler.ops.elementwise.arithmetic import div, mul, neg
from compiler.ops.elementwise.compare import equal, where
from compiler.ops.reductions.reduce import reduce_mean, reduce_sum
from compiler.ops.reductions.softmax import log_softmax
from compiler.ops.type_rules.requirements import require_elements, require_size, traffic


@op(kind="reduction")
def take_class(scores: Tensor, classes: Tensor) -> TensorType:
    """Gather the score of the class at each position; 0 for an invalid class.

    Shapes: scores [N, C, ...], classes [N, ...] of integers. An axis of scores other than C is
    broadcast if its size is 1.
    Errors: E-OP-DTYPE, E-OP-SHAPE.
    Source: ONNX NegativeLogLikelihoodLoss-13. The lowering scans the scores of all classes, as the
    softmax before the loss does.
    """
    require_elements("take_class", "float", scores)
    require_elements("take_class", "integer", classes)
    if scores.type.shape is None or classes.type.shape is None:
        return TensorType(scores.dtype, classes.type.shape)
    fits = scores.rank == classes.rank + 1 and classes.rank >= 1
    require(
        fits,
        "E-OP-SHAPE",
        f"take_class needs scores with one axis more than the classes, got {scores.type} "
        f"and {classes.type}",
    )
    others = (*scores.shape[:1], *scores.shape[2:])
    for d, (found, needed) in enumerate(zip(others, classes.shape, strict=True)):
        if found != 1:
            require_size("take_class", f"axis {d} of the classes", needed, found)
    return TensorType(scores.dtype, classes.shape)


@take_class.reference
def _(scores: Array, classes: Array) -> Array:
    rows = np.arange(scores.shape[1]).reshape(-1, *[1] * (scores.ndim - 2))
    hit = np.expand_dims(classes, 1) == rows
    taken = np.where(hit, scores, np.zeros((), scores.dtype))
    return np.asarray(taken.sum(axis=1, dtype=scores.dtype))


@take_class.cost
def _(scores: TensorType, classes: TensorType, *, out: TensorType) -> Cost:
    return traffic([scores, classes], out, 2 * scores.n_elements)


@take_class.lower
def _(k: Lowering, scores: Handle, classes: Handle, out: Handle) -> None:
    n, *rest = k.axes(out.shape)
    c = k.axis(scores.shape[1], "c")
    sizes = zip((n, *rest), _others(scores.shape), strict=True)
    at = [scores.repeated(i, size) for i, size in sizes]
    wanted = k.convert(classes[n, *rest], DType.i64)
    hit = k.eq(wanted, k.index(c))
    score = scores[at[0], c, *at[1:]]
    k.assign(out[n, *rest], k.sum(k.where(hit, score, 0.0), over=c))


def _others(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:1], *shape[2:])


@take_class.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,5]", np.array([4, 1])], {}
    yield ["f32[3,4,2]", np.array([[0, 3], [-1, 2], [9, 1]], np.int32)], {}
    yield ["f64[2,3,2,2]", np.array([[[0, 1], [2, 1]], [[1, 1], [0, 2]]])], {}
    yield ["f32[1,3,1]", np.array([[0, 2], [1, 1]])], {}
    yield ["f16[2,3]", np.array([2, 0])], {}
    yield ["f32[2,0]", np.array([0, 0])], {}


@take_class.onnx("NegativeLogLikelihoodLoss")
def _(n: OnnxCall) -> Operand | None:
    x, classes = n.operand(0), n.operand(1)
    assert x is not None
    assert classes is not None
    if x.type.shape is None or classes.type.shape is None:
        return None
    return _loss(n, x, x, classes)


@take_class.onnx("SoftmaxCrossEntropyLoss")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import SoftmaxCrossEntropyLoss as a log softmax over the classes, followed by the loss."""
    x, classes = n.operand(0), n.operand(1)
    assert x is not None
    assert classes is not None
    if x.type.shape is None or classes.type.shape is None:
        return None
    scores = log_softmax(x, axis=1).out(0)
    loss = _loss(n, scores, x, classes)
    return (loss, scores) if n.n_outputs > 1 else loss


@take_class.export
def _(scores: Tensor, classes: Tensor) -> Operand | None:
    if scores.type.shape is None or not isinstance(scores.shape[1], int):
        return None
    rows = np.arange(scores.shape[1]).reshape(-1, *[1] * (scores.rank - 2))
    wanted = standard("Unsqueeze", standard("Cast", classes, to=DType.i64), np.array([1]))
    hit = standard("Equal", wanted, rows)
    taken = standard("Where", hit, scores, np.zeros((), scores.dtype.numpy))
    return standard("ReduceSum", taken, np.array([1]), keepdims=False)


def _loss(n: OnnxCall, scores: Operand, x: Tensor, classes: Tensor) -> Operand:
    """Compute the losses of all positions, weighted by class, and combine them by `reduction`."""
    weight = _weights(n, x, classes)
    lost: Operand = neg(take_class(scores, classes))
    if weight is not None:
        lost = mul(lost, weight)
    axes = tuple(range(classes.rank))
    reduction = n.attr("reduction", "mean")
    if reduction == "none":
        return lost
    if reduction == "sum":
        return reduce_sum(lost, axes=axes, keepdims=False)
    if weight is None:
        return reduce_mean(lost, axes=axes, keepdims=False)
    total = reduce_sum(lost, axes=axes, keepdims=False)
    return div(total, reduce_sum(weight, axes=axes, keepdims=False))


def _weights(n: OnnxCall, x: Tensor, classes: Tensor) -> Operand:
    """Return the weight of each position; None if all weights are equal."""
    given, ignored = n.operand(2), n.attr("ignore_index")
    dtype = x.dtype.numpy
    weight: Operand = None
    if given is not None:
        row = np.array([1, -1, *[1] * (x.rank - 2)], np.int64)
        weight = take_class(reshape(given, row), classes).out(0)
    if ignored is None:
        return weight
    hit = equal(classes, np.asarray(ignored, classes.dtype.numpy))
    counted = np.asarray(1, dtype) if weight is None else weight
    return where(hit, np.asarray(0, dtype), counted).out(0)
