"""Products of quantized matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.ops.quantization.requantize import product_scale, requantize
from compiler.ops.type_rules.requirements import broadcast_dims, n_elements, require_size, traffic

BYTES = (DType.u8, DType.i8)


@op(traits=("quantized",), kind="contraction")
def matmul_integer(
    a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> TensorType:
    """Multiply matrices of bytes minus zero points; the sums are i32 and wrap on overflow.

    Shapes: as for matmul. A zero point is a scalar, or has one element per row of a ([M]) or per
    column of b ([N]). With batches, the zero point of a may have one element per row of each matrix
    ([..., M, 1]). The zero point of b may have one element per column of each matrix ([..., 1, N]).
    Errors: E-OP-DTYPE for types other than u8 and i8, E-OP-SHAPE.
    Source: ONNX MatMulInteger-10.
    """
    for x, zero, what in ((a, a_zero, "a"), (b, b_zero, "b")):
        require(x.dtype in BYTES, "E-OP-DTYPE", f"matmul_integer requires u8 or i8, got {x.dtype}")
        fits = zero is None or zero.dtype is x.dtype
        require(fits, "E-OP-DTYPE", f"the zero points of {what} must be {x.dtype}")
    if a.type.shape is None or b.type.shape is None:
        return TensorType(DType.i32, None)
    for x in (a, b):
        require(x.rank > 0, "E-OP-SHAPE", f"matmul_integer requires rank 1 or more, got {x.type}")
    require_size("matmul_integer", "the first axis of b", b.shape[-2:][0], a.shape[-1])
    _check_zeros("rows", a_zero, a.shape[-2:-1], a.rank)
    _check_zeros("columns", b_zero, b.shape[-1:] if b.rank > 1 else (), b.rank)
    batch = broadcast_dims("matmul_integer", a.shape[:-2], b.shape[:-2])
    columns = b.shape[-1:] if b.rank > 1 else ()
    return TensorType(DType.i32, (*batch, *a.shape[-2:-1], *columns))


def _check_zeros(what: str, zero: Tensor | None, lines: Sequence[Dim], rank: int) -> None:
    if zero is None or zero.type.shape is None or zero.rank == 0 or zero.shape == (1,):
        return
    fits = bool(lines) and (zero.rank == 1 or zero.rank == rank)
    require(fits, "E-OP-SHAPE", f"expected one zero point for each of the {what}, got {zero.type}")
    at = 0 if zero.rank == 1 else -2 if what == "rows" else -1
    require_size("matmul_integer", f"zero points of {what}", zero.shape[at], lines[0])


@matmul_integer.reference
def _(a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None) -> Array:
    left, right = a.astype(np.int32), b.astype(np.int32)
    if a_zero is not None:
        per_row = a_zero.ndim == 1 and a_zero.size > 1
        left = left - (a_zero[:, None] if per_row else a_zero).astype(np.int32)
    if b_zero is not None:
        right = right - b_zero.astype(np.int32)
    return np.asarray(np.matmul(left, right))


@matmul_integer.cost
def _(a: TensorType, b: TensorType, *zeros: TensorType | None, out: TensorType) -> Cost:
    return traffic([a, b, *zeros], out, 2 * a.static_shape[-1] * n_elements(out))


@matmul_integer.lower
def _(
    k: Lowering,
    a: Handle,
    b: Handle,
    a_zero: Handle | None,
    b_zero: Handle | None,
    out: Handle,
) -> None:
    batch = [k.axis(n, "b") for n in out.shape[: out.rank - (a.rank > 1) - (b.rank > 1)]]
    rows = [k.axis(n, "m") for n in a.shape[-2:-1]]
    columns = [k.axis(n, "n") for n in b.shape[-1:] if b.rank > 1]
    inner = k.axis(a.shape[-1], "k")
    left = k.convert(a[_place(a, batch, [*rows, inner])], DType.i32)
    right = k.convert(b[_place(b, batch, [inner, *columns])], DType.i32)
    if a_zero is not None:
        left = left - _zero(k, a_zero, batch, [*rows, 0], rows)
    if b_zero is not None:
        right = right - _zero(k, b_zero, batch, [0, *columns], columns)
    k.assign(out[*batch, *rows, *columns], k.sum(left * right, over=inner))


def _place(t: Handle, batch: list[Expr], matrix: list[Expr]) -> list[Expr]:
    """Return the index of a matrix element; the batch axes are broadcast."""
    sizes = t.shape[: t.rank - len(matrix)]
    own = batch[len(batch) - len(sizes) :]
    return [*(t.repeated(i, n) for i, n in zip(own, sizes, strict=True)), *matrix]


def _zero(
    k: Lowering, zero: Handle, batch: list[Expr], matrix: list[Expr], line: list[Expr]
) -> Scalar:
    """Return the zero point of the row or column of an element."""
    if all(n == 1 for n in zero.shape):
        index: list[Expr] = [0] * zero.rank
    else:
        index = line if zero.rank == 1 else _place(zero, batch, matrix)
    return k.convert(zero[index], DType.i32)


@matmul_integer.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["u8[3,4]", "i8[4,5]", np.array(130, np.uint8), np.array(-3, np.int8)], {}
    yield ["u8[3,4]", "u8[4,5]"], {}
    yield ["i8[3,4]", "u8[4,5]", "i8[3]", "u8[5]"], {}
    yield ["i8[2,3,4]", "i8[1,4,5]", "i8[2,3,1]", "i8[1,1,5]"], {}
    yield ["u8[4]", "u8[2,4,5]", "u8[1]", "u8[5]"], {}
    yield ["u8[2,3,4]", "i8[4]", "u8[]"], {}
    yield ["u8[37,70]", "i8[70,45]", "u8[]", "i8[]"], {}
    yield ["u8[3,0]", "i8[0,5]"], {}


@matmul_integer.onnx("MatMulInteger")
def _(n: OnnxCall) -> Operand | None:
    operands = [n.operand(i) for i in range(4)]
    if any(o is not None and o.dtype not in BYTES for o in operands):
        return None
    return matmul_integer(*operands)


matmul_integer.exports_as("MatMulInteger")


@requantize.onnx("QLinearMatMul")
def _(n: OnnxCall) -> Operand | None:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (n.operand(i) for i in range(8))
    if a is None or b is None or y_zero is None or a_scale is None or b_scale is None:
        return None
    if not {a.dtype, b.dtype, y_zero.dtype} <= set(BYTES) or a.type.shape is None:
        return None
    if a_scale.type.shape is None or (a_scale.rank == 1 and a_scale.shape != (1,)):
        a_scale = unsqueeze(a_scale, axes=(1,))
    sums = matmul_integer(a, b, a_zero, b_zero)
    return requantize(sums, product_scale(a_scale, b_scale, y_scale), y_zero, to=y_zero.dtype)
