"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.ir.affine import Expr
from compiler.ir.operator import (
    OPERATORS,
    Array,
    Call,
    Cost,
    OnnxCall,
    Operand,
    Tensor,
    op,
)
from compiler.ir.types import TensorType
from compiler.ops.type_rules.requirements import (
    normal_axis,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)


def _along(name: str, x: Tensor, axis: int) -> TensorType:
    require_elements(name, "float", x)
    if x.type.shape is not None:
        normal_axis(axis, x.rank)
    return x.type.logical


@op(traits=("staged",), value_range=(0.0, 1.0), kind="reduction", exact=False, inplace=(0,))
def softmax(x: Tensor, *, axis: int = -1) -> TensorType:
    """Convert scores to probabilities along one axis: exp(x - max) / sum(exp(x - max)).

    Short floats are rounded after every step, as in ONNX's function body.
    Shapes: any float tensor of rank 1 or more; the result has the type of x.
    Errors: E-OP-AXIS if the axis is outside [-rank, rank).
    Source: subtracting the largest score keeps exp finite; ONNX Softmax-13.
    """
    return _along("softmax", x, axis)


@softmax.reference
def _(x: Array, *, axis: int) -> Array:
    with np.errstate(all="ignore"):
        scores = rounded(widened(x) - widened(x.max(axis=axis, keepdims=True, initial=-np.inf)), x)
        e = widened(rounded(np.exp(widened(scores)), x))
        total = widened(rounded(e.sum(axis=axis, keepdims=True), x))
        return rounded(e / total, x)


@softmax.cost
def _(x: TensorType, *, out: TensorType, axis: int) -> Cost:
    return traffic([x], out, 5 * x.n_elements)


@softmax.lower
def _(k: Lowering, x: Handle, out: Handle, *, axis: int) -> None:
    axis = normal_axis(axis, x.rank)
    row = _Row(k, x, axis)
    dtype, short = wide(x.dtype), x.dtype
    total = k.temporary(row.shape, short, "total")
    e = k.temporary(x.shape, short, "e")
    top = row.largest()
    index, at = row.points()
    score = k.convert(row.element(at) - top[index], short)
    k.assign(e[at], k.convert(k.decay(k.convert(score, dtype)), short))
    index, at, inner = row.reduced()
    k.assign(total[index], k.convert(k.sum(k.convert(e[at], dtype), over=inner), short))
    index, at = row.points()
    value, whole = k.convert(e[at], dtype), k.convert(total[index], dtype)
    # One division per row instead of per element, except in the body of short floats.
    value = value / whole if short is not dtype else value * (1.0 / whole)
    k.assign(out[at], k.convert(value, short))


class _Row:
    """The indices of a tensor with one reduced axis; every stage creates new indices."""

    def __init__(self, k: Lowering, x: Handle, axis: int) -> None:
        self.k, self.x, self.axis = k, x, axis
        self.shape = [n for d, n in enumerate(x.shape) if d != axis]

    def points(self) -> tuple[list[Expr], list[Expr]]:
        """Create the indices of a row and of its elements, for a stage with a value per element."""
        at = self.k.axes(self.x.shape)
        return [*at[: self.axis], *at[self.axis + 1 :]], at

    def reduced(self) -> tuple[list[Expr], list[Expr], Expr]:
        """Create the indices of a row, the indices of its elements, and their reduction axis."""
        index = self.k.axes(self.shape)
        inner = self.k.axis(self.x.shape[self.axis], "r")
        return index, [*index[: self.axis], inner, *index[self.axis :]], inner

    def element(self, at: list[Expr]) -> Scalar:
        """Read an element of x in the type of arithmetic."""
        return self.k.convert(self.x[at], wide(self.x.dtype))

    def largest(self) -> Handle:
        """Emit the maximum of each row, which ignores NaN; the exponentials propagate NaN later."""
        top = self.k.temporary(self.shape, wide(self.x.dtype), "top")
        index, at, inner = self.reduced()
        self.k.assign(top[index], self.k.reduce("larger", self.element(at), over=inner))
        return top


