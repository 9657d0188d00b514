"""Helpers for shape and movement operators: open dimensions, sizes as operands, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from compiler.errors import CompileError, require
from compiler.ir import affine
from compiler.ir.affine import Affine, identifier, symbol
from compiler.ir.operator import Array, Cost, Tensor
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.type_rules.implied_sizes import imply
from compiler.ops.type_rules.requirements import normal_axis

RANK_LIMIT = 64
"""The maximum number of axes of numpy's arrays."""

LARGEST_SIZE = 1 << 40
"""The limit of sizes: every symbolic size is assumed to be at most this number."""


def open_dim(position: int, *operands: Tensor) -> Dim:
    """Create a symbol for a run-time size, named after the operands that determine it.

    If an operand is a known number, the name contains its value, so that equal constants give equal
    sizes. The suffix differs from `_d0`, which names an axis of the operand itself in an imported
    model.
    """
    return symbol("__".join(map(_decider, operands)) + f"_r{position}")


def _decider(operand: Tensor) -> str:
    value = operand.value
    if value is None or value.size != 1 or value.dtype.kind not in "iu":
        return identifier(operand.name)
    number = int(value.reshape(-1)[0])
    return f"is_{'minus_' if number < 0 else ''}{abs(number)}"


def open_dims(rank: Dim, *operands: Tensor) -> tuple[Dim, ...] | None:
    """Create one open size per axis; return None for an open rank.

    Errors: E-OP-SHAPE for more axes than numpy's arrays can have.
    """
    if not isinstance(rank, int):
        return None
    require(
        rank <= RANK_LIMIT, "E-OP-SHAPE", f"arrays have at most {RANK_LIMIT} axes, not {rank:,}"
    )
    return tuple(open_dim(i, *operands) for i in range(rank))


def axes_in_order(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Normalise distinct axes to count from 0, without sorting them. Errors: E-OP-AXIS."""
    found = tuple(normal_axis(int(a), rank) for a in axes)
    require(len(set(found)) == len(found), "E-OP-AXIS", f"the axes {list(found)} repeat an axis")
    return found


def sizes_of(values: Array) -> list[Dim]:
    """Convert the elements of a known integer operand to sizes: numbers, or expressions."""
    return [v if isinstance(v, Affine) else int(v) for v in np.asarray(values).reshape(-1)]


def single(t: Tensor, what: str) -> int | None:
    """Return the integer value of a parameter; None if unknown.

    Errors: E-OP-SHAPE unless the parameter has one element, E-OP-ATTRIBUTE if it is not an integer.
    """
    value = t.value
    if value is None:
        return None
    require(value.size == 1, "E-OP-SHAPE", f"{what} must be one number, got {t.type}")
    number = value.reshape(-1)[0]
    if isinstance(number, Affine):
        return None
    require(bool(np.isfinite(number)), "E-OP-ATTRIBUTE", f"{what} must be an integer, got {number}")
    return int(number)


def parameter(t: Tensor, what: str) -> Tensor:
    """Check a one-dimensional integer operand. Errors: E-OP-DTYPE, E-OP-SHAPE."""
    require(t.dtype.is_integer, "E-OP-DTYPE", f"{what} must have integer elements, got {t.type}")
    require(
        t.type.shape is None or t.rank == 1, "E-OP-SHAPE", f"{what} must be a list, got {t.type}"
    )
    return t


def length(t: Tensor | None) -> Dim | None:
    """Return the length of a one-dimensional operand; None if unknown or omitted."""
    return None if t is None or t.type.shape is None else t.shape[0]


def settle(e: Dim) -> Dim:
    """Simplify an expression over sizes, given the assumed range of sizes."""
    return affine.simplify(e, {s: (0, LARGEST_SIZE) for s in affine.symbols(e)})


def same_size(a: Dim, b: Dim, message: str) -> Dim:
    """Unify two sizes; if at least one is a number, return a number.

    Errors: E-OP-SHAPE for different numbers.
    """
    imply(a, b)
    if isinstance(a, int) and isinstance(b, int):
        require(a == b, "E-OP-SHAPE", message)
    return b if isinstance(b, int) else a


def same_dtype(tensors: Sequence[Tensor], name: str) -> DType:
    """Return the common element type of operands. Errors: E-OP-DTYPE if they differ."""
    types = {t.dtype for t in tensors}
    require(
        len(types) == 1,
        "E-OP-DTYPE",
        f"{name} needs one element type, got {', '.join(sorted(map(str, types)))}",
    )
    return tensors[0].dtype


def known_value(t: object, what: str) -> Array:
    """Return the known elements of a lowering's operand. Errors: E-SHAPE-OPEN for run-time data."""
    value = getattr(t, "value", None)
    if value is None or value.dtype == np.object_:
        raise CompileError("E-SHAPE-OPEN", f"{what} is known only at run time")
    return value


def copied(out: TensorType, *also_read: TensorType | None) -> Cost:
    """Return the cost of a copy: each element read and written once, other operands read fully."""
    extra = sum(t.nbytes for t in also_read if t is not None)
    return Cost(bytes_read=out.nbytes + extra, bytes_written=out.nbytes)
