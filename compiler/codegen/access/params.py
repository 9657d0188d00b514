"""The parameters of a kernel's function: pointers with their attributes, and sizes."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.codegen.access.memory import parameter
from compiler.loops.nodes import Kernel, stored_buffers
from compiler.memory.in_place import overwritable

Param = tuple[str, str]
"""The type (with attributes) and the name of an LLVM parameter."""

NOT_KEPT = " captures(none)"
"""The attribute of pointers that the function does not capture."""


def params(kernel: Kernel) -> Iterator[Param]:
    """Yield the parameters of a kernel: its buffers in order, then its sizes."""
    stored, shared = stored_buffers(kernel.body), _may_share_memory(kernel)
    for b in kernel.params:
        noalias = "" if b.name in shared else " noalias"
        readonly = "" if b.name in stored else " readonly"
        yield f"ptr{noalias}{readonly}{NOT_KEPT}", parameter(b)
    for n in kernel.sizes:
        yield "i64", size_parameter(n)


def size_parameter(name: str) -> str:
    """Return the SSA name of a size."""
    return f'%"n.{name}"'


def counter_parameter(name: str) -> str:
    """Return the SSA name of the counter of a loop around a region."""
    return f'%"c.{name}"'


def _may_share_memory(kernel: Kernel) -> set[str]:
    """Return the parameters that may alias: results may overwrite operands in place."""
    found: set[str] = set()
    for output, operands in overwritable(kernel).items():
        found |= {output, *operands}
    return found