@op(traits=("staged",), kind="reduction", exact=False, inplace=(0,))
def log_softmax(x: Tensor, *, axis: int = -1) -> TensorType:
    """The logarithm of softmax: x - max - log(sum(exp(x - max))).

    Shapes: as for softmax.
    Errors: E-OP-AXIS if the axis is outside [-rank, rank).
    """
    return _along("log_softmax", x, axis)


@log_softmax.reference
def _(x: Array, *, axis: int) -> Array:
    scores = widened(x)
    with np.errstate(all="ignore"):
        scores = scores - scores.max(axis=axis, keepdims=True, initial=-np.inf)
        return rounded(scores - np.log(np.exp(scores).sum(axis=axis, keepdims=True)), x)


@log_softmax.cost
def _(x: TensorType, *, out: TensorType, axis: int) -> Cost:
    return traffic([x], out, 5 * x.n_elements)


@log_softmax.lower
def _(k: Lowering, x: Handle, out: Handle, *, axis: int) -> None:
    axis = normal_axis(axis, x.rank)
    row = _Row(k, x, axis)
    total = k.temporary(row.shape, wide(x.dtype), "total")
    top = row.largest()
    index, at, inner = row.reduced()
    k.assign(total[index], k.log(k.sum(k.decay(row.element(at) - top[index]), over=inner)))
    index, at = row.points()
    k.assign(out[at], k.convert(row.element(at) - top[index] - total[index], out.dtype))


def _samples() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3]"], {}
    yield ["f32[2,3,5]"], {"axis": 0}
    yield ["f32[2,3,5]"], {"axis": 1}
    yield ["f32[2,3,5]"], {"axis": -1}
    yield ["f32[4,1]"], {"axis": -1}
    yield ["f32[0,3]"], {}
    yield ["f16[2,3]"], {}
    yield [np.array([[1e4, -1e4, 9999.0], [-np.inf, 0.0, 1.0]], np.float32)], {}
    yield [np.array([[np.nan, 0.0], [1.0, 2.0]], np.float32)], {}


softmax.samples(_samples)
log_softmax.samples(_samples)


def along_axis(n: OnnxCall, operator: Callable[..., Call]) -> Operand | None:
    """Import Softmax, which before opset 13 treats all axes from `axis` on as one axis."""
    x = n.operand(0)
    assert x is not None
    if x.type.shape is None:
        return None
    if n.opset >= 13:
        return operator(x, axis=normal_axis(int(n.attr("axis", -1)), x.rank))
    axis = int(n.attr("axis", 1))
    axis = axis if axis == x.rank else normal_axis(axis, x.rank)
    tail = [d for d in range(axis, x.rank) if x.shape[d] != 1]
    if len(tail) == 1:
        return operator(x, axis=tail[0])
    if not tail and x.rank > 0:
        return operator(x, axis=x.rank - 1)
    if not x.type.is_static:
        return None
    return _as_rows(x, axis, operator)


def _as_rows(x: Tensor, axis: int, operator: Callable[..., Call]) -> Call:
    reshape = OPERATORS["reshape"]
    shape = x.type.static_shape
    rows = np.array([np.prod(shape[:axis], dtype=np.int64), np.prod(shape[axis:], dtype=np.int64)])
    flat = operator(reshape(x, rows), axis=1)
    return reshape(flat, np.array(shape, np.int64))


@softmax.onnx("Softmax")
def _(n: OnnxCall) -> Operand | None:
    return along_axis(n, softmax)


softmax.exports_as("Softmax")


@log_softmax.onnx("LogSoftmax")
def _(n: OnnxCall) -> Operand | None:
    return along_axis(n, log_softmax)


log_softmax.exports_as("LogSoftmax")
