"""Reversal and storing of rows along an axis, with a length or a start per batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.positions import require_positions
from compiler.ops.type_rules.dims import copied, same_dtype
from compiler.ops.type_rules.requirements import normal_axis, require_rank, require_size

MODES = ("linear", "circular")


@op(kind="movement")
def reverse_sequence(
    x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0
) -> TensorType:
    """Reverse the first `lengths[b]` elements of the sequence of each batch b.

    Shapes: x has a batch axis and a time axis; `lengths` is a list with one number per batch.
    Errors: E-OP-AXIS, E-OP-DTYPE, E-OP-SHAPE.
    Source: ONNX ReverseSequence-10.
    """
    require_positions("reverse_sequence", lengths, "the lengths")
    batch, time = (normal_axis(a, x.rank) for a in (batch_axis, time_axis))
    require(batch != time, "E-OP-AXIS", f"axis {batch} cannot be both batch and time")
    require_rank("reverse_sequence", lengths, [1], "lengths")
    require_size("reverse_sequence", "lengths", lengths.shape[0], x.shape[batch])
    return x.type


@reverse_sequence.reference
def _(x: Array, lengths: Array, *, batch_axis: int, time_axis: int) -> Array:
    batch, time = batch_axis % x.ndim, time_axis % x.ndim
    turned = np.moveaxis(x, (batch, time), (0, 1)).copy()
    for row, n in zip(turned, lengths.tolist(), strict=True):
        row[:n] = row[:n][::-1].copy()
    return np.moveaxis(turned, (0, 1), (batch, time))


@reverse_sequence.cost
def _(x: TensorType, lengths: TensorType, *, out: TensorType, **_: Any) -> Cost:
    return copied(out, lengths)


@reverse_sequence.lower
def _(
    k: Lowering, x: Handle, lengths: Handle, out: Handle, *, batch_axis: int, time_axis: int
) -> None:
    batch, time = batch_axis % x.rank, time_axis % x.rank
    index = k.axes(out.shape)
    t, n = k.index(index[time]), k.convert(lengths[index[batch]], DType.i64)
    place: list[Any] = list(index)
    place[time] = k.where(k.lt(t, n), n - 1 - t, t)
    k.assign(out[index], x.at(*place))


@reverse_sequence.onnx("ReverseSequence")
def _(call: OnnxCall) -> Call:
    batch, time = call.attr("batch_axis", 1), call.attr("time_axis", 0)
    return reverse_sequence(call.operand(0), call.operand(1), batch_axis=batch, time_axis=time)


reverse_sequence.exports_as("ReverseSequence")


@reverse_sequence.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[5,3]", np.array([5, 1, 3])], {}
    yield ["f32[3,5]", np.array([0, 2, 4])], {"batch_axis": 0, "time_axis": 1}
    yield ["i16[4,2,19]", np.array([3, 4])], {}
    yield ["f32[2,3,0]", np.array([0, 1, 2])], {}


@op(kind="movement")
def tensor_scatter(
    cache: Tensor,
    update: Tensor,
    starts: Tensor | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> TensorType:
    """Copy a cache, and store the new rows of each batch from that batch's start on.

    In mode `circular`, rows beyond the end wrap around; in mode `linear`, generated code drops such
    rows. The default start of every batch is 0.
    Shapes: cache [B, ..., S, ...] with S at `axis`, the update with at most S rows, starts [B].
    Errors: E-OP-AXIS, E-OP-DTYPE, E-OP-SHAPE, E-OP-ATTRIBUTE for an unknown mode.
    Source: ONNX TensorScatter-24.
    """
    require(
        mode in MODES, "E-OP-ATTRIBUTE", f"mode must be one of {', '.join(MODES)}, got {mode!r}"
    )
    same_dtype([cache, update], "tensor_scatter")
    at = normal_axis(axis, cache.rank)
    require(at > 0, "E-OP-AXIS", "the rows of tensor_scatter cannot be along the batch axis")
    require_rank("tensor_scatter", update, [cache.rank], "the update")
    for d, (n, needed) in enumerate(zip(update.shape, cache.shape, strict=True)):
        if d != at:
            require_size("tensor_scatter", f"axis {d} of the update", n, needed)
        elif isinstance(n, int) and isinstance(needed, int):
            message = f"{n} new rows exceed the {needed} rows of the cache"
            require(n <= needed, "E-OP-SHAPE", message)
    if starts is not None:
        require_positions("tensor_scatter", starts, "the starts")
        require_rank("tensor_scatter", starts, [1], "starts")
        require_size("tensor_scatter", "starts", starts.shape[0], cache.shape[0])
    return cache.type


@tensor_scatter.reference
def _(cache: Array, update: Array, starts: Array | None = None, *, axis: int, mode: str) -> Array:
    at = axis % cache.ndim
    made = np.array(cache)
    for b in range(len(cache)):
        rows = np.arange(update.shape[at]) + (0 if starts is None else starts[b])
        rows = rows % cache.shape[at] if mode == "circular" else rows
        np.moveaxis(made[b], at - 1, 0)[rows] = np.moveaxis(update[b], at - 1, 0)
    return made


@tensor_scatter.cost
def _(
    cache: TensorType,
    update: TensorType,
    starts: TensorType | None = None,
    *,
    out: TensorType,
    **_: Any,
) -> Cost:
    return copied(out, update, starts)


@tensor_scatter.lower
def _(
    k: Lowering,
    cache: Handle,
    update: Handle,
    starts: Handle | None,
    out: Handle,
    *,
    axis: int,
    mode: str,
) -> None:
    at = axis % cache.rank
    index = k.axes(out.shape)
    row: Scalar = k.index(index[at])
    if starts is not None:
        row = row - k.convert(starts[index[0]], DType.i64)
    if mode == "circular":
        row = k.mod(row, k.index(cache.shape[at]))
    is_new = k.apply("and", k.ge(row, 0), k.lt(row, k.index(update.shape[at])))
    new = update.at(*index[:at], row, *index[at + 1 :])
    k.assign(out[index], k.where(is_new, new, cache[index]))


@tensor_scatter.onnx("TensorScatter")
def _(call: OnnxCall) -> Call:
    operands = (call.operand(i) for i in range(3))
    axis, mode = call.attr("axis", -2), call.attr("mode", "linear")
    return tensor_scatter(*operands, axis=axis, mode=mode)


tensor_scatter.exports_as("TensorScatter")


@tensor_scatter.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,5,3]", "f32[2,2,3]", np.array([3, 0])], {}
    yield ["f32[3,2,4,5]", "f32[3,2,3,5]", np.array([3, 0, 2])], {"mode": "circular"}
    yield ["f16[2,5,19]", "f16[2,1,19]", None], {}
    yield ["f32[2,3,5]", "f32[2,3,2]", np.array([1, 2])], {"axis": 2}
