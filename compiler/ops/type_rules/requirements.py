"""Checks of type rules (element types, broadcasting, axes), and counts of operations and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from compiler.errors import CompileError, require
from compiler.ir import affine
from compiler.ir.operator import Array, Cost, Tensor
from compiler.ir.types import Dim, DType, TensorType, Type
from compiler.ops.type_rules.implied_sizes import imply

Elements = Literal["float", "number", "signed", "integer", "bool", "logical", "any"]

_WORDS: dict[Elements, str] = {
    "float": "floating point numbers",
    "number": "numbers",
    "signed": "numbers that can be negative",
    "integer": "integers",
    "bool": "bool",
    "logical": "bool or integers",
    "any": "elements",
}


def is_one_of(dtype: DType, elements: Elements) -> bool:
    """Return whether an element type belongs to a class such as "float" or "integer"."""
    match elements:
        case "float":
            return dtype.is_float
        case "number":
            return dtype.is_float or dtype.is_integer
        case "signed":
            return dtype.is_float or (dtype.is_integer and dtype.label[0] == "i")
        case "integer":
            return dtype.is_integer
        case "bool":
            return dtype is DType.bool
        case "logical":
            return dtype is DType.bool or dtype.is_integer
        case "any":
            return True


def require_elements(op_name: str, elements: Elements, *operands: Tensor | None) -> DType:
    """Return the common element type of the operands that are not omitted. Errors: E-OP-DTYPE."""
    given = [o for o in operands if o is not None]
    first = given[0].dtype
    for dtype in dict.fromkeys(o.dtype for o in given):
        require(
            is_one_of(dtype, elements),
            "E-OP-DTYPE",
            f"{op_name} takes {_WORDS[elements]}, got {dtype}",
        )
        require(
            dtype is first,
            "E-OP-DTYPE",
            f"{op_name} takes operands of one element type, got {first} and {dtype}",
        )
    return first


def require_rank(op_name: str, x: Tensor, ranks: Sequence[int], what: str = "x") -> None:
    """Check that an operand has one of these ranks. Errors: E-OP-SHAPE."""
    allowed = ", ".join(map(str, ranks))
    require(
        x.rank in ranks,
        "E-OP-SHAPE",
        f"{op_name} takes {what} of rank {allowed}, got rank {x.rank} ({x.type})",
    )


def require_size(op_name: str, what: str, found: Dim, needed: Dim) -> None:
    """Check that two sizes are equal numbers, or that one of them is open. Errors: E-OP-SHAPE."""
    imply(found, needed)
    if isinstance(found, int) and isinstance(needed, int):
        require(
            found == needed, "E-OP-SHAPE", f"{op_name} needs size {needed} for {what}, got {found}"
        )


def broadcast_dims(op_name: str, *shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """Return the shape that numpy's broadcasting gives; for two open sizes, their maximum.

    Errors: E-OP-SHAPE.
    """
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    made: list[Dim] = []
    for d, sizes in enumerate(zip(*padded, strict=True)):
        total: Dim = 1
        for n in sizes:
            total = _broadcast_dim(op_name, total, n, d - rank, shapes)
        made.append(total)
    return tuple(made)


def _broadcast_dim(op_name: str, a: Dim, b: Dim, axis: int, shapes: Sequence[Sequence[Dim]]) -> Dim:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        listed = " and ".join(f"[{','.join(map(str, s))}]" for s in shapes)
        raise CompileError(
            "E-OP-SHAPE", f"{op_name} cannot broadcast {listed}: {a} against {b} at axis {axis}"
        )
    # At run time, an open size must equal 1 or the other number.
    if isinstance(a, int):
        return a
    return b if isinstance(b, int) else affine.maximum(a, b)


def broadcast_type(op_name: str, dtype: DType, *operands: Tensor | None) -> TensorType:
    """Return the type of an elementwise result, with open rank if an operand has open rank."""
    shapes = [o.type.shape for o in operands if o is not None]
    known = [s for s in shapes if s is not None]
    if len(known) < len(shapes):
        return TensorType(dtype, None)
    return TensorType(dtype, broadcast_dims(op_name, *known))


def normal_axis(axis: int, rank: int) -> int:
    """Convert a possibly negative axis to an axis that counts from 0.

    Errors: E-OP-AXIS outside [-rank, rank).
    """
    require(
        -rank <= axis < rank,
        "E-OP-AXIS",
        f"axis {axis} is outside [-{rank}, {rank}), the axes of a rank-{rank} tensor",
    )
    return axis + rank if axis < 0 else axis


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Normalise a set of axes, sorted; a repeated axis counts once. Errors: E-OP-AXIS."""
    return tuple(sorted({normal_axis(int(a), rank) for a in axes}))


# Computation in a wider type


def wide(dtype: DType) -> DType:
    """Return the element type of arithmetic on these elements."""
    return dtype.wide


def widened(x: Array) -> Array:
    """Convert an array to the element type of arithmetic on its elements."""
    if x.dtype == np.object_ or x.dtype.kind in "biuc" or x.dtype.itemsize >= 4:
        return x
    return x.astype(wide(DType.from_numpy(x.dtype)).numpy)


def rounded(result: Any, like: Array) -> Array:
    """Round a result that was computed from `widened` operands to the element type of `like`."""
    result = np.asarray(result)
    if like.dtype == np.object_ or result.dtype in (like.dtype, np.object_, np.bool_):
        return result
    return result.astype(like.dtype)


# Counts of operations and bytes


def traffic(operands: Sequence[Type | None], out: Type | tuple[Type, ...], flops: int) -> Cost:
    """Return the cost of `flops` operations that read each operand and write each result once."""
    outs = out if isinstance(out, tuple) else (out,)
    return Cost(
        flops,
        sum(t.nbytes for t in operands if isinstance(t, TensorType)),
        sum(t.nbytes for t in outs if isinstance(t, TensorType)),
    )


def n_elements(t: Type | tuple[Type, ...]) -> int:
    """Return the number of elements of a type, or of the first of several types."""
    first = t[0] if isinstance(t, tuple) else t
    assert isinstance(first, TensorType)
    return first.n_elements
