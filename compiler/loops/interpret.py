"""What a kernel means, loop by loop: the oracle for schedules and for code generation. Slow.

Only a vector loop is run at once, with an array per index: it promises that its iterations do not
depend on each other, and lanes that store to one place are an error.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.compute.numbers import Array
from compiler.compute.run_statements import run_statements
from compiler.loops.nodes import Kernel
from compiler.loops.sizes import with_sizes


def interpret(
    kernel: Kernel, arrays: Mapping[str, Array], sizes: Mapping[str, int] | None = None
) -> None:
    """Run a kernel on arrays in physical layout, by name of its params; outputs change in place.

    Shapes: every param's array has exactly its shape and element type, for the `sizes` given.
    Errors: AssertionError when an index leaves its buffer, lanes collide, or arrays do not fit.
    """
    kernel = with_sizes(kernel, sizes or {})
    memory: dict[str, Array] = {}
    for b in kernel.params:
        array = arrays[b.name]
        assert array.shape == b.shape, f"{b} got the shape {array.shape}"
        assert array.dtype == b.dtype.numpy, f"{b} got {array.dtype}"
        memory[b.name] = array
    for b in kernel.registers:
        # What a register holds at first is not said.
        unknown = np.nan if b.dtype.is_float else 77
        memory[b.name] = np.full(b.shape, unknown, b.dtype.numpy)
    run_statements(kernel.body, memory)
