"""The nodes of Loop IR.

    kernel dense(x: f32[4,64] input, w: f32[2,64,16] constant, y: f32[4,2,16] output) {
      register acc: f32[4,16]
      parallel ob in 0..2 {
        unroll m in 0..4 { vector n in 0..16 { acc[m, n] = f32(0.0) } }
        for k in 0..64 {
          unroll m in 0..4 { vector n in 0..16 {
            acc[m, n] = add(acc[m, n], mul(x[m, k], w[ob, k, n]))
          } }
        }
        unroll m in 0..4 { vector n in 0..16 { y[m, ob, n] = acc[m, n] } }
      }
    }

Values are the scalar expressions of `compiler.compute.scalar`, with `Read` of a buffer at a
physical index and without `Reduce`. Buffers are row-major without gaps. Semantics are those of the
loops run one after the other; `kind` says how a loop may be run and never changes the result,
except that a `vector` or `parallel` loop promises that its iterations do not depend on each other.
`compiler.loops.sharing` says how threads share parallel loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from compiler.compute.statements import (
    If,
    Loop,
    LoopKind,
    Prefetch,
    ScatterStore,
    Statement,
    Store,
    While,
    statement_lines,
    stored_buffers,
    walk_statements,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType

__all__ = [
    "Buffer", "If", "Kernel", "Loop", "LoopKind", "Prefetch", "Role", "ScatterStore", "Statement",
    "Store", "While", "kernel_lines", "statement_lines", "stored_buffers", "walk_statements",
]  # fmt: skip

Role = Literal["input", "output", "constant", "temporary", "register"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory (or registers) for elements of one type, row-major.

    A `register` buffer lives in machine registers: under unrolled and vector loops its indices must
    become numbers (vector axis last). Other buffers are pointers given by the caller; outputs may
    share memory with an input only where the kernel says so. A shape may depend on the sizes of
    the kernel.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    role: Role

    @property
    def n_elements(self) -> Expr:
        """Product of the shape."""
        return affine.product(self.shape)

    @property
    def nbytes(self) -> Expr:
        """Bytes in memory."""
        return self.n_elements * self.dtype.nbytes

    @property
    def strides(self) -> tuple[Expr, ...]:
        """Elements between neighbours along each axis."""
        return affine.row_major(self.shape)

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function over buffers. `params` are its pointers in calling order, outputs last.

    `sizes` are numbers that it gets when it is called: bounds, shapes and indices may depend on
    them. `compiler.loops.sizes` puts numbers in their place.
    """

    name: str
    params: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    registers: tuple[Buffer, ...] = field(default=())
    sizes: tuple[str, ...] = field(default=())

    @property
    def buffers(self) -> dict[str, Buffer]:
        """All buffers by name."""
        return {b.name: b for b in (*self.params, *self.registers)}

    def __str__(self) -> str:
        return "\n".join(kernel_lines(self))


def kernel_lines(k: Kernel) -> Iterator[str]:
    """The text of a kernel; `compiler.loops.text` reads it back."""
    sizes = f"[{', '.join(k.sizes)}]" if k.sizes else ""
    yield f"kernel {k.name}{sizes}({', '.join(f'{b} {b.role}' for b in k.params)}) {{"
    yield from (f"  register {b}" for b in k.registers)
    for s in k.body:
        yield from (f"  {line}" for line in statement_lines(s))
    yield "}"
