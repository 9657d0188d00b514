"""Element types that code generation supports."""

from __future__ import annotations

from compiler.compute.scalar import Scalar, walk
from compiler.compute.statements import values_of, walk_statements
from compiler.ir.types import DType
from compiler.loops.nodes import Kernel

LOWERABLE = frozenset(
    {
        DType.f32, DType.f64, DType.f16, DType.bf16, DType.bool,
        DType.i8, DType.i16, DType.i32, DType.i64,
        DType.u8, DType.u16, DType.u32, DType.u64,
        *(d for d in DType if d.is_storage),
    }
)  # fmt: skip
"""Element types that code generation supports."""


class NotLowerable(Exception):
    """Raised for a valid kernel without code generation support: its node becomes a fallback."""


def check_dtype(dtype: DType) -> None:
    """Raise NotLowerable for an element type outside `LOWERABLE`."""
    if dtype not in LOWERABLE:
        raise NotLowerable(f"elements of type {dtype} have no generated code")


def check_scalar(value: Scalar) -> None:
    """Raise NotLowerable for an expression with an unsupported element type."""
    for part in walk(value):
        check_dtype(part.dtype)


def check_kernel(kernel: Kernel) -> None:
    """Raise NotLowerable for a kernel with an unsupported element type."""
    for b in (*kernel.params, *kernel.registers):
        check_dtype(b.dtype)
    for s in walk_statements(kernel.body):
        for value in values_of(s):
            check_scalar(value)
