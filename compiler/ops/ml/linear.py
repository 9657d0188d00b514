"""ONNX's linear models, scalers, normalisers and imputers, as compositions of operators."""

from __future__ import annotations

import numpy as np

from compiler.errors import require
from compiler.ir.operator import Array, OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.data_movement.reshape import squeeze
from compiler.ops.elementwise.arithmetic import abs_, add, div, mul, sqrt, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import equal, greater, isnan, where
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.ml.scores import (
    Labels,
    has_rows,
    like,
    numbers,
    rows_of,
    transformed,
    with_opposite,
)
from compiler.ops.reductions.reduce import reduce_max, reduce_sum


def affine(x: Operand, coefficients: Array, intercepts: Array, n_targets: int) -> Operand:
    """Return x times the coefficients of each target, plus the target's intercept if present.

    Errors: E-OP-ATTRIBUTE if the coefficients cannot be divided equally among targets.
    """
    fits = n_targets >= 1 and coefficients.size and coefficients.size % n_targets == 0
    require(
        bool(fits),
        "E-OP-ATTRIBUTE",
        f"{coefficients.size} coefficients do not divide into {n_targets} targets",
    )
    weights = np.ascontiguousarray(coefficients.reshape(n_targets, -1).T)
    made = matmul(x, weights)
    return add(made, intercepts) if len(intercepts) == n_targets else made


@matmul.onnx("ai.onnx.ml:LinearRegressor")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None or not has_rows(x):
        return None
    n_targets = int(n.attr("targets", 1))
    made = affine(
        rows_of(x, DType.f32),
        numbers(n, "coefficients"),
        numbers(n, "intercepts"),
        n_targets,
    )
    return transformed(made, n_targets, n.attr("post_transform", "NONE"))


@matmul.onnx("ai.onnx.ml:LinearClassifier")
def _(n: OnnxCall) -> tuple[Operand, Operand] | None:
    """Import LinearClassifier; a single row of coefficients may score the second of two classes."""
    x = n.operand(0)
    if x is None or not has_rows(x):
        return None
    labels = Labels.of(n, "classlabels_ints", "classlabels_strings")
    intercepts, transform = numbers(n, "intercepts"), n.attr("post_transform", "NONE")
    count = len(intercepts) or len(labels.values)
    scores = affine(rows_of(x, DType.f32), numbers(n, "coefficients"), intercepts, count)
    if count > 1:
        require(len(labels.values) >= count, "E-OP-ATTRIBUTE", "a class has no label")
        labels = Labels(labels.values[:count])
        return labels.best(scores), transformed(scores, count, transform)
    above = greater(squeeze(scores, axes=(1,)), like(scores, 0))
    if len(labels.values) != 2:
        numbered = Labels(("0", "1") if labels.are_words else (0, 1))
        return numbered.second_where(above), transformed(scores, 1, transform)
    return labels.second_where(above), with_opposite(scores, transform, complement=True)


# Features


def per_feature(name: str, values: Array, x: Tensor) -> Array:
    """Return one number for all features, or one number per feature. Errors: E-OP-ATTRIBUTE."""
    size = x.shape[-1] if x.rank else 1
    fits = len(values) == 1 or not isinstance(size, int) or len(values) == size
    require(
        fits and len(values) > 0,
        "E-OP-ATTRIBUTE",
        f"{name} needs 1 number, or 1 per feature of {x.type}, got {len(values)}",
    )
    return values


@mul.onnx("ai.onnx.ml:Scaler")
def _(n: OnnxCall) -> Operand | None:
    """Import Scaler: (x - offset) * scale, computed in f64 if x is f64."""
    x = n.operand(0)
    if x is None or x.type.shape is None:
        return None
    dtype = DType.f64 if x.dtype is DType.f64 else DType.f32
    made: Operand = x if x.dtype is dtype else cast(x, to=dtype)
    for name, apply in (("offset", sub), ("scale", mul)):
        values = numbers(n, name, np.float32)
        if len(values):
            made = apply(made, per_feature(name, values, x).astype(dtype.numpy))
    return made if dtype is DType.f32 else cast(made, to=DType.f32)


@div.onnx("ai.onnx.ml:Normalizer")
def _(n: OnnxCall) -> Operand | None:
    """Import Normalizer: divide each row by its max, L1 or L2 norm, unless the norm is 0."""
    x = n.operand(0)
    norm = n.attr("norm", "MAX")
    if x is None or not has_rows(x):
        return None
    require(norm in ("MAX", "L1", "L2"), "E-OP-ATTRIBUTE", f"unknown norm {norm!r:.40}")
    rows = rows_of(x, DType.f32)
    if norm == "MAX":
        size: Operand = reduce_max(rows, axes=(1,))
    elif norm == "L1":
        size = reduce_sum(abs_(rows), axes=(1,))
    else:
        size = sqrt(reduce_sum(mul(rows, rows), axes=(1,)))
    made = where(equal(size, like(size, 0)), rows, div(rows, size))
    return squeeze(made, axes=(0,)) if x.rank == 1 else made


@where.onnx("ai.onnx.ml:Imputer")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None or x.type.shape is None:
        return None
    if x.dtype.is_float:
        values, gone = (
            numbers(n, "imputed_value_floats", x.dtype.numpy.type),
            n.attr("replaced_value_float", 0.0),
        )
    else:
        values, gone = (
            numbers(n, "imputed_value_int64s", x.dtype.numpy.type),
            n.attr("replaced_value_int64", 0),
        )
    absent = isnan(x) if gone != gone else equal(x, np.asarray(gone, x.dtype.numpy))
    return where(absent, per_feature("imputed_value", values, x), x)


@greater.onnx("ai.onnx.ml:Binarizer")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None:
        return None
    threshold = np.float32(n.attr("threshold", 0.0))
    compared: Operand = x if x.dtype.is_float else cast(x, to=DType.f32)
    return cast(greater(compared, like(compared, float(threshold))), to=x.dtype)
