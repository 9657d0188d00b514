"""Triangles of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.type_rules.dims import copied, known_value


@op(kind="movement")
def trilu(x: Tensor, diagonal: Tensor | None = None, *, upper: bool = True) -> Tensor:
    """Copy the upper (or lower) triangle of each matrix and set the other elements to 0.

    Shapes: any of rank 2 or more; `diagonal` shifts the boundary of the triangle, positive numbers
    to the right.
    Errors: E-OP-SHAPE, E-OP-DTYPE.
    Source: ONNX Trilu-14.
    """
    require(x.rank >= 2, "E-OP-SHAPE", f"trilu needs matrices, got {x.type}")
    if diagonal is not None:
        fits = diagonal.dtype.is_integer
        require(fits, "E-OP-DTYPE", f"the diagonal must be an integer, got {diagonal.type}")
    return x


@trilu.reference
def _(x: Array, diagonal: Array | None = None, *, upper: bool) -> Array:
    k = 0 if diagonal is None else int(np.asarray(diagonal).reshape(()))
    k = max(min(k, x.shape[-1] + 1), -x.shape[-2] - 1)
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    kept = columns - rows >= k if upper else columns - rows <= k
    return np.where(kept, x, np.zeros((), x.dtype))


@trilu.cost
def _(x: TensorType, *diagonal: TensorType | None, out: TensorType, upper: bool) -> Cost:
    return copied(out)


@trilu.lower
def _(k: Lowering, x: Handle, *rest: Handle | None, upper: bool) -> None:
    *optional, out = rest
    assert out is not None
    given = optional[0] if optional else None
    border = 0
    if given is not None:
        border = int(np.asarray(known_value(given, "the diagonal of a trilu")).reshape(()))
    *_, n_rows, n_columns = x.shape
    if isinstance(n_rows, int) and isinstance(n_columns, int):
        border = max(min(border, n_columns + 1), -n_rows - 1)
    index = k.axes(out.shape)
    row, column = index[-2:]
    ahead = column - row - border if upper else row - column + border
    # `ahead` is always below this bound, so the test is only for negative numbers.
    beyond = 2 * (n_rows + n_columns) + 2 + abs(border)
    k.assign(out[index], k.inside([(ahead, beyond)], x[index], 0))


@trilu.onnx("Trilu")
def _(call: OnnxCall) -> Call:
    return trilu(*call.operands, upper=bool(call.attr("upper", 1)))


trilu.exports_as("Trilu")


@trilu.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,4]"], {}
    yield ["f32[2,4,3]", np.array(1)], {}
    yield ["i64[4,5]", np.array(-2)], {"upper": False}
    yield ["f32[3,3]", np.array(9)], {"upper": False}
