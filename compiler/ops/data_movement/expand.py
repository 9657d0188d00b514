"""Repetition of elements along axes of size 1, or of the entire tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import Dim, TensorType
from compiler.ops.type_rules.dims import length, open_dims, parameter, sizes_of

LEAST_RUN, MOST_RUNS = 16, 8
"""For rows that are copied by unrolled stores: the minimum length of a row, and the maximum number
of copies."""


@op(traits=("copying", "single_source", "injective", "repeating"), kind="movement", shape_math=True)
def expand(x: Tensor, shape: Tensor) -> TensorType:
    """Repeat elements along axes of size 1, to the shape that broadcasting with `shape` gives.

    Shapes: numpy's broadcasting of the shape of x and `shape`; a 1 in `shape` retains the size of
    x.
    Errors: E-OP-SHAPE for incompatible shapes.
    Source: ONNX Expand-13.
    """
    parameter(shape, "the shape of an expand")
    if x.type.shape is None:
        return TensorType(x.dtype, None)
    if shape.value is None:
        n = length(shape)
        rank = max(n, x.rank) if isinstance(n, int) else None
        return TensorType(x.dtype, None if rank is None else open_dims(rank, x, shape))
    sizes = sizes_of(shape.value)
    rank = max(len(sizes), x.rank)
    old: list[Dim] = [1] * (rank - x.rank) + list(x.shape)
    new: list[Dim] = [1] * (rank - len(sizes)) + sizes
    message = f"{x.type} does not expand to {list(map(str, sizes))}"
    return TensorType(
        x.dtype, tuple(_broadcast(a, b, message) for a, b in zip(old, new, strict=True))
    )


def _broadcast(a: Dim, b: Dim, message: str) -> Dim:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    require(not (isinstance(a, int) and isinstance(b, int)), "E-OP-SHAPE", message)
    # One size is symbolic: unless it is 1 at run time, both sizes are equal.
    return a if isinstance(a, int) else b if isinstance(b, int) else affine.maximum(a, b)


@expand.reference
def _(x: Array, shape: Array) -> Array:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(n) for n in shape)))


@expand.cost
def _(x: TensorType, shape: TensorType, *, out: TensorType) -> Cost:
    return Cost(bytes_read=x.nbytes, bytes_written=out.nbytes)


@expand.lower
def _(k: Lowering, x: Handle, shape: Handle, out: Handle) -> None:
    index = k.axes(out.shape)
    k.assign(out[index], x.broadcast(index))


@expand.onnx("Expand")
def _(call: OnnxCall) -> Call:
    return expand(call.operand(0), call.operand(1))


expand.exports_as("Expand")


@expand.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,1]", np.array([2, 1, 4])], {}
    yield ["f32[3,1]", np.array([3, 5])], {}
    yield ["i64[]", np.array([2, 3])], {}
    yield ["f32[2,3]", np.array([1])], {}


@op(traits=("copying", "single_source", "repeating"), kind="movement", shape_math=True)
def tile(x: Tensor, repeats: Tensor) -> TensorType:
    """Repeat the entire tensor along each axis.

    Shapes: `repeats` has one number per axis.
    Errors: E-OP-SHAPE.
    Source: ONNX Tile-13.
    """
    parameter(repeats, "the repeats of a tile")
    n = length(repeats)
    require(
        not isinstance(n, int) or n == x.rank,
        "E-OP-SHAPE",
        f"{x.type} needs {x.rank} repeats, got {n}",
    )
    if repeats.value is None:
        return TensorType(x.dtype, open_dims(x.rank, x, repeats))
    times = sizes_of(repeats.value)
    negative = any(isinstance(t, int) and t < 0 for t in times)
    require(not negative, "E-OP-SHAPE", f"repeats cannot be negative: {list(map(str, times))}")
    return TensorType(x.dtype, tuple(d * t for d, t in zip(x.shape, times, strict=True)))


@tile.reference
def _(x: Array, repeats: Array) -> Array:
    return np.tile(x, tuple(int(r) for r in repeats))


@tile.cost
def _(x: TensorType, repeats: TensorType, *, out: TensorType) -> Cost:
    return Cost(bytes_read=min(x.nbytes, out.nbytes), bytes_written=out.nbytes)


@tile.lower
def _(k: Lowering, x: Handle, repeats: Handle, out: Handle) -> None:
    times = _runs(x, out)
    run = out.shape if times == 1 else (*out.shape[:-1], x.shape[-1])
    for i in range(times):
        index = k.axes(run)
        source = [
            e if n == m else 0 if n == 1 else affine.mod(e, n)
            for e, n, m in zip(index, x.shape, run, strict=True)
        ]
        begin = 0 if times == 1 else i * x.shape[-1]
        k.assign(out[[*index[:-1], *(e + begin for e in index[-1:])]], x[source])


def _runs(x: Handle, out: Handle) -> int:
    """Return the number of copies of a row to unroll; vector loops then have no remainder."""
    if not x.rank or not isinstance(x.shape[-1], int) or not isinstance(out.shape[-1], int):
        return 1
    size, whole = x.shape[-1], out.shape[-1]
    few = LEAST_RUN <= size < whole <= MOST_RUNS * size
    return whole // size if few else 1


@tile.onnx("Tile")
def _(call: OnnxCall) -> Call | None:
    if call.opset >= 6:
        return tile(call.operand(0), call.operand(1))
    x, times, axis = call.operand(0), call.operand(1), call.operand(2)
    if x is None or times is None or axis is None:
        return None
    repeats = np.ones(x.rank, np.int64)
    repeats[int(axis.known.reshape(()))] = int(times.known.reshape(()))
    return tile(x, repeats)


tile.exports_as("Tile")


@tile.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3]", np.array([2, 3])], {}
    yield ["f32[2,19]", np.array([2, 3])], {}
    yield ["f32[2,1,3]", np.array([1, 4, 1])], {}
    yield ["i64[3]", np.array([0])], {}
