"""The entry point of memory planning: buffers in, a plan out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.errors import CompileError
from compiler.memory.buffer import ALIGNMENT_BYTES, Buffer, Plan
from compiler.memory.planners.planner import Options, Planner
from compiler.memory.planners.quick import quick
from compiler.memory.problem import Problem, check_problem, is_power_of_two


def plan_memory(
    buffers: Sequence[Buffer],
    *,
    alignment_bytes: int = ALIGNMENT_BYTES,
    planner: str = "quick",
    time_limit_s: float = 1.0,
) -> Plan:
    """Assign offsets such that buffers alive at the same time do not overlap.

    Units: sizes, offsets and the peak in bytes; lifetimes in launch steps, half-open [start, end).
    Errors: E-PLAN-INPUT for an inconsistent problem, E-OPTION-VALUE for an unknown planner.
    `time_limit_s` applies to planners that search; `quick` limits the number of attempts instead,
    so its plans are deterministic.

    >>> plan_memory([Buffer("a", 64, 0, 2), Buffer("b", 64, 2, 3)]).peak_bytes
    64
    """
    chosen = find_planner(planner)
    problem = make_problem(buffers, alignment_bytes)
    found = chosen.plan(problem, Options(time_limit_s))
    return replace(found.plan, planner=found.planner)


def find_planner(name: str) -> Planner:
    """Return the planner with this name. Errors: E-OPTION-VALUE."""
    if name == quick.name:
        return quick
    # Compilation needs only `quick`, so the registry, which imports all planners, is imported late.
    from compiler.memory.planners.all import PLANNERS

    if name not in PLANNERS:
        raise CompileError(
            "E-OPTION-VALUE", f"no planner is named {name!r}; planners: {', '.join(PLANNERS)}"
        )
    return PLANNERS[name]


def make_problem(buffers: Sequence[Buffer], alignment_bytes: int) -> Problem:
    """Return a checked problem. Errors: E-PLAN-INPUT, E-OPTION-VALUE for the alignment."""
    if not is_power_of_two(alignment_bytes):
        raise CompileError(
            "E-OPTION-VALUE", f"the alignment must be a power of two, got {alignment_bytes}"
        )
    check_problem(buffers, alignment_bytes)
    return Problem(tuple(buffers), alignment_bytes)
