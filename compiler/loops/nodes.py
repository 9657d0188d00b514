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

Values are the scalar expressions of `compiler.compute.scalar` without `Reduce`; a `Read` reads a
buffer at a physical index. Buffers are row-major without gaps. A kernel has the semantics of
sequential execution. The `kind` of a loop permits another form of execution with the same result;
the iterations of a `vector` or `parallel` loop must be independent. `compiler.loops.sharing`
divides parallel loops among threads.
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

    A `register` buffer is in machine registers: the expansion of unrolled and vector loops must
    make its indices constant. The vector axis is last. Other buffers are pointers passed by the
    caller; an output may alias an input only if the kernel declares the alias. A shape may depend
    on the kernel's sizes.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    role: Role

    @property
    def n_elements(self) -> Expr:
        """The product of the shape."""
        return affine.product(self.shape)

    @property
    def nbytes(self) -> Expr:
        """The size in memory. Units: bytes."""
        return self.n_elements * self.dtype.nbytes

    @property
    def strides(self) -> tuple[Expr, ...]:
        """The stride of each axis, in elements."""
        return affine.row_major(self.shape)

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function over buffers. `params` are the kernel's pointers in calling order, outputs last.

    `sizes` are integer arguments of a call, on which bounds, shapes and indices may depend.
    `compiler.loops.sizes` substitutes numbers for `sizes`.
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
    """Print a kernel; `compiler.loops.text` reads it back."""
    sizes = f"[{', '.join(k.sizes)}]" if k.sizes else ""
    yield f"kernel {k.name}{sizes}({', '.join(f'{b} {b.role}' for b in k.params)}) {{"
    yield from (f"  register {b}" for b in k.registers)
    for s in k.body:
        yield from (f"  {line}" for line in statement_lines(s))
    yield "}"
