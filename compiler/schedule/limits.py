"""The code size limit of a kernel: a user schedule can request any amount of code."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.compute.scalar import walk
from compiler.compute.statements import If, Loop, Statement, While, values_of
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.loops.nodes import Kernel
from compiler.targets.target import Target


def code_size(body: Iterable[Statement], target: Target) -> int:
    """Estimate the number of instructions that statements need: one per expression node.

    The body of an unrolled loop counts once per iteration; the body of a vector loop counts once
    per f32 vector.
    """
    total = 0
    for s in body:
        match s:
            case Loop(kind="unroll"):
                total += s.extent * code_size(s.body, target)
            case Loop(kind="vector"):
                n_lanes = affine.last_of(s.stop - s.start) + 1
                total += -(-n_lanes // target.lanes(4)) * code_size(s.body, target)
            case Loop() | If() | While():
                total += 2 + code_size(s.body, target)
            case _:
                total += 1 + sum(1 for value in values_of(s) for _ in walk(value))
    return total


MOST_CODE = 60_000
"""The maximum number of instructions of a kernel; kernels of all measured models need fewer than
3,000."""

MOST_STATEMENTS = 4_000
"""The maximum number of statements: peeled remainders double the code with each nested split."""


def require_small(kernel: Kernel, target: Target) -> None:
    """Refuse a kernel with too many instructions. Errors: E-LIMIT-CODE."""
    size = code_size(kernel.body, target)
    if size > MOST_CODE:
        raise CompileError(
            "E-LIMIT-CODE",
            f"{kernel.name} would have {size:,} instructions, but the limit is {MOST_CODE:,}",
        )
