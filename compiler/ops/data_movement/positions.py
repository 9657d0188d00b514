"""Run-time indices, shared by gathers and scatters.

In ONNX, an out-of-bounds index is an error, and the references raise it. Generated code does not
check indices: out-of-bounds reads are clamped, and out-of-bounds writes are dropped.
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
    """Check that an operand is i32 or i64. Errors: E-OP-DTYPE."""
    require(
        indices.dtype in (DType.i32, DType.i64),
        "E-OP-DTYPE",
        f"{what} of {op_name} must be i32 or i64, got {indices.type}",
    )


def from_front(k: Lowering, position: Scalar, size: Expr) -> Scalar:
    """Convert an index to i64; a negative index counts from the end of the axis."""
    at = k.convert(position, DType.i64)
    return k.where(k.lt(at, 0), at + k.index(size), at)


def along(indices: Array, axis: int) -> tuple[Any, ...]:
    """Return a numpy index: `indices` along one axis, and all positions of the other axes."""
    index: list[Any] = list(np.indices(indices.shape, sparse=True))
    index[axis] = indices
    return tuple(index)
