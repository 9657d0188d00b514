"""Numbers in place of the sizes of a kernel: what it is in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.compute.statements import substitute_statements
from compiler.ir import affine
from compiler.loops.nodes import Buffer, Kernel


def sizes_of(params: tuple[Buffer, ...]) -> tuple[str, ...]:
    """The symbols that the shapes of buffers depend on, in order of appearance."""
    found: dict[str, None] = {}
    for b in params:
        for n in b.shape:
            found.update(dict.fromkeys(sorted(affine.symbols(n))))
    return tuple(found)


def with_sizes(kernel: Kernel, values: Mapping[str, int]) -> Kernel:
    """The kernel for these sizes, all of which must be given: shapes and bounds become numbers."""
    if not kernel.sizes:
        return kernel
    params = tuple(
        replace(b, shape=tuple(affine.substitute(n, values) for n in b.shape))
        for b in kernel.params
    )
    body = substitute_statements(kernel.body, values)
    return Kernel(kernel.name, params, body, kernel.registers)
