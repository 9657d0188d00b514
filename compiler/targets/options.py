"""Options of code generation: the target, and the resources a program may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from compiler.dataclass import dataclass
from compiler.targets.target import Target, host

Spread = Literal["loops", "branches"]
"""The unit of parallel work: the loops of each kernel, or independent kernels."""

Forking = Literal["pool", "gomp", "kmpc"]
"""The thread interface: Compilarium's pool, libgomp, or the OpenMP runtime of LLVM and Intel."""

QUICK_REGISTERS = 6
"""The number of vector registers that policies use in tier 0; so few registers make code ten times
smaller."""


@dataclass(frozen=True, slots=True)
class KernelSchedule:
    """A user's schedule of a kernel, and its position: `first_line` of the file `source`."""

    kernel: str
    text: str
    first_line: int = 1
    source: str = "schedule"


Schedules = Mapping[str, str] | str | tuple[KernelSchedule, ...]
"""User schedules: moves by kernel, a text with a section per kernel, or the parsed schedules."""


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """The options of code generation for all code of a program.

    `threads` is the maximum number of concurrent threads of a run, and `forking` is the interface
    that starts them. `schedules` replace the policies' moves; a schedule names its kernel, or a
    value that the kernel computes. `tuned` returns the tuned schedule of a computation with these
    constants, or None to use the policies. Code of tier 0 compiles fast and runs slowly: it has
    small tiles and a low optimisation level in LLVM. With `in_parts`, f32 products may be computed
    as sums of products of bf16 parts; docs/precision.md states the cost. `order` names the method
    that orders the launches. With a memory limit, values are recomputed so that the arena does not
    exceed the limit. `spread` is the unit of parallel work: the loops of each kernel, or branches
    of the graph. For branches, a plan assigns kernels to threads, and each kernel runs on one
    thread. The plan uses `seconds`, which maps a value to the single-threaded time of the kernel
    that computes it.
    """

    target: Target = field(default_factory=host)
    threads: int = 1
    schedules: tuple[KernelSchedule, ...] = ()
    forking: Forking = "gomp"
    tuned: Callable[[Any, frozenset[str]], str | None] | None = None
    tier: int = 1
    in_parts: bool = False
    order: str = "best"
    memory_limit_bytes: int | None = None
    spread: Spread = "loops"
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def of_kernels(self) -> CodeOptions:
        """Return the options of kernels' code: one thread per kernel if branches are parallel."""
        return replace(self, threads=1) if self.spread == "branches" else self

    @property
    def tiling(self) -> CodeOptions:
        """Return the options for policies that choose register tiles."""
        if self.tier > 0:
            return self
        few = min(QUICK_REGISTERS, self.target.n_vector_registers)
        return replace(self, target=replace(self.target, n_vector_registers=few))

    @property
    def effort(self) -> int:
        """Return LLVM's level, 0 to 3, for instruction selection and register allocation."""
        return 3 if self.tier > 0 else 1
