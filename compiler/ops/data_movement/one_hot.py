"""One-hot tensors and identity matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.data_movement.positions import from_front
from compiler.ops.type_rules.dims import open_dim, single
from compiler.ops.type_rules.requirements import (
    normal_axis,
    require_elements,
    require_rank,
    require_size,
    traffic,
)


@op(kind="movement")
def one_hot(indices: Tensor, depth: Tensor, values: Tensor, *, axis: int = -1) -> TensorType:
    """One-hot encoding: values[1] at each index along a new axis, values[0] elsewhere.

    Shapes: the result has a new axis of size `depth` at position `axis`. Negative indices count
    from `depth`; indices outside [-depth, depth) select nothing.
    Errors: E-OP-DTYPE, E-OP-AXIS, E-OP-SHAPE for a negative depth or a number of values other than
    two.
    Source: ONNX OneHot-11.
    """
    require_elements("one_hot", "number", indices)
    require_elements("one_hot", "number", depth)
    at = normal_axis(axis, indices.rank + 1)
    require_rank("one_hot", values, [1], "values")
    require_size("one_hot", "values", values.shape[0], 2)
    size: Dim = open_dim(at, depth)
    if depth.value is not None and depth.value.dtype == np.object_ and depth.value.size == 1:
        (size,) = depth.value.reshape(-1)
    else:
        number = single(depth, "a depth")
        require(
            number is None or number >= 0, "E-OP-SHAPE", f"a depth cannot be negative: {number}"
        )
        size = size if number is None else number
    return TensorType(values.dtype, (*indices.shape[:at], size, *indices.shape[at:]))


@one_hot.reference
def _(indices: Array, depth: Array, values: Array, *, axis: int) -> Array:
    n = int(depth.reshape(-1)[0])
    at = axis % (indices.ndim + 1)
    places = indices.astype(np.int64)
    places = np.expand_dims(np.where(places < 0, places + n, places), at)
    row = np.arange(n).reshape(-1, *(1,) * (indices.ndim - at))
    return np.where(places == row, values[1], values[0])


@one_hot.cost
def _(
    indices: TensorType, depth: TensorType, values: TensorType, *, out: TensorType, axis: int
) -> Cost:
    return traffic([indices, values], out, out.n_elements)


@one_hot.lower
def _(
    k: Lowering, indices: Handle, depth: Handle, values: Handle, out: Handle, *, axis: int
) -> None:
    at = axis % out.rank
    index = k.axes(out.shape)
    number = indices[[*index[:at], *index[at + 1 :]]]
    place = from_front(k, number, out.shape[at])
    k.assign(out[index], k.where(k.eq(place, k.index(index[at])), values[1], values[0]))


@one_hot.onnx("OneHot")
def _(call: OnnxCall) -> Call:
    operands = (call.operand(i) for i in range(3))
    return one_hot(*operands, axis=call.attr("axis", -1))


@one_hot.export
def _(indices: Tensor, depth: Tensor, values: Tensor, *, axis: int) -> Operand:
    """Export to OneHot, which accepts no scalar: a scalar index becomes a list of one element."""
    if indices.rank:
        return standard("OneHot", indices, depth, values, axis=axis)
    listed = standard("Reshape", indices, np.array([1]))
    return standard("Squeeze", standard("OneHot", listed, depth, values), np.array([0]))


@one_hot.samples
def _() -> Iterator[tuple[Any, ...]]:
    off_on = np.array([2.5, -1.0], np.float32)
    yield [np.array([1, -1, 0, 7, -7]), np.array(4), off_on], {}
    yield [np.array([[1, 9, 2, 4], [-10, 8, 0, 9]]), np.array([10]), off_on], {"axis": 1}
    yield ["i64[2,3]", np.array(5), "i32[2]"], {"axis": 0}
    yield ["f32[2,3]", np.array(3, np.float32), "f32[2]"], {"axis": -2}
    yield [np.array(2, np.uint8), np.array(3), np.array([False, True])], {}
    yield ["i32[2]", np.array(0), "f32[2]"], {}


@op(kind="movement")
def eye_like(x: Tensor, *, diagonal: int = 0, dtype: DType | None = None) -> TensorType:
    """A matrix of the shape of x with ones on a diagonal and zeros elsewhere.

    Shapes: x [R, C]; an element is 1 if its column minus its row is `diagonal`.
    Errors: E-OP-SHAPE, E-OP-DTYPE.
    Source: ONNX EyeLike-22.
    """
    require_rank("eye_like", x, [2])
    made = TensorType(dtype or x.dtype, x.shape)
    known = made.dtype.is_float or made.dtype.is_integer or made.dtype is DType.bool
    require(known, "E-OP-DTYPE", f"eye_like cannot return {made.dtype}")
    return made


@eye_like.reference
def _(x: Array, *, diagonal: int, dtype: DType | None) -> Array:
    kind = dtype.numpy if dtype is not None else x.dtype
    return np.eye(*x.shape, k=diagonal, dtype=np.bool_).astype(kind)


@eye_like.cost
def _(x: TensorType, *, out: TensorType, **_: Any) -> Cost:
    return traffic([], out, out.n_elements)


@eye_like.lower
def _(k: Lowering, x: Handle, out: Handle, *, diagonal: int, dtype: DType | None) -> None:
    i, j = k.axes(out.shape)
    is_one = k.eq(k.index(j), k.index(i + diagonal))
    k.assign(out[i, j], k.convert(is_one, out.dtype))


@eye_like.onnx("EyeLike")
def _(call: OnnxCall) -> Call:
    given = call.attr("dtype")
    dtype = None if given is None else DType.from_onnx(int(given))
    return eye_like(call.operand(0), diagonal=call.attr("k", 0), dtype=dtype)


@eye_like.export
def _(x: Tensor, *, diagonal: int, dtype: DType | None) -> Operand:
    return standard("EyeLike", x, k=diagonal, dtype=dtype)


@eye_like.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,5]"], {}
    yield ["i32[5,3]"], {"diagonal": -1, "dtype": DType.f32}
    yield ["f64[4,4]"], {"diagonal": 2, "dtype": DType.bool}
    yield ["f32[0,3]"], {"diagonal": 1, "dtype": DType.u8}
