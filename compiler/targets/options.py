"""What machine code is made for: the machine, and how much of it a program may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.targets.target import Target, host


@dataclass(frozen=True, slots=True)
class KernelSchedule:
    """Moves for one kernel, written by hand; `first_line` is where they begin in their file."""

    kernel: str
    text: str
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """What is asked of all code of a program, beside what it computes.

    `threads` is how many threads a run may use at once. `schedules` take the place of the policies'
    moves; a kernel goes by its own name, or that of a value that it makes.
    """

    target: Target = field(default_factory=host)
    threads: int = 1
    schedules: tuple[KernelSchedule, ...] = ()
