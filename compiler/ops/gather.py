"""Reading rows of a tensor by number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import CompileError, require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.dims import copied, known_value
from compiler.ops.requirements import normal_axis

STAGES_LIMIT = 16
"""Known indices without a common step are lowered to at most this many copies."""


@op(kind="movement", shape_math=True)
def gather(x: Tensor, indices: Tensor, *, axis: int = 0) -> TensorType:
    """Take the rows (slices along an axis) of x with the given numbers.

    Code is generated for numbers that are known when compiling; those that are computed by the
    program itself are data, which index maps cannot express, and go through the reference.
    Shapes: the shape of `indices` takes the place of `axis`; negative numbers count from the end.
    Errors: E-OP-DTYPE, E-OP-AXIS.
    Source: ONNX Gather-13.
    """
    at = normal_axis(axis, x.rank)
    require(
        indices.dtype.label in ("i32", "i64"),
        "E-OP-DTYPE",
        f"the indices of a gather must be i32 or i64, got {indices.type}",
    )
    return TensorType(x.dtype, (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))


@gather.reference
def _(x: Array, indices: Array, *, axis: int) -> Array:
    return np.asarray(np.take(x, indices, axis))


@gather.cost
def _(x: TensorType, indices: TensorType, *, out: TensorType, axis: int) -> Cost:
    return copied(out, indices)


@gather.lower
def _(k: Lowering, x: Handle, indices: Handle, out: Handle, *, axis: int) -> None:
    rows = np.asarray(known_value(indices, "which rows a gather takes"))
    at = axis % x.rank
    size = x.shape[at]
    if rows.size and not (-size <= rows.min() and rows.max() < size):
        raise CompileError("E-SHAPE-OPEN", f"a row lies outside the axis of size {size}")
    flat = (rows.reshape(-1) % size if size else rows.reshape(-1)).tolist()
    steps = {b - a for a, b in pairwise(flat)}
    if len(steps) <= 1 and rows.ndim <= 1:
        index = k.axes(out.shape)
        place: Expr = flat[0] if flat else 0
        if rows.ndim:
            place = place + index[at] * min(steps, default=0)
        k.assign(out[index], x[[*index[:at], place, *index[at + rows.ndim :]]])
        return
    if len(flat) > STAGES_LIMIT:
        raise CompileError("E-SHAPE-OPEN", f"{len(flat)} rows without a common step")
    before, after = x.shape[:at], x.shape[at + 1 :]
    for position, row in zip(np.ndindex(*rows.shape), flat, strict=True):
        index = k.axes([*before, *after])
        head, tail = index[:at], index[at:]
        k.assign(out[[*head, *position, *tail]], x[[*head, row, *tail]])


@gather.onnx("Gather")
def _(call: OnnxCall) -> Call:
    return gather(call.operand(0), call.operand(1), axis=call.attr("axis", 0))


@gather.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[5,3]", np.array([4, 2, 0])], {}
    yield ["f32[2,5,3]", np.array(-2)], {"axis": 1}
    yield ["f32[4,3]", np.array([[0, 3], [1, -1]])], {}
    yield ["i64[6]", np.array([5, 0, 2], np.int32)], {"axis": -1}
    yield ["f32[4,3]", np.array([], np.int64)], {"axis": 1}
