"""What machine code is made for: the machine, and how much of it a program may use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from compiler.targets.target import Target, host

Forking = Literal["gomp", "kmpc"]
"""How code asks for threads: as libgomp wants it, or the OpenMP runtime of LLVM and Intel."""


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
    makes.
    """

    target: Target = field(default_factory=host)
    threads: int = 1
    schedules: tuple[KernelSchedule, ...] = ()
    forking: Forking = "gomp"
