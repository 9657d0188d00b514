"""Loop nests of a schedule, with their counts: the deterministic scores of schedules."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.compute.computation import Computation
from compiler.compute.statements import If, Loop, Statement, While
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.loops.nodes import Kernel, statement_lines
from compiler.loops.verify import verify_kernel
from compiler.schedule.assemble import Scheduled, assemble
from compiler.schedule.language.replay import replay
from compiler.targets.options import CodeOptions
from course.quantities.subject import fixed_target

MOST_LINES = 200
"""Maximum number of lines of a schedule."""


@dataclass(frozen=True, slots=True)
class LoopCounts:
    """Counts of a kernel's loops.

    `iterations` counts executed statements. A statement in a vector loop counts once for all lanes,
    since one instruction computes them.
    """

    loops: int
    iterations: int
    depth: int


def counts(kernel: Kernel) -> LoopCounts:
    """Count the loops of a kernel of known sizes."""
    loops, iterations, depth = _counted(kernel.body)
    return LoopCounts(loops, iterations, depth)


def _counted(body: Iterable[Statement]) -> tuple[int, int, int]:
    loops = iterations = depth = 0
    for s in body:
        if isinstance(s, Loop):
            inner = _counted(s.body)
            known = isinstance(s.start, int) and isinstance(s.stop, int)
            times = 1 if s.kind == "vector" or not known else s.extent
            loops, depth = loops + 1 + inner[0], max(depth, 1 + inner[2])
            iterations += times * inner[1]
        elif isinstance(s, If | While):
            inner = _counted(s.body)
            loops, iterations, depth = loops + inner[0], iterations + inner[1], max(depth, inner[2])
        else:
            iterations += 1
    return loops, iterations, depth


def loops_text(kernel: Kernel) -> str:
    """Return the loops of a kernel as text."""
    return "\n".join(line for s in kernel.body for line in statement_lines(s))


def scheduled(text: str, computation: Computation, constants: frozenset[str]) -> Scheduled:
    """Build the kernel that a schedule describes, and verify it.

    Errors: E-SCHEDULE-TEXT, E-SCHEDULE-MOVE, E-ANSWER-SIZE.
    """
    if text.count("\n") > MOST_LINES:
        message = f"the schedule has {text.count(chr(10))} lines; the limit is {MOST_LINES}"
        raise CompileError("E-ANSWER-SIZE", message)
    made = replay(text, computation, constants, CodeOptions(fixed_target()))
    verify_kernel(made.kernel)
    return made


def unscheduled(computation: Computation, constants: frozenset[str]) -> Scheduled:
    """Build the kernel of a computation without any move."""
    options = CodeOptions(fixed_target())
    return assemble(computation, constants, options, lambda s: s, lambda _, nest: nest)
