"""Shape queries, and tensors that depend only on a shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Affine
from compiler.ir.constant import Constant
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.type_rules.dims import (
    length,
    open_dim,
    open_dims,
    parameter,
    same_dtype,
    settle,
    sizes_of,
)


@op(kind="opaque", shape_math=True)
def shape(x: Tensor, *, start: int = 0, end: int | None = None) -> TensorType:
    """The sizes of a tensor's axes as a list, from axis `start` up to `end`.

    Shapes: a list of i64; `start` and `end` are clamped to the rank.
    Source: ONNX Shape-15.
    """
    return TensorType(DType.i64, (len(x.shape[start:end]),))


@shape.reference
def _(x: Array, *, start: int, end: int | None) -> Array:
    return np.array(x.shape[start:end], np.int64)


@shape.onnx("Shape")
def _(call: OnnxCall) -> Call:
    return shape(call.operand(0), start=call.attr("start", 0), end=call.attr("end"))


shape.exports_as("Shape")


@op(kind="opaque")
def size(x: Tensor) -> TensorType:
    """The number of elements of a tensor.

    Shapes: any; the result is one i64.
    Source: ONNX Size-13.
    """
    return TensorType(DType.i64, ())


@size.reference
def _(x: Array) -> Array:
    return np.array(x.size, np.int64)


@size.onnx("Size")
def _(call: OnnxCall) -> Call:
    return size(call.operand(0))


size.exports_as("Size")


def _numbers_only(x: TensorType, *, out: TensorType, **_attrs: Any) -> Cost:
    return Cost(bytes_written=out.nbytes)


@shape.lower
def _(k: Lowering, x: Handle, out: Handle, *, start: int, end: int | None) -> None:
    for i, n in enumerate(x.shape[start:end]):
        k.assign(out[i], k.count([n], DType.i64))


@size.lower
def _(k: Lowering, x: Handle, out: Handle) -> None:
    k.assign(out[()], k.count(x.shape, DType.i64))


shape.cost(_numbers_only)
size.cost(_numbers_only)


@shape.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {}
    yield ["f32[2,3,5]"], {"start": 1}
    yield ["f32[2,3,5]"], {"start": -2, "end": -1}
    yield ["f32[]"], {}


@size.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {}
    yield ["i64[]"], {}
    yield ["f32[0,3]"], {}


@op(kind="movement", shape_math=True)
def fill(shape: Tensor, *, value: float | int | bool = 0.0, dtype: DType = DType.f32) -> TensorType:
    """A tensor of the given shape whose elements all equal `value`.

    Shapes: `shape` is a list of sizes.
    Errors: E-OP-SHAPE for a negative size.
    Source: ONNX ConstantOfShape-9.
    """
    parameter(shape, "the shape of a fill")
    if shape.value is None:
        n = length(shape)
        return TensorType(dtype, None if n is None else open_dims(n, shape))
    sizes = sizes_of(shape.value)
    negative = any(isinstance(n, int) and n < 0 for n in sizes)
    require(not negative, "E-OP-SHAPE", f"a size cannot be negative: {list(map(str, sizes))}")
    return TensorType(dtype, tuple(sizes))


@fill.reference
def _(shape: Array, *, value: float | int | bool, dtype: DType) -> Array:
    # A broadcast of one number takes no memory at any size.
    return np.broadcast_to(np.array(value).astype(dtype.numpy), tuple(int(n) for n in shape))


@fill.cost
def _(shape: TensorType, *, out: TensorType, **_attrs: Any) -> Cost:
    return Cost(bytes_written=out.nbytes)


@fill.lower
def _(k: Lowering, shape: Handle, out: Handle, *, value: float | int | bool, dtype: DType) -> None:
    k.assign(out[k.axes(out.shape)], k.number(value, dtype))


@fill.onnx("ConstantOfShape")
def _(call: OnnxCall) -> Call | None:
    value = call.attr("value")
    if value is None:
        return fill(call.operand(0))
    if not isinstance(value, Constant) or value.type.n_elements != 1:
        return None
    number = value.array().reshape(-1)[0]
    if value.type.dtype in (DType.string, DType.c64, DType.c128) or number != number:
        # The text of such numbers does not parse back to an equal attribute.
        return None
    plain = float(number) if value.type.dtype.is_float else number.item()
    return fill(call.operand(0), value=plain, dtype=value.type.dtype)


@fill.export
def _(shape: Tensor, *, value: float | int | bool, dtype: DType) -> Operand:
    return standard("ConstantOfShape", shape, value=np.array([value]).astype(dtype.numpy))


@fill.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield [np.array([2, 3])], {}
    yield [np.array([3])], {"value": 7, "dtype": DType.i64}
    yield [np.array([], np.int64)], {"value": True, "dtype": DType.bool}
    yield [np.array([2, 0])], {"value": -0.5}


@op(kind="movement", shape_math=True, name="range")
def range_(start: Tensor, limit: Tensor, delta: Tensor) -> TensorType:
    """Numbers from start in steps of delta, up to but not including limit.

    Shapes: three scalars of one type (or lists of one element); the result is a list.
    Errors: E-OP-SHAPE, E-OP-DTYPE, E-OP-ATTRIBUTE for a delta of 0.
    Source: ONNX Range-11.
    """
    operands = (start, limit, delta)
    dtype = same_dtype(operands, "range")
    for t in operands:
        require(_may_be_single(t), "E-OP-SHAPE", f"range needs single numbers, got {t.type}")
    values = [None if t.value is None else t.value.reshape(-1)[0] for t in operands]
    if values[2] is not None:
        require(values[2] != 0, "E-OP-ATTRIBUTE", "the delta of a range cannot be 0")
    return TensorType(dtype, (_n_steps(operands, values, dtype),))


def _may_be_single(t: Tensor) -> bool:
    if t.type.shape is None or not t.shape:
        return True
    return t.rank == 1 and (t.shape[0] == 1 or isinstance(t.shape[0], Affine))


def _n_steps(operands: tuple[Tensor, ...], values: list[Any], dtype: DType) -> Dim:
    first, last, step = values
    if any(v is None for v in values) or isinstance(step, Affine):
        return open_dim(0, *operands)
    if not (isinstance(first, Affine) or isinstance(last, Affine)):
        return _count(first, last, step)
    span = last - first if step > 0 else first - last
    step = abs(int(step))
    return settle(affine.floordiv(affine.maximum(settle(span), 0) + (step - 1), step))


def _count(first: Any, last: Any, step: Any) -> int:
    """Return the length of a range: exact for integers, computed as in numpy for floats."""
    if isinstance(first, np.integer | int):
        return len(range(int(first), int(last), int(step)))
    steps = np.ceil((float(last) - float(first)) / float(step))
    return max(int(steps), 0) if np.isfinite(steps) else 0


@range_.reference
def _(start: Array, limit: Array, delta: Array) -> Array:
    sizes = [np.size(v) for v in (start, limit, delta)]
    require(sizes == [1, 1, 1], "E-RUN-OPERATOR", f"range needs single numbers, got {sizes}")
    first, last, step = (np.asarray(v).reshape(-1)[0] for v in (start, limit, delta))
    if isinstance(first, Affine) or isinstance(last, Affine) or isinstance(step, Affine):
        raise ValueError("the numbers of a range over symbolic sizes are unknown")
    count = np.arange(_count(first, last, step))
    dtype = np.asarray(start).dtype
    return (first + count.astype(dtype) * step).astype(dtype)


@range_.cost
def _(*operands: TensorType, out: TensorType) -> Cost:
    return Cost(2 * out.n_elements, sum(t.nbytes for t in operands), out.nbytes)


@range_.lower
def _(k: Lowering, start: Handle, limit: Handle, delta: Handle, out: Handle) -> None:
    (i,) = k.axes(out.shape)
    first, step = (h[(0,) * h.rank] for h in (start, delta))
    k.assign(out[i], first + k.convert(k.index(i), out.dtype) * step)


@range_.onnx("Range")
def _(call: OnnxCall) -> Call:
    return range_(*call.operands)


range_.exports_as("Range")


@range_.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield [np.array(2), np.array(11), np.array(3)], {}
    yield [np.array(5, np.int32), np.array(-2, np.int32), np.array(-2, np.int32)], {}
    yield [np.array(v, np.float32) for v in (0.5, 2.25, 0.25)], {}
    yield [np.array(3), np.array(3), np.array(1)], {}
