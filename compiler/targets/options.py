"""What machine code is made for: the machine, and how much of it a program may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from compiler.dataclass import dataclass
from compiler.targets.target import Target, host

Spread = Literal["loops", "branches"]
"""What the threads of a program share: each kernel's loops, or kernels that may run at once."""

Forking = Literal["pool", "gomp", "kmpc"]
"""How code asks for threads: our own, as libgomp wants it, or the runtime of LLVM and Intel."""

QUICK_REGISTERS = 6
"""Tiles for so few vector registers are a tenth of the code."""


@dataclass(frozen=True, slots=True)
class KernelSchedule:
    """Moves for one kernel, written by hand; `first_line` is where they begin in their file."""

    kernel: str
    text: str
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """What is asked of all code of a program, beside what it computes.

    `threads` is how many threads a run may use at once, `forking` how they are called. `schedules`
    take the place of the policies' moves; a kernel goes by its own name, or that of a value that it
    makes. `tuned` gives the text of the schedule that a computation with these constants shall
    have, or None to leave it to the policies. Code of tier 0 is made quickly and runs slowly: small
    tiles, little effort in LLVM. With `in_parts` products of f32 may be sums of products of parts
    that are bf16: docs/precision.md says what that costs. `order` names the way in which launches
    are put in order. With a memory limit kernels run again where the arena would be larger.
    `spread` says what threads share: the loops of each kernel, or the branches of the graph by a
    plan, each kernel being one thread's; `seconds` has for the plan what kernels take on one
    thread, by a value that they make.
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
        """These options for the code of a kernel: with branches spread, kernels have one thread."""
        return replace(self, threads=1) if self.spread == "branches" else self

    @property
    def tiling(self) -> CodeOptions:
        """These options as policies get them that choose register tiles."""
        if self.tier > 0:
            return self
        few = min(QUICK_REGISTERS, self.target.n_vector_registers)
        return replace(self, target=replace(self.target, n_vector_registers=few))

    @property
    def effort(self) -> int:
        """How much effort LLVM makes in choosing instructions and registers, 0 to 3."""
        return 3 if self.tier > 0 else 1
