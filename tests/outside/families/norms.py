"""Normalisations."""

from __future__ import annotations

import numpy as np

from tests.outside.draft import Draft, Dropped
from tests.outside.family import family
from tests.outside.values import FLOATS, numpy_type

SMALL = ("f32", "f64", "f16")


@family("BatchNormalization", weight=1.5)
def _(d: Draft, op: str) -> None:
    """In inference mode only; variances are positive."""
    x = d.tensor(SMALL, (2, 5), lambda v: v.size > 0)
    label, c = d.label(x), d.shape(x)[1]
    scale, bias, mean = (d.like(label, (c,)) for _ in range(3))
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    variance = d.constant(numbers.uniform(0.25, 2, c).astype(numpy_type(label)))
    d.one(op, [x, scale, bias, mean, variance], epsilon=d.chance.choice((None, 1e-3)))


@family("InstanceNormalization")
def _(d: Draft, op: str) -> None:
    """With several elements: the deviation of one is 0, where ONNX Runtime has errors of 3e-5."""
    x = d.tensor(SMALL, (3, 5), lambda v: v.size > 0 and v[0, 0].size > 1)
    label, c = d.label(x), d.shape(x)[1]
    d.one(op, [x, d.like(label, (c,)), d.like(label, (c,))], epsilon=d.chance.choice((None, 1e-2)))


@family("GroupNormalization")
def _(d: Draft, op: str) -> None:
    g, per = d.chance.choice((1, 2, 3)), d.chance.choice((1, 2, 3))
    label = d.some_label(("f32", "f64"))
    tail = [d.chance.choice((1, 2, 3, 5, 17)) for _ in range(d.chance.choice((1, 2, 3)))]
    x = d.like(label, (d.chance.choice((1, 2)), g * per, *tail))
    n = g * per if d.opset >= 21 else g
    d.one(op, [x, d.like(label, (n,)), d.like(label, (n,))], num_groups=g)


@family("LayerNormalization", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor(SMALL, (1, 5), lambda v: v.size > 0)
    label, axis = d.label(x), d.axis(len(d.shape(x)))
    shape = d.shape(x)[axis:]
    operands = [x, d.like(label, shape), *([d.like(label, shape)] if d.maybe(0.6) else [])]
    n = d.chance.choice((1, 1, 1, 3)) if label == "f32" else 1
    d.node(op, operands, n, axis=axis, epsilon=d.chance.choice((None, 1e-3)))


@family("RMSNormalization")
def _(d: Draft, op: str) -> None:
    x = d.tensor(SMALL, (1, 5), lambda v: v.size > 0)
    axis = d.axis(len(d.shape(x)))
    scale = d.like(d.label(x), d.shape(x)[axis:])
    d.one(op, [x, scale], axis=axis, epsilon=d.chance.choice((None, 1e-3)))


@family("MeanVarianceNormalization")
def _(d: Draft, op: str) -> None:
    """With deviations far above the standard's epsilon of 1e-9, which ONNX Runtime omits."""
    x = d.tensor(("f32",), (4, 4), lambda v: v.size > 0)
    axes = d.chance.choice((None, [0, 2, 3], [2, 3], [1]))
    deviation = d.values[x].astype(np.float64).std(tuple(axes or (0, 2, 3)))
    if ((deviation > 0) & (deviation < 1e-3)).any():
        raise Dropped
    d.one(op, [x], axes=axes)


@family("LpNormalization")
def _(d: Draft, op: str) -> None:
    x = d.tensor(FLOATS, (1, 4), lambda v: v.size > 0)
    axis = d.axis(len(d.shape(x)))
    if (np.abs(d.values[x].astype(float)).sum(axis) < 0.1).any():
        raise Dropped  # a division by zero
    d.one(op, [x], axis=axis, p=d.chance.choice((None, 1, 2)))


@family("LRN")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32",), (4, 4), lambda v: v.size > 0)
    alpha = d.chance.choice((None, 0.01))
    d.one(op, [x], size=d.chance.choice((1, 3, 5)), alpha=alpha, bias=d.chance.choice((None, 2.0)))


@family("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", weight=0.7)
def _(d: Draft, op: str) -> None:
    n, c = d.chance.choice((1, 3, 5)), d.chance.choice((2, 3, 7))
    label, tail = d.some_label(("f32", "f64")), d.chance.choice(((), (2,), (2, 3)))
    x = d.like(label, (n, c, *tail))
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    # A constant, because ONNX Runtime does not check that scores and targets have equal sizes.
    target = d.constant(numbers.integers(0, c, (n, *tail)))
    weights = [d.constant(numbers.uniform(0.5, 2, c).astype(numpy_type(label)))]
    operands = [x, target, *(weights if d.maybe() else [])]
    d.one(op, operands, reduction=d.chance.choice((None, "none", "sum", "mean")))
