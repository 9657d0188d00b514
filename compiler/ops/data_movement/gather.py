"""Gathers of rows and elements by index."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import OPERATORS, Array, Call, Cost, OnnxCall, Operand, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.data_movement.positions import along, from_front, require_positions
from compiler.ops.type_rules.dims import copied, same_size
from compiler.ops.type_rules.requirements import normal_axis, require_rank

STAGES_LIMIT = 16
"""The maximum number of copies for a gather whose known indices have no constant step."""


@op(traits=("copying", "single_source", "dropping", "repeating"), kind="movement", shape_math=True)
def gather(x: Tensor, indices: Tensor, *, axis: int = 0) -> TensorType:
    """Gather the rows (slices along an axis) of x at given indices.

    Rows at indices known at compile time become plain copies; other indices are read at run time.
    Shapes: in the shape of x, the shape of `indices` replaces `axis`. Negative indices count from
    the end; generated code clamps out-of-bounds indices to the axis.
    Errors: E-OP-DTYPE, E-OP-AXIS.
    Source: ONNX Gather-13.
    """
    at = normal_axis(axis, x.rank)
    require_positions("gather", indices)
    return TensorType(x.dtype, (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))


@gather.reference
def _(x: Array, indices: Array, *, axis: int) -> Array:
    return np.asarray(np.take(x, indices, axis))


@gather.cost
def _(x: TensorType, indices: TensorType, *, out: TensorType, axis: int) -> Cost:
    return copied(out, indices)


@gather.lower
def _(k: Lowering, x: Handle, indices: Handle, out: Handle, *, axis: int) -> None:
    at = axis % x.rank
    rows = None if indices.value is None else _plain_rows(indices.value, x.shape[at])
    if rows is not None:
        _copy_known(k, x, rows, out, at)
        return
    index = k.axes(out.shape)
    head, inner, tail = index[:at], index[at : at + indices.rank], index[at + indices.rank :]
    row = from_front(k, indices[inner], x.shape[at])
    k.assign(out[index], x.at(*head, row, *tail))


def _plain_rows(rows: Array, size: Expr) -> Array | None:
    """Normalise known row indices that form a range or are few; return None for other indices."""
    if not isinstance(size, int):
        return rows if rows.size == 1 and rows.dtype != np.object_ else None
    if rows.dtype == np.object_ or (rows.size and not -size <= rows.min() <= rows.max() < size):
        return None
    rows = np.asarray(rows % size if size else rows)
    is_range = rows.ndim <= 1 and len(_steps(rows)) <= 1
    return rows if is_range or rows.size <= STAGES_LIMIT else None


def _inside(row: int, size: Expr) -> Expr:
    """Return the index of a known row, clamped to the axis if the size of the axis is open."""
    if isinstance(size, int):
        return row
    place = row if row >= 0 else size + row
    return affine.maximum(affine.minimum(place, size - 1), 0)


def _steps(rows: Array) -> set[int]:
    return {b - a for a, b in pairwise(rows.reshape(-1).tolist())}


def _copy_known(k: Lowering, x: Handle, rows: Array, out: Handle, at: int) -> None:
    """Copy rows at known indices: one map for indices with a constant step, else one per row."""
    flat = rows.reshape(-1).tolist()
    if rows.ndim <= 1 and len(_steps(rows)) <= 1:
        index = k.axes(out.shape)
        place = _inside(flat[0] if flat else 0, x.shape[at])
        if rows.ndim:
            place = place + index[at] * min(_steps(rows), default=0)
        k.assign(out[index], x[[*index[:at], place, *index[at + rows.ndim :]]])
        return
    before, after = x.shape[:at], x.shape[at + 1 :]
    for position, row in zip(np.ndindex(*rows.shape), flat, strict=True):
        index = k.axes([*before, *after])
        head, tail = index[:at], index[at:]
        k.assign(out[[*head, *position, *tail]], x[[*head, _inside(row, x.shape[at]), *tail]])


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
    yield ["f32[9,3]", "i64[2,5]"], {}
    yield ["f32[2,11,1]", "i32[]"], {"axis": 1}
    yield ["u8[2,9]", "i32[37]"], {"axis": -1}
    yield ["f32[7,3]", np.arange(0, 40).reshape(2, 20) ** 2 % 13 - 6], {}


@op(traits=("copying", "single_source", "dropping", "repeating"), kind="movement")
def gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> TensorType:
    """Gather single elements along an axis: for axis 0, out[i, j] is x[indices[i, j], j].

    Shapes: the result has the shape of `indices`. `indices` has the rank of x; only on `axis`, it
    may be longer than x. Negative indices count from the end; generated code clamps out-of-bounds
    indices.
    Errors: E-OP-DTYPE, E-OP-AXIS, E-OP-SHAPE.
    Source: ONNX GatherElements-13.
    """
    require_positions("gather_elements", indices)
    at = normal_axis(axis, x.rank)
    require_rank("gather_elements", indices, [x.rank], "indices")
    for d, (n, most) in enumerate(zip(indices.shape, x.shape, strict=True)):
        inside = d == at or not (isinstance(n, int) and isinstance(most, int)) or n <= most
        require(inside, "E-OP-SHAPE", f"axis {d} of {indices.type} is longer than in {x.type}")
    return TensorType(x.dtype, indices.shape)


@gather_elements.reference
def _(x: Array, indices: Array, *, axis: int) -> Array:
    return np.asarray(x[along(indices, axis)])


@gather_elements.cost
def _(x: TensorType, indices: TensorType, *, out: TensorType, axis: int) -> Cost:
    return copied(out, indices)


@gather_elements.lower
def _(k: Lowering, x: Handle, indices: Handle, out: Handle, *, axis: int) -> None:
    at = axis % x.rank
    index = k.axes(out.shape)
    place = from_front(k, indices[index], x.shape[at])
    k.assign(out[index], x.at(*index[:at], place, *index[at + 1 :]))


@gather_elements.onnx("GatherElements")
def _(call: OnnxCall) -> Call:
    return gather_elements(call.operand(0), call.operand(1), axis=call.attr("axis", 0))


gather_elements.exports_as("GatherElements")


@gather_elements.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,2]", np.array([[2, 0], [-1, 1]])], {}
    yield ["f32[2,5]", np.array([[4, 0, -5], [1, 1, 2]], np.int32)], {"axis": 1}
    yield ["i64[2,9,4]", "i64[1,3,4]"], {"axis": -2}
    yield ["f16[9]", "i64[21]"], {}
    yield ["f32[3,2]", "i64[0,2]"], {}


@op(traits=("copying", "single_source", "dropping", "repeating"), kind="movement")
def gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> TensorType:
    """Gather slices of x; each row along the last axis of `indices` is a multi-axis index.

    Shapes: x [b, a1..ad, rest], indices [b, n, d], the result [b, n, rest]. The batch axes b are
    the first `batch_dims` axes of x and `indices`. Negative indices count from the end. Generated
    code clamps out-of-bounds indices.
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX GatherND-13.
    """
    require_positions("gather_nd", indices)
    fits = 0 <= batch_dims < min(x.rank, indices.rank)
    message = f"batch_dims {batch_dims} must be below the ranks of {x.type} and {indices.type}"
    require(fits, "E-OP-ATTRIBUTE", message)
    length = indices.shape[-1]
    if not isinstance(length, int):
        return TensorType(x.dtype, None)
    fits = 1 <= length <= x.rank - batch_dims
    message = f"an index into {x.type} needs 1 to {x.rank - batch_dims} numbers, got {length}"
    require(fits, "E-OP-SHAPE", message)
    message = f"the batches of {x.type} and {indices.type} differ"
    batch = (
        same_size(a, b, message)
        for a, b in zip(x.shape[:batch_dims], indices.shape[:batch_dims], strict=True)
    )
    rest = x.shape[batch_dims + length :]
    return TensorType(x.dtype, (*batch, *indices.shape[batch_dims:-1], *rest))


@gather_nd.reference
def _(x: Array, indices: Array, *, batch_dims: int) -> Array:
    n_middle = indices.ndim - 1 - batch_dims
    batch = [
        a.reshape(*a.shape, *(1,) * n_middle)
        for a in np.indices(indices.shape[:batch_dims], sparse=True)
    ]
    return np.asarray(x[(*batch, *np.moveaxis(indices, -1, 0))])


@gather_nd.cost
def _(x: TensorType, indices: TensorType, *, out: TensorType, batch_dims: int) -> Cost:
    return copied(out, indices)


@gather_nd.lower
def _(k: Lowering, x: Handle, indices: Handle, out: Handle, *, batch_dims: int) -> None:
    index = k.axes(out.shape)
    lead, rest = index[: indices.rank - 1], index[indices.rank - 1 :]
    place = [
        from_front(k, indices[*lead, j], x.shape[batch_dims + j]) for j in range(indices.shape[-1])
    ]
    k.assign(out[index], x.at(*lead[:batch_dims], *place, *rest))


@gather_nd.onnx("GatherND")
def _(call: OnnxCall) -> Call:
    return gather_nd(call.operand(0), call.operand(1), batch_dims=call.attr("batch_dims", 0))


gather_nd.exports_as("GatherND")


@gather_nd.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,2]", np.array([[0, 1], [-1, 0], [2, -2]])], {}
    yield ["f32[4,2,5]", np.array([[3], [-2]])], {}
    yield ["f32[2,3,5]", np.array([[[2, 4], [0, -1]], [[1, 1], [-3, 0]]])], {"batch_dims": 1}
    yield ["i32[2,3,9,2]", "i64[2,3,1]"], {"batch_dims": 2}
    yield ["f32[9,10]", "i64[0,2]"], {}


@gather.onnx("ai.onnx.ml:ArrayFeatureExtractor")
def _(call: OnnxCall) -> Operand | None:
    """Import ArrayFeatureExtractor as a gather of columns; x of rank 1 counts as one row."""
    x, columns = call.operand(0), call.operand(1)
    if x is None or columns is None or x.type.shape is None or columns.type.shape is None:
        return None
    to_shape = OPERATORS["reshape"]
    if x.rank == 1:
        x = to_shape(x, np.array([1, -1]))
    return gather(x, to_shape(columns, np.array([-1])), axis=-1)


gather.exports_as("Gather")
