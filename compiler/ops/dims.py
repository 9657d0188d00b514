"""What the shape and movement operators share: open dimensions, sizes as operands, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from compiler.errors import CompileError, require
from compiler.ir import affine
from compiler.ir.affine import Affine, identifier, symbol
from compiler.ir.operator import Array, Cost, Tensor
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.implied_sizes import imply
from compiler.ops.requirements import normal_axis

RANK_LIMIT = 64
"""numpy's arrays have at most this many axes."""

LARGEST_SIZE = 1 << 40
"""No axis is longer than this; comparing a symbolic size with a larger number decides itself."""


def open_dim(position: int, *operands: Tensor) -> Dim:
    """A size not known before the program runs, named after the operands that decide it.

    A known number goes by its value: constants that are equal may take each other's place.
    """
    return symbol("__".join(map(_decider, operands)) + f"_d{position}")


def _decider(operand: Tensor) -> str:
    value = operand.value
    if value is None or value.size != 1 or value.dtype.kind not in "iu":
        return identifier(operand.name)
    number = int(value.reshape(-1)[0])
    return f"is_{'minus_' if number < 0 else ''}{abs(number)}"


def open_dims(rank: Dim, *operands: Tensor) -> tuple[Dim, ...] | None:
    """As many open sizes as the rank says; None when even the rank is open.

    Errors: E-OP-SHAPE for more axes than arrays can have.
    """
    if not isinstance(rank, int):
        return None
    require(rank <= RANK_LIMIT, "E-OP-SHAPE", f"{rank:,} axes; arrays have at most {RANK_LIMIT}")
    return tuple(open_dim(i, *operands) for i in range(rank))


def axes_in_order(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Distinct axes counted from the front, in the order given. Errors: E-OP-AXIS."""
    found = tuple(normal_axis(int(a), rank) for a in axes)
    require(
        len(set(found)) == len(found), "E-OP-AXIS", f"the axes {list(found)} name one axis twice"
    )
    return found


def sizes_of(values: Array) -> list[Dim]:
    """The elements of a known integer operand as sizes: numbers, or symbolic expressions."""
    return [v if isinstance(v, Affine) else int(v) for v in np.asarray(values).reshape(-1)]


def single(t: Tensor, what: str) -> int | None:
    """The whole number in a parameter; None where it is not known.

    Errors: E-OP-SHAPE for other than one element, E-OP-ATTRIBUTE for what is no whole number.
    """
    value = t.value
    if value is None:
        return None
    require(value.size == 1, "E-OP-SHAPE", f"{what} is one number, got {t.type}")
    number = value.reshape(-1)[0]
    if isinstance(number, Affine):
        return None
    require(bool(np.isfinite(number)), "E-OP-ATTRIBUTE", f"{what} is a whole number, got {number}")
    return int(number)


def parameter(t: Tensor, what: str) -> Tensor:
    """A one-dimensional integer operand. Errors: E-OP-DTYPE, E-OP-SHAPE."""
    require(t.dtype.is_integer, "E-OP-DTYPE", f"{what} must be whole numbers, got {t.type}")
    require(
        t.type.shape is None or t.rank == 1, "E-OP-SHAPE", f"{what} must be a list, got {t.type}"
    )
    return t


def length(t: Tensor | None) -> Dim | None:
    """How many elements a one-dimensional operand has; None when unknown or left out."""
    return None if t is None or t.type.shape is None else t.shape[0]


def settle(e: Dim) -> Dim:
    """The expression with everything decided that follows from sizes being sizes."""
    return affine.simplify(e, {s: (0, LARGEST_SIZE) for s in affine.symbols(e)})


def same_size(a: Dim, b: Dim, message: str) -> Dim:
    """The size that two axes share, the number if one is. Errors: E-OP-SHAPE for two numbers."""
    imply(a, b)
    if isinstance(a, int) and isinstance(b, int):
        require(a == b, "E-OP-SHAPE", message)
    return b if isinstance(b, int) else a


def same_dtype(tensors: Sequence[Tensor], name: str) -> DType:
    """The element type of all operands. Errors: E-OP-DTYPE when they differ."""
    types = {t.dtype for t in tensors}
    require(
        len(types) == 1,
        "E-OP-DTYPE",
        f"{name} needs one element type, got {', '.join(sorted(map(str, types)))}",
    )
    return tensors[0].dtype


def known_value(t: object, what: str) -> Array:
    """The elements of a lowering's operand. Errors: E-SHAPE-OPEN when they are run-time data."""
    value = getattr(t, "value", None)
    if value is None or value.dtype == np.object_:
        raise CompileError("E-SHAPE-OPEN", f"{what} is not known before the program runs")
    return value


def copied(out: TensorType, *also_read: TensorType | None) -> Cost:
    """Each element of the result read once and written once, and other operands read whole."""
    extra = sum(t.nbytes for t in also_read if t is not None)
    return Cost(bytes_read=out.nbytes + extra, bytes_written=out.nbytes)
