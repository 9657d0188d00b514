"""Quantities of the code of the whole program for the fixed target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course.quantities.quantity import quantity
from course.quantities.subject import Subject, fixed_target

if TYPE_CHECKING:
    from compiler.codegen.listing import Counts


@quantity("count", needs="code")
def llvm_lines(subject: Subject) -> float:
    """The number of lines of the LLVM text, without blank lines and comments."""
    lines = str(subject.program.emit("llvm")).splitlines()
    return sum(bool(line.strip()) and not line.lstrip().startswith(";") for line in lines)


@quantity("count", needs="code")
def instructions(subject: Subject) -> float:
    """The number of machine instructions of the program; each counts once, in loops too."""
    return _instructions(subject).n_instructions


@quantity("count", needs="code")
def vector_instructions(subject: Subject) -> float:
    """The number of machine instructions that compute, move or permute vectors."""
    found = _instructions(subject).by_class
    return sum(n for name, n in found.items() if name not in ("scalar", "branch"))


def _instructions(subject: Subject) -> Counts:
    from compiler.codegen.listing import counts

    return counts(str(subject.program.emit("asm")), fixed_target())
