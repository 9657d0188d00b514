"""Results of data-dependent size: code fills a result of maximum size and counts its elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.operator import (
    OPERATORS,
    Array,
    Call,
    Cost,
    OnnxCall,
    Operand,
    Standard,
    Tensor,
    op,
    standard,
)
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.data_movement.gather import gather
from compiler.ops.data_movement.shape import shape
from compiler.ops.data_movement.slice import slice_
from compiler.ops.type_rules.dims import copied, known_value, open_dim
from compiler.ops.type_rules.requirements import is_one_of, normal_axis, require_rank, traffic


@op(kind="movement")
def leading(x: Tensor, count: Tensor, *, axis: int = 0) -> TensorType:
    """The first `count` elements along an axis: the used part of a result of maximum size.

    Shapes: `count` is a scalar; unless `count` is constant, the size of the axis in the result is
    open.
    Errors: E-OP-DTYPE, E-OP-AXIS, E-OP-SHAPE for a count above the size of the axis.
    Source: NonZero-13, Unique-11, NonMaxSuppression-11 of ONNX, whose results have data-dependent
    sizes.
    """
    require(count.dtype is DType.i64, "E-OP-DTYPE", f"a count must be an i64, got {count.type}")
    require_rank("leading", count, [0], "count")
    at = normal_axis(axis, x.rank)
    size: Dim = open_dim(at, count)
    if count.value is not None and count.value.dtype != np.object_:
        size = int(count.value)
        room = x.shape[at]
        fits = 0 <= size and (not isinstance(room, int) or size <= room)
        message = f"leading cannot take {size} elements of {x.type} along axis {at}"
        require(fits, "E-OP-SHAPE", message)
    return TensorType(x.dtype, (*x.shape[:at], size, *x.shape[at + 1 :]))


@leading.reference
def _(x: Array, count: Array, *, axis: int) -> Array:
    return np.moveaxis(np.moveaxis(x, axis, 0)[: int(count)], 0, axis)


@leading.cost
def _(x: TensorType, count: TensorType, *, out: TensorType, axis: int) -> Cost:
    return copied(out, count)


@leading.lower
def _(k: Lowering, x: Handle, count: Handle, out: Handle, *, axis: int) -> None:
    known_value(count, "the number of selected elements")
    index = k.axes(out.shape)
    k.assign(out[index], x[index])


@leading.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[5,3]", np.array(2)], {}
    yield ["i64[2,4,3]", np.array(4)], {"axis": 1}
    yield ["f32[2,3]", np.array(0)], {"axis": -1}


@op(kind="opaque")
def nonzero_places(x: Tensor) -> tuple[TensorType, TensorType]:
    """The indices of nonzero elements, in row-major order, and their number.

    Shapes: the first result has one row of indices per axis; its rows have the maximum size and are
    padded with zeros. The second result is the number of nonzero elements, one i64.
    Errors: E-OP-DTYPE for elements without a zero, such as strings.
    Source: ONNX NonZero-13.
    """
    require(_can_be_zero(x), "E-OP-DTYPE", f"nonzero_places takes numbers or bool, got {x.type}")
    room = affine.product(x.shape)
    return TensorType(DType.i64, (x.rank, room)), TensorType(DType.i64, ())


def _can_be_zero(x: Tensor) -> bool:
    return x.dtype is DType.bool or is_one_of(x.dtype, "number")


@nonzero_places.reference
def _(x: Array) -> tuple[Array, Array]:
    # A scalar has one element but no axis to index.
    found = np.array(np.nonzero(np.atleast_1d(x))) if x.ndim else np.zeros((0, int(x != 0)))
    places = np.zeros((x.ndim, x.size), np.int64)
    places[:, : found.shape[1]] = found
    return places, np.array(found.shape[1], np.int64)


@nonzero_places.cost
def _(x: TensorType, *, out: tuple[TensorType, ...]) -> Cost:
    return traffic([x], out, x.n_elements)


@nonzero_places.lower
def _(k: Lowering, x: Handle, places: Handle, count: Handle) -> None:
    index = k.axes(places.shape)
    k.assign(places[index], k.number(0, DType.i64))
    n = count[()]
    with k.routine() as r:
        r.store(n, 0)
        with r.loops(x.shape) as index, r.when(k.convert(x[index], DType.bool)):
            for d, i in enumerate(index):
                r.store(places.at(d, n), k.index(i))
            r.store(n, n + 1)


@nonzero_places.onnx("NonZero")
def _(call: OnnxCall) -> Operand | None:
    x = call.operand(0)
    if x is None or x.type.shape is None or not x.shape or not _can_be_zero(x):
        return None
    found = nonzero_places(x)
    return leading(found.out(0), found.out(1), axis=1)


@nonzero_places.export
def _(x: Tensor) -> tuple[Operand, ...]:
    """Export as NonZero; its indices are padded with zeros to the maximum size."""
    found = standard("NonZero", x if x.rank else standard("Reshape", x, np.array([1])))
    places: Operand = found if x.rank else standard("Slice", found, np.array([1]), np.array([1]))
    count = standard("Shape", found, start=1, end=2)
    room = standard("Reshape", standard("Size", x), np.array([1]))
    return filled_up(places, count, room, 2, 1), standard("Squeeze", count)


def filled_up(x: Operand, count: Operand, room: Operand, rank: int, axis: int) -> Standard:
    """Pad an axis of an ONNX operand with zeros up to the size `room`."""
    none = np.zeros(rank + axis, np.int64)
    after = np.zeros(rank - axis - 1, np.int64)
    pads = standard("Concat", none, standard("Sub", room, count), after, axis=0)
    return standard("Pad", x, pads)


@leading.onnx("Compress")
def _(call: OnnxCall) -> Call | None:
    """Import Compress: gather the rows with a true condition into a result of maximum size."""
    x, condition, axis = call.operand(0), call.operand(1), call.attr("axis")
    if x is None or condition is None or x.type.shape is None or condition.type.shape is None:
        return None
    to_shape = OPERATORS["reshape"]
    flat = to_shape(x, np.array([-1])) if axis is None else x
    found = nonzero_places(_cut_to(flat, axis or 0, condition))
    rows = to_shape(found.out(0), np.array([-1]))
    return leading(gather(flat, rows, axis=axis or 0), found.out(1), axis=axis or 0)


def _cut_to(x: Tensor | Call, axis: int, condition: Tensor) -> Operand:
    """Crop a condition to the size of an axis, because runtimes ignore further elements.

    Open sizes of one name may differ, so equal names do not prove equal sizes.
    """
    at = normal_axis(axis, len(x.type.shape or ()))
    n, size = condition.shape[0], x.type.shape[at] if x.type.shape else 0
    if isinstance(n, int) and isinstance(size, int) and n <= size:
        return condition
    return slice_(condition, np.array([0]), shape(x, start=at, end=at + 1), np.array([0]))


@leading.export
def _(x: Tensor, count: Tensor, *, axis: int) -> Operand:
    end = standard("Reshape", count, np.array([1]))
    return standard("Slice", x, np.array([0]), end, np.array([axis]))


@nonzero_places.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield [np.array([[0, 3, 0], [1, 0, -2]], np.float32)], {}
    yield ["bool[2,3,4]"], {}
    yield [np.array([0, 0, 7, 0, 1], np.uint8)], {}
    yield ["i64[0,3]"], {}
