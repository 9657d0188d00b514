"""A kernel's code for several machines."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload


class InstructionClass(TypedDict):
    """A class of instructions, with its description."""

    name: str
    words: str


class TargetRow(TypedDict):
    """The instructions of the kernel for one machine.

    Counts are static: each instruction of the listing counts once. Counts of registers are null for
    machines without registers, such as WebAssembly. If no code was generated, all counts are null,
    and `because` is the reason.
    """

    target: str
    triple: str
    vector_bytes: int
    n_vector_registers: int
    seconds: float
    because: str
    counts: dict[str, int]
    n_instructions: int | None
    widest_bytes: int | None
    n_registers: int | None
    n_spills: int | None
    n_bytes: int | None


class Targets(Payload):
    """The instruction counts of a kernel for all machines."""

    job: str
    kernel: int
    name: str
    classes: list[InstructionClass]
    rows: list[TargetRow]


class TargetLinks(TypedDict):
    """Each line's counterpart at the level above, as a line number (from 0), or -1 for none."""

    llvm: list[int]
    asm: list[int]


class KernelLevels(TypedDict):
    """A kernel at each level; `cut` counts omitted lines."""

    schedule: str
    loops: str
    llvm: str
    asm: str
    cut: int
    links: TargetLinks


class TargetCode(Payload, KernelLevels):
    """A kernel's code for one machine, at each level."""

    target: str
    kernel: int
