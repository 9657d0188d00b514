"""Quantities of the machine code of kernels, for the target that a case of an experiment names.

Counts are static: each instruction counts once, however often it executes. The entry code of the
program does not count. Importing this module declares the quantities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from compiler.errors import CompileError
from compiler.schedule.language.replay import replay
from compiler.schedule.policy import schedule as chosen
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target, by_name
from course.quantities import QUANTITIES, TARGET, Subject, quantity

if TYPE_CHECKING:
    from compiler.runtime.kernel_code import Code

OPTION = "target"
"""The option of a subject that names the target of its code."""


def target_of(subject: Subject) -> Target:
    """Return the target of a subject's code. Errors: E-TARGET-NAME."""
    return by_name(subject.options.get(OPTION, TARGET))


def _codes(subject: Subject) -> list[Code]:
    """Return the code of each kernel with loops; the subject keeps it for other quantities."""
    known = vars(subject).get("_codes")
    if known is None:
        known = vars(subject)["_codes"] = [*_generated(subject)]
    return known


def _generated(subject: Subject) -> Iterator[Code]:
    from compiler.runtime.kernel_code import code_of

    target = target_of(subject)
    options, texts = CodeOptions(target), subject.options.get("schedules", {})
    kernels = [k for k in subject.preview.kernels if k.computation is not None]
    unknown = sorted(texts.keys() - {name for k in kernels for name in (k.name, *k.writes)})
    if unknown:
        raise CompileError("E-SCHEDULE-NAME", f"no kernel computes {unknown[0]!r:.60}")
    for k in kernels:
        assert k.computation is not None, "chosen above"
        text = next((texts[n] for n in (k.name, *k.writes) if n in texts), None)
        if text is None:
            made = chosen(k.computation, k.constants, options)
        else:
            made = replay(text, k.computation, k.constants, options)
        yield code_of(made, target)


def depends_on_target(name: str) -> bool:
    """Whether a quantity is one of this module, so that a case may name its target."""
    return QUANTITIES[name].compute.__module__ == __name__


@quantity("count", needs="code")
def lanes(subject: Subject) -> float:
    """The number of f32 elements in the widest vector register that the code uses."""
    return max((c.counts.widest_bytes for c in _codes(subject)), default=0) // 4


@quantity("count", needs="code")
def kernel_instructions(subject: Subject) -> float:
    """The number of machine instructions of the kernels; each counts once, in loops too."""
    return sum(c.counts.n_instructions for c in _codes(subject))


def _in_class(subject: Subject, name: str) -> int:
    return sum(c.counts.by_class[name] for c in _codes(subject))


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
    return max((c.counts.n_registers or 0 for c in _codes(subject)), default=0)


@quantity("count", needs="code")
def spills(subject: Subject) -> float:
    """The number of instructions that move a vector register to the stack, or back from it."""
    return sum(c.counts.n_spills or 0 for c in _codes(subject))


@quantity("B", needs="code")
def code_bytes(subject: Subject) -> float:
    """The size of the machine code of all kernels, without tables of constants."""
    return sum(c.n_bytes for c in _codes(subject))
