"""ONNX's support vector machines: kernels as compositions, probabilities by pairwise coupling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.ops.elementwise.activations import sigmoid
from compiler.ops.elementwise.arithmetic import add, exp, mul, neg, pow_, sub, tanh
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import clip, greater, where
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.ml.linear import affine
from compiler.ops.ml.scores import (
    Labels,
    class_of,
    has_rows,
    numbers,
    rows_of,
    transformed,
    with_opposite,
)
from compiler.ops.reductions.reduce import reduce_max, reduce_sum
from compiler.ops.type_rules.requirements import require_elements, require_rank, traffic

MOST_ROUNDS = 100


def n_classes_of(n_pairs: int) -> int:
    """Return the number of classes with this many pairs.

    Errors: E-OP-SHAPE if no number of classes has this many pairs.
    """
    n = round((1 + (1 + 8 * n_pairs) ** 0.5) / 2)
    require(
        n * (n - 1) // 2 == n_pairs > 0,
        "E-OP-SHAPE",
        f"{n_pairs} is not the number of pairs n(n-1)/2 for any number n of classes",
    )
    return n


@op(kind="opaque", exact=False)
def couple(pairs: Tensor) -> TensorType:
    """Pairwise coupling: computes class probabilities from the probabilities of pairs of classes.

    A pair (i, j), i < j, has the probability of class i, given that the class is i or j. The order
    of the pairs is (0,1), (0,2), ..., (1,2), ... The iteration ends when the error
    is below 0.005 / (number of classes), or after 100 steps.
    Shapes: pairs [N, C*(C-1)/2], the result [N, C].
    Errors: E-OP-DTYPE, E-OP-SHAPE.
    Source: Wu, Lin and Weng 2004, second method, as in LIBSVM; ONNX SVMClassifier-1 (ai.onnx.ml).
    """
    dtype = require_elements("couple", "float", pairs)
    require_rank("couple", pairs, [2], "pairs")
    n_pairs = pairs.shape[1]
    require(
        isinstance(n_pairs, int), "E-SHAPE-OPEN", "the number of pairs is unknown at compile time"
    )
    assert isinstance(n_pairs, int)
    return TensorType(dtype, (pairs.shape[0], n_classes_of(n_pairs)))


@couple.reference
def _(pairs: Array) -> Array:
    count = n_classes_of(pairs.shape[1])
    out = np.empty((len(pairs), count), pairs.dtype)
    for n, row in enumerate(pairs):
        r = np.zeros((count, count), pairs.dtype)
        r[np.triu_indices(count, 1)] = row
        r.T[np.triu_indices(count, 1)] = 1 - row
        q = -r.T * r
        np.fill_diagonal(q, (r * r).sum(axis=0))
        out[n] = _improved(q)
    return out


def _improved(q: Array) -> Array:
    count = len(q)
    p = np.full(count, 1 / count, q.dtype)
    for _ in range(MOST_ROUNDS):
        qp = q @ p
        pqp = p @ qp
        if not np.any(np.abs(qp - pqp) >= 0.005 / count):
            break
        for i in range(count):
            change = (pqp - qp[i]) / q[i, i]
            p[i] += change
            scale = 1 + change
            pqp = (pqp + change * (change * q[i, i] + 2 * qp[i])) / scale / scale
            qp = (qp + change * q[i]) / scale
            p /= scale
    return p


@couple.cost
def _(pairs: TensorType, *, out: TensorType) -> Cost:
    """Return the cost of ten iterations."""
    rows, count = out.static_shape
    return traffic([pairs], out, 80 * rows * count * count)


@couple.lower
def _(k: Lowering, pairs: Handle, out: Handle) -> None:
    count, dtype = out.shape[1], out.dtype
    r_, q, qp = (
        k.temporary(shape, dtype, hint)
        for shape, hint in (
            ((count, count), "r"),
            ((count, count), "q"),
            ((count,), "qp"),
        )
    )
    with k.routine() as r, r.loop(out.shape[0], "n") as n:
        at, rounds = r.cell(DType.i64, "at"), r.cell(DType.i64, "rounds")
        pqp, error, change = (r.cell(dtype, hint) for hint in ("pqp", "error", "change"))
        r.store(at, 0)
        with r.loop(count, "i") as i, r.loop(count, "j", start=i + 1) as j:
            r.store(r_[i, j], pairs.at(n, at))
            r.store(r_[j, i], 1 - pairs.at(n, at))
            r.store(at, at + 1)
        with r.loop(count, "i") as i:
            r.store(out[n, i], 1 / count)
            r.store(r_[i, i], 0.0)
            r.store(error, 0.0)
            with r.loop(count, "j") as j:
                r.store(error, error + r_[j, i] * r_[j, i])
                r.store(q[i, j], -(r_[j, i] * r_[i, j]))
            r.store(q[i, i], error)
        r.store(rounds, 0)
        with r.repeat(k.lt(rounds, MOST_ROUNDS)):
            r.store(rounds, rounds + 1)
            r.store(pqp, 0.0)
            with r.loop(count, "i") as i:
                r.store(qp[i], 0.0)
                with r.loop(count, "j") as j:
                    r.store(qp[i], qp[i] + q[i, j] * out[n, j])
                r.store(pqp, pqp + out[n, i] * qp[i])
            r.store(error, 0.0)
            with r.loop(count, "i") as i:
                off: Scalar = k.abs(qp[i] - pqp)
                r.store(error, k.where(k.gt(off, error), off, error))
            r.store(rounds, k.where(k.lt(error, 0.005 / count), MOST_ROUNDS + 1, rounds))
            with r.when(k.le(rounds, MOST_ROUNDS)), r.loop(count, "i") as i:
                r.store(change, (pqp - qp[i]) / q[i, i])
                r.store(out[n, i], out[n, i] + change)
                scale = change + 1.0
                r.store(
                    pqp,
                    (pqp + change * (change * q[i, i] + qp[i] * 2.0)) / scale / scale,
                )
                with r.loop(count, "j") as j:
                    r.store(qp[j], (qp[j] + change * q[i, j]) / scale)
                    r.store(out[n, j], out[n, j] / scale)


@couple.samples
def _() -> Iterator[tuple[Any, ...]]:
    rng = np.random.default_rng(3)
    for rows, n_pairs in ((4, 3), (2, 1), (3, 6), (0, 3)):
        yield [rng.uniform(0.01, 0.99, (rows, n_pairs)).astype(np.float32)], {}
    yield [np.array([[1e-7, 1 - 1e-7, 0.5]])], {}


# Kernels


def kernel(n: OnnxCall, x: Operand, vectors: Array) -> Operand:
    """Evaluate the kernel function for every row and every support vector.

    Errors: E-OP-ATTRIBUTE.
    """
    gamma, shift, degree = (*numbers(n, "kernel_params"), 0, 0, 0)[:3]
    kind = n.attr("kernel_type", "LINEAR")
    require(
        kind in ("LINEAR", "POLY", "RBF", "SIGMOID"),
        "E-OP-ATTRIBUTE",
        f"unknown kernel {kind!r:.40}",
    )
    if kind == "RBF":
        apart = sub(unsqueeze(x, axes=(1,)), vectors)
        square = reduce_sum(mul(apart, apart), axes=(2,), keepdims=False)
        return exp(mul(square, np.float32(-gamma)))
    products = matmul(x, np.ascontiguousarray(vectors.T))
    if kind == "LINEAR":
        return products
    scaled = add(mul(products, np.float32(gamma)), np.float32(shift))
    if kind == "SIGMOID":
        return tanh(scaled)
    if degree in (2, 3):
        square = mul(scaled, scaled)
        return square if degree == 2 else mul(square, scaled)
    return pow_(scaled, np.float32(degree))


def _vectors(n: OnnxCall, count: int) -> Array:
    vectors = numbers(n, "support_vectors")
    fits = count > 0 and vectors.size % count == 0 and vectors.size
    require(
        bool(fits),
        "E-OP-ATTRIBUTE",
        f"{vectors.size} numbers do not divide into {count} support vectors",
    )
    return vectors.reshape(count, -1)


@couple.onnx("ai.onnx.ml:SVMRegressor")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None or not has_rows(x):
        return None
    rows, count = rows_of(x, DType.f32), int(n.attr("n_supports", 0))
    coefficients, rho = numbers(n, "coefficients"), numbers(n, "rho")
    require(len(rho) > 0, "E-OP-ATTRIBUTE", "a support vector machine needs rho")
    near = kernel(n, rows, _vectors(n, count)) if count else rows
    made = affine(near, coefficients, rho[:1], 1)
    if not n.attr("one_class", 0):
        return made
    return where(greater(made, np.float32(0)), np.float32(1), np.float32(-1))


@couple.onnx("ai.onnx.ml:SVMClassifier")
def _(n: OnnxCall) -> tuple[Operand, Operand] | None:
    x = n.operand(0)
    if x is None or not has_rows(x):
        return None
    rows = rows_of(x, DType.f32)
    labels = Labels.of(n, "classlabels_ints", "classlabels_strings")
    require(
        len(labels.values) > 1,
        "E-OP-ATTRIBUTE",
        "a classifier needs two labels or more",
    )
    sizes = [int(s) for s in n.attr("vectors_per_class") or ()]
    if sum(sizes) > 0:
        return _by_pairs(n, rows, labels, sizes)
    return _linear(n, rows, labels)


def _linear(n: OnnxCall, rows: Operand, labels: Labels) -> tuple[Operand, Operand]:
    """Compute one score per class; a score above a threshold selects the second of two classes."""
    count, coefficients = len(labels.values), numbers(n, "coefficients")
    rho = numbers(n, "rho")
    require(len(rho) > 0, "E-OP-ATTRIBUTE", "a support vector machine needs rho")
    scores = affine(rows, coefficients, np.repeat(rho[:1], count), count)
    made = transformed(scores, count, n.attr("post_transform", "NONE"))
    if count > 2:
        return labels.best(scores), made
    top = reduce_max(scores, axes=(1,), keepdims=False)
    # At least 0.5 is expressed as greater than the preceding float.
    enough = np.nextafter(np.float32(0.5), np.float32(0)) if (coefficients >= 0).all() else 0
    place = class_of(scores, np.arange(2))
    second = where(greater(top, np.float32(enough)), np.asarray(1), place)
    return labels.at(second), made


def _by_pairs(
    n: OnnxCall, rows: Operand, labels: Labels, sizes: list[int]
) -> tuple[Operand, Operand]:
    """Compute one score per pair of classes; each pair votes for one of its two classes."""
    count, n_vectors = len(labels.values), sum(sizes)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    rho, coefficients = numbers(n, "rho"), numbers(n, "coefficients")
    require(
        len(sizes) == count
        and len(rho) >= len(pairs)
        and coefficients.size == (count - 1) * n_vectors,
        "E-OP-ATTRIBUTE",
        f"{coefficients.size} coefficients do not fit {n_vectors} vectors of {count} classes",
    )
    near = kernel(n, rows, _vectors(n, n_vectors))
    weights = _weights(coefficients.reshape(count - 1, n_vectors), sizes, pairs)
    scores = add(matmul(near, weights), rho[: len(pairs)])
    label = labels.best(_votes(scores, pairs, count))
    transform = n.attr("post_transform", "NONE")
    a, b = numbers(n, "prob_a"), numbers(n, "prob_b")
    if len(a):
        enough = len(a) >= len(pairs) <= len(b)
        require(enough, "E-OP-ATTRIBUTE", "prob_a and prob_b need one number per pair")
        likely = sigmoid(neg(add(mul(scores, a[: len(pairs)]), b[: len(pairs)])))
        edge = np.float32(1e-7)
        chances = couple(clip(likely, edge, np.float32(1) - edge))
        return label, transformed(chances, count, transform)
    if count > 2:
        return label, transformed(scores, len(pairs), transform)
    return label, with_opposite(scores, transform, complement=transform != "NONE")


def _weights(coefficients: Array, sizes: list[int], pairs: list[tuple[int, int]]) -> Array:
    """Return the weight of each vector in each pair; 0 if the pair lacks the vector's class."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    made = np.zeros((len(owner), len(pairs)), np.float32)
    for p, (i, j) in enumerate(pairs):
        made[owner == i, p] = coefficients[j - 1, owner == i]
        made[owner == j, p] = coefficients[i, owner == j]
    return made


def _votes(scores: Operand, pairs: list[tuple[int, int]], count: int) -> Operand:
    """Count the votes for each class: a pair votes for its first class if its score exceeds 0."""
    first, second = np.zeros((2, len(pairs), count), np.float32)
    for p, (i, j) in enumerate(pairs):
        first[p, i], second[p, j] = 1, 1
    wins = cast(greater(scores, np.float32(0)), to=DType.f32)
    return add(matmul(wins, first - second), second.sum(axis=0))
