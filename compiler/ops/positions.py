"""Positions that are data: what the operators share that are given numbers of rows to read or fill.

ONNX calls a position outside its axis an error. The references raise it; generated code does not
look: reads take the nearest row inside, and what would be written outside is dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.compute.builder import Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Tensor
from compiler.ir.types import DType


def require_positions(op_name: str, indices: Tensor, what: str = "the indices") -> None:
    """Errors: E-OP-DTYPE unless the operand holds i32 or i64."""
    require(
        indices.dtype in (DType.i32, DType.i64),
        "E-OP-DTYPE",
        f"{what} of {op_name} must be i32 or i64, got {indices.type}",
    )


def from_front(k: Lowering, position: Scalar, size: Expr) -> Scalar:
    """A position as i64, where a negative one counts from the end of an axis."""
    at = k.convert(position, DType.i64)
    return k.where(k.lt(at, 0), at + k.index(size), at)


def along(indices: Array, axis: int) -> tuple[Any, ...]:
    """The index of numpy that puts positions on one axis, and every other axis where it is."""
    index: list[Any] = list(np.indices(indices.shape, sparse=True))
    index[axis] = indices
    return tuple(index)
