"""Named quantities of a graph and of its program, with units; most of them are deterministic.

Kernels and bytes are counted for one fixed target: the counts are equal on every machine and in the
browser. Quantities of code count the machine code for this target, or for the target of a case.
Timed quantities run machine code for this machine, and have intervals.
"""

from course.quantities import (
    compile_times,
    devices,
    graph,
    kernel_code,
    kinds,
    memory,
    multiplications,
    numbers,
    program_code,
    run_times,
)

DECLARING = (
    graph, kinds, multiplications, memory, devices, numbers, program_code, kernel_code, run_times,
    compile_times,
)  # fmt: skip
"""The modules that declare quantities."""
