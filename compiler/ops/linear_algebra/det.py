"""Determinants of square matrices."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.errors import require
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import DType, TensorType
from compiler.ops.type_rules.requirements import (
    require_elements,
    require_size,
    rounded,
    traffic,
    wide,
    widened,
)


@op(kind="opaque", exact=False)
def det(x: Tensor) -> TensorType:
    """Compute the determinant of each matrix in the last two axes.

    Shapes: x [..., N, N], the result [...]; the determinant of an empty matrix is 1.
    Errors: E-OP-SHAPE for matrices that are not square, E-OP-DTYPE.
    Source: ONNX Det-22; Gaussian elimination in which the largest element of a column is the pivot.
    """
    require_elements("det", "float", x)
    require(x.rank >= 2, "E-OP-SHAPE", f"det takes matrices, got {x.type}")
    require_size("det", "the rows of x", x.shape[-2], x.shape[-1])
    return TensorType(x.dtype, x.shape[:-2])


@det.reference
def _(x: Array) -> Array:
    # The elimination of the generated code: LAPACK leaves open what infinities and NaN become.
    n = x.shape[-1]
    rows = widened(x).reshape(prod(x.shape[:-2]), n, n).copy()
    total = np.ones(len(rows), rows.dtype)
    matrices = np.arange(len(rows))
    for c in range(n):
        best = _largest(rows[:, c:, c]) + c
        rows[matrices, c], rows[matrices, best] = rows[matrices, best], rows[matrices, c]
        pivot = rows[:, c, c]
        total = np.where(best > c, -total, total) * pivot
        used = pivot != 0.0
        factors = rows[used, c + 1 :, c] / pivot[used, None]
        rows[used, c + 1 :, c + 1 :] -= factors[:, :, None] * rows[used, c, None, c + 1 :]
    return rounded(total.reshape(x.shape[:-2]), x)


def _largest(columns: Array) -> Array:
    """Return the first positions of the largest magnitudes; each comparison with NaN is false."""
    sizes = np.abs(columns)
    found = np.where(np.isnan(sizes), -1.0, sizes).argmax(axis=1)
    return np.where(np.isnan(sizes[:, 0]), 0, found)


@det.cost
def _(x: TensorType, *, out: TensorType) -> Cost:
    return traffic([x], out, 2 * x.n_elements * int(x.static_shape[-1]) // 3)


@det.lower
def _(k: Lowering, x: Handle, out: Handle) -> None:
    n, dtype = x.shape[-1], wide(x.dtype)
    rows = k.temporary((n, n), dtype, "rows")
    total = k.temporary((), dtype, "total")
    with k.routine() as r, r.loops(x.shape[:-2]) as index:
        with r.loops((n, n)) as (i, j):
            r.store(rows[i, j], k.convert(x[*index, i, j], dtype))
        r.store(total[()], 1.0)
        with r.loop(n, "c") as c:
            _bring_up_the_largest(k, r, rows, total, c)
            pivot = rows[c, c]
            r.store(total[()], total[()] * pivot)
            with r.when(k.ne(pivot, 0.0)), r.loop(n, "i", start=c + 1) as i:
                # The column is not read again, so it stores the factor.
                r.store(rows[i, c], rows[i, c] / pivot)
                with r.loop(n, "j", start=c + 1) as j:
                    r.store(rows[i, j], rows[i, j] - rows[i, c] * rows[c, j])
        r.store(out[index], k.convert(total[()], out.dtype))


def _bring_up_the_largest(
    k: Lowering, r: RoutineBuilder, rows: Handle, total: Handle, c: Any
) -> None:
    """Partial pivoting: exchange row c with the row of the largest element in column c."""
    n = rows.shape[0]
    best, kept = r.cell(DType.i64, "best"), r.cell(rows.dtype, "kept")
    r.store(best, k.index(c))
    with r.loop(n, "i", start=c + 1) as i:
        with r.when(k.gt(k.abs(rows[i, c]), k.abs(rows.at(best, c)))):
            r.store(best, k.index(i))
    with r.when(k.gt(best, k.index(c))):
        r.store(total[()], -total[()])
        with r.loop(n, "j") as j:
            r.store(kept, rows[c, j])
            r.store(rows[c, j], rows.at(best, j))
            r.store(rows.at(best, j), kept)


@det.onnx("Det")
def _(call: OnnxCall) -> Call:
    return det(call.operand(0))


det.exports_as("Det")


@det.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,3]"], {}
    yield ["f32[2,3,5,5]"], {}
    yield [np.array([[[0, 2], [3, 4]], [[1, 2], [2, 4]]], np.float32)], {}
    yield ["f64[7,1,1]"], {}
    yield ["f16[2,4,4]"], {}
    yield ["f32[2,0,0]"], {}
