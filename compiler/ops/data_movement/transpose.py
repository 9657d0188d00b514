"""Permutation of axes, and rearrangement of channels and space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import Dim, TensorType
from compiler.ops.type_rules.dims import copied


@op(traits=("copying", "single_source", "injective"), kind="movement", shape_math=True)
def transpose(x: Tensor, *, perm: tuple[int, ...]) -> TensorType:
    """Permute the axes: axis i of the result is axis perm[i] of x.

    Errors: E-OP-AXIS if `perm` is not a permutation of the axes.
    Source: ONNX Transpose-1.
    """
    require(
        sorted(perm) == list(range(x.rank)),
        "E-OP-AXIS",
        f"perm {list(perm)} is not a permutation of the axes of {x.type}",
    )
    return TensorType(x.dtype, tuple(x.shape[a] for a in perm))


@transpose.reference
def _(x: Array, *, perm: tuple[int, ...]) -> Array:
    return np.transpose(x, perm)


@transpose.cost
def _(x: TensorType, *, out: TensorType, perm: tuple[int, ...]) -> Cost:
    return copied(out)


@transpose.lower
def _(k: Lowering, x: Handle, out: Handle, *, perm: tuple[int, ...]) -> None:
    index = k.axes(out.shape)
    k.assign(out[index], x[[index[perm.index(a)] for a in range(len(perm))]])


@transpose.onnx("Transpose")
def _(call: OnnxCall) -> Call:
    x = call.operand(0)
    assert x is not None
    return transpose(x, perm=call.attr("perm") or tuple(reversed(range(x.rank))))


transpose.exports_as("Transpose")


@transpose.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {"perm": (2, 0, 1)}
    yield ["f32[7,4]"], {"perm": (1, 0)}
    yield ["i64[2,1,3,4]"], {"perm": (0, 2, 3, 1)}
    yield ["f32[0,3]"], {"perm": (1, 0)}


@op(traits=("copying", "single_source", "injective"), kind="movement")
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> TensorType:
    """Rearrange blocks of channels to space: blocksize² channels become a square of pixels.

    Shapes: [N, C*b*b, H, W] to [N, C, H*b, W*b]. The outer part of the old channel index is the
    position in the square (mode DCR) or the new channel (mode CRD).
    Errors: E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX DepthToSpace-13.
    """
    n, c, h, w = _image(x, blocksize)
    require(mode in ("DCR", "CRD"), "E-OP-ATTRIBUTE", f"mode must be DCR or CRD, got {mode!r}")
    area = blocksize * blocksize
    require(
        not isinstance(c, int) or c % area == 0,
        "E-OP-SHAPE",
        f"{c} channels do not divide into groups of {area}",
    )
    return TensorType(x.dtype, (n, affine.floordiv(c, area), h * blocksize, w * blocksize))


@op(traits=("copying", "single_source", "injective"), kind="movement")
def space_to_depth(x: Tensor, *, blocksize: int) -> TensorType:
    """Rearrange squares of pixels to channels: the inverse of depth_to_space.

    Shapes: [N, C, H, W] to [N, b*b*C, H/b, W/b].
    Errors: E-OP-SHAPE.
    Source: ONNX SpaceToDepth-13.
    """
    n, c, h, w = _image(x, blocksize)
    for size in (h, w):
        whole = not isinstance(size, int) or size % blocksize == 0
        require(whole, "E-OP-SHAPE", f"{size} pixels do not divide into blocks of {blocksize}")
    small = (affine.floordiv(h, blocksize), affine.floordiv(w, blocksize))
    return TensorType(x.dtype, (n, c * (blocksize * blocksize), *small))


def _image(x: Tensor, blocksize: int) -> tuple[Dim, ...]:
    require(x.rank == 4, "E-OP-SHAPE", f"the operand must be [N, C, H, W], got {x.type}")
    require(blocksize > 0, "E-OP-ATTRIBUTE", f"blocksize must be positive, got {blocksize}")
    return x.shape


@depth_to_space.reference
def _(x: Array, *, blocksize: int, mode: str) -> Array:
    n, c, h, w = x.shape
    b, rest = blocksize, c // blocksize**2
    if mode == "DCR":
        parts = x.reshape(n, b, b, rest, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, rest, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, rest, h * b, w * b)


@space_to_depth.reference
def _(x: Array, *, blocksize: int) -> Array:
    n, c, h, w = x.shape
    b = blocksize
    parts = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * b * b, h // b, w // b)


@depth_to_space.cost
def _(x: TensorType, *, out: TensorType, blocksize: int, mode: str) -> Cost:
    return copied(out)


@space_to_depth.cost
def _(x: TensorType, *, out: TensorType, blocksize: int) -> Cost:
    return copied(out)


@depth_to_space.lower
def _(k: Lowering, x: Handle, out: Handle, *, blocksize: int, mode: str) -> None:
    n, c, h, w = k.axes(out.shape, "nchw")
    row, column = affine.mod(h, blocksize), affine.mod(w, blocksize)
    place: Expr = row * blocksize + column
    channel = c * blocksize**2 + place if mode == "CRD" else place * out.shape[1] + c
    pixel = affine.floordiv(h, blocksize), affine.floordiv(w, blocksize)
    k.assign(out[n, c, h, w], x[n, channel, *pixel])


@space_to_depth.lower
def _(k: Lowering, x: Handle, out: Handle, *, blocksize: int) -> None:
    n, c, h, w = k.axes(out.shape, "nchw")
    place = affine.floordiv(c, x.shape[1])
    pixel = (
        h * blocksize + affine.floordiv(place, blocksize),
        w * blocksize + affine.mod(place, blocksize),
    )
    k.assign(out[n, c, h, w], x[n, affine.mod(c, x.shape[1]), *pixel])


@depth_to_space.onnx("DepthToSpace")
def _(call: OnnxCall) -> Call:
    return depth_to_space(
        call.operand(0), blocksize=call.attr("blocksize"), mode=call.attr("mode", "DCR")
    )


depth_to_space.exports_as("DepthToSpace")


@space_to_depth.onnx("SpaceToDepth")
def _(call: OnnxCall) -> Call | None:
    if call.attr("mode", "DCR") != "DCR":
        return None
    return space_to_depth(call.operand(0), blocksize=call.attr("blocksize"))


space_to_depth.exports_as("SpaceToDepth")


@depth_to_space.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[1,12,2,3]"], {"blocksize": 2}
    yield ["f32[2,18,3,2]"], {"blocksize": 3, "mode": "CRD"}
    yield ["f32[1,5,2,3]"], {"blocksize": 1}


@space_to_depth.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[1,3,4,6]"], {"blocksize": 2}
    yield ["i32[2,2,3,9]"], {"blocksize": 3}
