"""Quantities of the machine code of kernels, for the target that a case of an experiment names.

Counts are static: each instruction counts once, however often it executes. The entry code of the
program does not count.
"""

from __future__ import annotations

from course.quantities.quantity import QUANTITIES, quantity
from course.quantities.subject import Subject


def depends_on_target(name: str) -> bool:
    """Whether a quantity is one of this module, so that a case may name its target."""
    return QUANTITIES[name].compute.__module__ == __name__


@quantity("count", needs="code")
def lanes(subject: Subject) -> float:
    """The number of f32 elements in the widest vector register that the code uses."""
    return max((c.counts.widest_bytes for c in subject.kernel_codes), default=0) // 4


@quantity("count", needs="code")
def kernel_instructions(subject: Subject) -> float:
    """The number of machine instructions of the kernels; each counts once, in loops too."""
    return sum(c.counts.n_instructions for c in subject.kernel_codes)


def _in_class(subject: Subject, name: str) -> int:
    return sum(c.counts.by_class[name] for c in subject.kernel_codes)


@quantity("count", needs="code")
def fused_multiply_adds(subject: Subject) -> float:
    """The number of instructions that multiply and add in one step."""
    return _in_class(subject, "fma")


@quantity("count", needs="code")
def other_arithmetic(subject: Subject) -> float:
    """The number of other vector instructions that compute, or move one register to another."""
    return _in_class(subject, "vector")


@quantity("count", needs="code")
def vector_registers(subject: Subject) -> float:
    """The number of distinct vector registers in the code; 0 if the machine has no registers."""
    return max((c.counts.n_registers or 0 for c in subject.kernel_codes), default=0)


@quantity("count", needs="code")
def spills(subject: Subject) -> float:
    """The number of instructions that move a vector register to the stack, or back from it."""
    return sum(c.counts.n_spills or 0 for c in subject.kernel_codes)


@quantity("B", needs="code")
def code_bytes(subject: Subject) -> float:
    """The size of the machine code of all kernels, without tables of constants."""
    return sum(c.n_bytes for c in subject.kernel_codes)
