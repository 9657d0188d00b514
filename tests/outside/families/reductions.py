"""Reductions over axes that are negative, unordered, omitted or empty."""

from __future__ import annotations

import numpy as np

from tests.outside.defined import product_is_held, sum_is_held
from tests.outside.draft import Draft, Dropped, within
from tests.outside.families.elementwise import inside
from tests.outside.family import family
from tests.outside.values import FLOATS, INTEGERS, NUMBERS, numpy_type

EMPTY_IS_DEFINED = ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd")
"""Reductions with a neutral element; others are undefined or infinite over no elements."""


@family("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", weight=2)
def _(d: Draft, op: str) -> None:
    reduction(d, op)


@family("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp")
def _(d: Draft, op: str) -> None:
    reduction(d, op)


def reduction(d: Draft, op: str) -> None:
    """Axes are an attribute before opset 18 (13 for sums), and an operand since then."""
    labels = (*FLOATS, *INTEGERS) if op not in ("ReduceMax", "ReduceMin") else (*NUMBERS, "bool")
    x = d.tensor(labels)
    if op == "ReduceProd":
        x = inside(d, x, 0 if d.label(x).startswith("u") else -2, 2)
    if op == "ReduceLogSum":
        if d.label(x) in FLOATS:
            x = inside(d, d.one("Abs", [x]), 0.25, 8)
        else:
            x = inside(d, x, 1, 99)  # the sum must not overflow
    if op == "ReduceLogSumExp" and d.label(x) in INTEGERS:
        # ONNX Runtime truncates each exponential, the standard the result: for distant terms, both
        # agree.
        x = inside(d, x, 0, 5)
        x = d.one("Mul", [x, d.constant(np.asarray(16, numpy_type(d.label(x))))])
    if not sum_is_held(op, d.values[x]):
        raise Dropped
    if op == "ReduceMean" and d.label(x) in INTEGERS and not within(d.values[x], -(2**48), 2**48):
        raise Dropped  # ONNX Runtime sums and divides in f64
    axes = d.axes(len(d.shape(x)))
    if 0 in d.shape(x) or d.outer:  # ONNX Runtime misinterprets negative axes of empty tensors
        axes = [a % len(d.shape(x)) for a in axes]
    over = [d.shape(x)[a] for a in axes] or list(d.shape(x))
    if 0 in over and op not in EMPTY_IS_DEFINED:
        raise Dropped
    if op == "ReduceProd" and not product_is_held(d.values[x], axes):
        raise Dropped
    keep = d.chance.choice((None, 0, 0, 1))
    d.one(
        op, [x, *_axes(d, axes)], keepdims=keep, noop_with_empty_axes=d.chance.choice((None, 0, 1))
    )


def _axes(d: Draft, axes: list[int]) -> list[str]:
    if not axes and d.maybe():
        return []
    return [d.numbers(np.asarray(axes, np.int64).tolist())]


@family("ArgMax", "ArgMin")
def _(d: Draft, op: str) -> None:
    x = d.tensor((*FLOATS, *INTEGERS), (1, 5), lambda v: v.size > 0)
    last = d.chance.choice((None, 0, 1))
    axis = d.axis(len(d.shape(x)))
    d.one(op, [x], axis=axis, keepdims=d.chance.choice((None, 0, 1)), select_last_index=last)


@family("CumSum", "CumProd")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "f64", "i32", "i64", "f16"), (1, 5))
    if op == "CumProd":
        x = inside(d, x, -1.5, 1.5) if d.label(x) in FLOATS else inside(d, x, -2, 2)
    along = d.axis(len(d.shape(x)))
    if op == "CumProd" and not product_is_held(d.values[x], [along]):
        raise Dropped
    axis = d.numbers(along, d.chance.choice(("i32", "i64")))
    bits = (None, 0, 1)
    d.one(op, [x, axis], exclusive=d.chance.choice(bits), reverse=d.chance.choice(bits))


@family("Softmax", "LogSoftmax", weight=1.5)
def _(d: Draft, op: str) -> None:
    x = d.tensor(FLOATS, (1, 5))
    d.one(op, [x], axis=d.axis(len(d.shape(x))))


@family("Hardmax")
def _(d: Draft, op: str) -> None:
    x = d.tensor(FLOATS, (1, 5))
    d.one(op, [x], axis=d.axis(len(d.shape(x))))
