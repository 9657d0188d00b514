"""Concatenation of tensors along an axis, and splitting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import CompileError, require
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Operand, Out, Tensor, op, standard
from compiler.ir.types import Dim, TensorType
from compiler.ops.type_rules.dims import copied, same_dtype, same_size
from compiler.ops.type_rules.requirements import normal_axis

PIECES_LIMIT = 1 << 16
"""The maximum number of outputs of a split."""


@op(traits=("copying",), kind="movement", shape_math=True)
def concat(*xs: Tensor, axis: int) -> TensorType:
    """Concatenate tensors along an axis.

    Shapes: the operands are equal on all other axes; the sizes on `axis` add up.
    Errors: E-OP-OPERANDS without operands, E-OP-DTYPE, E-OP-SHAPE, E-OP-AXIS.
    Source: ONNX Concat-13.
    """
    require(len(xs) > 0, "E-OP-OPERANDS", "concat needs at least one operand")
    dtype, rank = same_dtype(xs, "concat"), xs[0].rank
    at = normal_axis(axis, rank)
    shape: list[Dim] = list(xs[0].shape)
    for x in xs[1:]:
        message = f"concat along axis {at} cannot combine {xs[0].type} and {x.type}"
        require(x.rank == rank, "E-OP-SHAPE", message)
        for i, size in enumerate(x.shape):
            shape[i] = shape[i] + size if i == at else same_size(shape[i], size, message)
    return TensorType(dtype, tuple(shape))


@concat.reference
def _(*xs: Array, axis: int) -> Array:
    return np.concatenate(xs, axis)


@concat.cost
def _(*xs: TensorType, out: TensorType, axis: int) -> Cost:
    return copied(out)


@concat.lower
def _(k: Lowering, *tensors: Handle, axis: int) -> None:
    *xs, out = tensors
    at, begin = axis % out.rank, 0
    for x in xs:
        if 0 not in x.shape:
            index = k.axes(x.shape)
            target = [e + begin if i == at else e for i, e in enumerate(index)]
            k.assign(out[target], x[index])
        begin += x.shape[at]


@concat.onnx("Concat")
def _(call: OnnxCall) -> Call | None:
    operands = [o for o in call.operands if o is not None]
    axis = call.attr("axis", 1 if call.opset < 4 else None)
    return None if axis is None else concat(*operands, axis=axis)


concat.exports_as("Concat")


@concat.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3]", "f32[2,5]"], {"axis": 1}
    yield ["f32[2,3,4]", "f32[1,3,4]", "f32[3,3,4]"], {"axis": 0}
    yield ["f32[2,3]"], {"axis": -1}
    yield ["i64[2]", "i64[0]", "i64[3]"], {"axis": 0}


@op(traits=("copying", "single_source"), kind="movement", shape_math=True)
def split(x: Tensor, *, axis: int, sizes: tuple[int, ...]) -> tuple[TensorType, ...]:
    """Split a tensor along an axis into tensors of the given sizes.

    Errors: E-OP-SHAPE if the sizes do not add up to the size of the axis, E-OP-AXIS.
    Source: ONNX Split-18.
    """
    at = normal_axis(axis, x.rank)
    size = x.shape[at]
    fits = min(sizes, default=-1) >= 0 and (not isinstance(size, int) or sum(sizes) == size)
    require(fits, "E-OP-SHAPE", f"the sizes {list(sizes)} do not add up to axis {at} of {x.type}")
    return tuple(
        TensorType(x.dtype, tuple(n if i == at else d for i, d in enumerate(x.shape)))
        for n in sizes
    )


@split.reference
def _(x: Array, *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
    if sum(sizes) != x.shape[axis]:
        raise ValueError(f"the sizes {sizes} do not add up to axis {axis} of {x.shape}")
    return tuple(np.split(x, np.cumsum(sizes[:-1], dtype=np.int64), axis))


@split.cost
def _(x: TensorType, *, out: TensorType | tuple[TensorType, ...], **_attrs: Any) -> Cost:
    pieces = out if isinstance(out, tuple) else (out,)
    return sum((copied(t) for t in pieces), Cost())


@split.lower
def _(k: Lowering, x: Handle, *pieces: Handle, axis: int, sizes: tuple[int, ...]) -> None:
    at, begin = axis % x.rank, 0
    for piece, size in zip(pieces, sizes, strict=False):
        if 0 not in piece.shape:
            index = k.axes(piece.shape)
            k.assign(piece[index], x[[e + begin if i == at else e for i, e in enumerate(index)]])
        begin += size


@split.onnx("Split")
def _(call: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    x, axis = call.operand(0), call.attr("axis", 0)
    assert x is not None
    size = x.shape[normal_axis(axis, x.rank)]
    sizes = _sizes(call, size)
    made = split(x, axis=axis, sizes=sizes)
    return tuple(Out(made, i) for i in range(len(sizes)))


@split.export
def _(x: Tensor, *, axis: int, sizes: tuple[int, ...]) -> Operand:
    pieces = np.array(sizes, np.int64)
    return standard("Split", x, pieces, axis=axis, n_outputs=len(sizes))


def _sizes(call: OnnxCall, size: Dim) -> Sequence[int]:
    """Return the sizes of a Split's outputs: from an operand or an attribute, else equal sizes."""
    given = call.operand(1)
    if given is not None:
        return tuple(int(n) for n in given.known.reshape(-1))
    if call.attr("split"):
        return call.attr("split")
    n_pieces = call.attr("num_outputs", call.n_outputs)
    few = 0 < n_pieces <= PIECES_LIMIT
    message = f"a split returns 1 to {PIECES_LIMIT} tensors, not {n_pieces}"
    require(few, "E-OP-ATTRIBUTE", message)
    if not isinstance(size, int):
        message = f"a split into {n_pieces} equal parts needs an axis of known size"
        raise CompileError("E-SHAPE-OPEN", message)
    if call.opset < 18:
        require(
            size % n_pieces == 0,
            "E-OP-SHAPE",
            f"{size} does not divide into {n_pieces} equal parts",
        )
    # The last size is smaller if the axis does not divide evenly.
    part = -(-size // n_pieces)
    return [min(part, max(size - part * i, 0)) for i in range(n_pieces)]


@split.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,7]"], {"axis": 1, "sizes": (3, 4)}
    yield ["f32[5,2,3]"], {"axis": 0, "sizes": (1, 0, 4)}
    yield ["i32[4]"], {"axis": -1, "sizes": (4,)}
