"""The Loop IR interpreter: the slow oracle for schedules and code generation.

All loops run iteration by iteration, except vector loops: these run all iterations at once, with an
array per index. The iterations of vector loops must be independent; lanes that store to the same
element are an error.
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
    """Run a kernel on arrays in physical layout, keyed by param; outputs change in place.

    Shapes: every param's array has exactly the param's shape and element type, for the `sizes`
    given.
    Errors: AssertionError for an out-of-bounds index, colliding lanes, or arrays that do not fit.
    """
    kernel = with_sizes(kernel, sizes or {})
    memory: dict[str, Array] = {}
    for b in kernel.params:
        array = arrays[b.name]
        assert array.shape == b.shape, f"{b} got the shape {array.shape}"
        assert array.dtype == b.dtype.numpy, f"{b} got {array.dtype}"
        memory[b.name] = array
    for b in kernel.registers:
        # The initial contents of registers are undefined.
        unknown = np.nan if b.dtype.is_float else 77
        memory[b.name] = np.full(b.shape, unknown, b.dtype.numpy)
    run_statements(kernel.body, memory)
