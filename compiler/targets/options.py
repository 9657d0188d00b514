"""What machine code is made for: the machine, and how much of it a program may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.targets.target import Target, host


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """What is asked of all code of a program, beside what it computes.

    `threads` is how many threads a run may use at once.
    """

    target: Target = field(default_factory=host)
    threads: int = 1
