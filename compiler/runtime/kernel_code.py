"""The code of one kernel at each level, for another target or with another schedule."""

from __future__ import annotations

from compiler.codegen.debug import listings, without_locations
from compiler.codegen.jit import code_bytes
from compiler.codegen.listing import Counts, counts, own_lines
from compiler.codegen.llvm import function_lines
from compiler.codegen.module import module_of
from compiler.compute.computation import Computation
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.loops.limits import NotLowerable
from compiler.schedule.assemble import Scheduled
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target

SYMBOL = "kernel"


@dataclass(frozen=True, slots=True)
class Code:
    """A kernel at each level for one target, with maps between the lines of adjacent levels.

    `llvm_lines` maps each line of LLVM IR to a line of Loop IR. `asm_lines` maps each line of
    assembly to a line of LLVM IR. In both maps, -1 means no line. An unknown map is empty.
    """

    schedule: str
    loops: str
    llvm: str
    asm: str
    llvm_lines: tuple[int, ...]
    asm_lines: tuple[int, ...]
    counts: Counts
    n_bytes: int


def code_for(computation: Computation, constants: frozenset[str], options: CodeOptions) -> Code:
    """Generate the code that the policies choose for a computation on the target.

    Errors: E-LIMIT-CODE if no code can be generated, E-SCHEDULE-MOVE if a policy makes an illegal
    move.
    """
    return code_of(schedule(computation, constants, options), options.target)


def code_of(made: Scheduled, target: Target) -> Code:
    """Generate the code of a scheduled kernel. Errors: E-LIMIT-CODE if code cannot be generated."""
    try:
        function, lines = function_lines(made.kernel, SYMBOL, target)
    except NotLowerable as e:
        raise CompileError("E-LIMIT-CODE", str(e)) from e
    module = module_of([function], "", target)
    both = listings(module, {SYMBOL}, target)
    plain = _function_of(both.plain)
    text = function.text
    kept, came = without_locations(_function_of(both.located))
    return Code(
        "\n".join(made.moves),
        str(made.kernel),
        text,
        "\n".join(plain),
        lines if len(lines) == len(text.split("\n")) else (),
        tuple(came[: len(plain)]) if kept[: len(plain)] == plain else (),
        counts("\n".join(plain), target),
        code_bytes(module, target),
    )


def _function_of(asm: str) -> list[str]:
    """Return the lines of the function in a listing: from its label to its size directive."""
    lines = asm.rstrip().split("\n")
    first = next(i for i, line in enumerate(lines) if line.lstrip("_").startswith(f"{SYMBOL}:"))
    return own_lines(lines[first:])
