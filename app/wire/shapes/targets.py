"""A kernel's code for several machines."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload


class InstructionClass(TypedDict):
    """A class of instructions, in words."""

    name: str
    words: str


class TargetRow(TypedDict):
    """A machine among others, and what the kernel's instructions for it are.

    Counts are of the listing, each instruction once. Null for machines without registers, and all
    null with a reason in `because` where there is no code.
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
    """A kernel's code for all machines, in figures."""

    job: str
    kernel: int
    name: str
    classes: list[InstructionClass]
    rows: list[TargetRow]


class TargetLinks(TypedDict):
    """Which line of the level above a line came of, counted from 0; -1 for none."""

    llvm: list[int]
    asm: list[int]


class KernelLevels(TypedDict):
    """A kernel at each level; `cut` counts lines left out."""

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
