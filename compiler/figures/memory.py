"""Figures of the memory of a program: the arena, its lower bound, and its use."""

from __future__ import annotations

from typing import TypedDict

from compiler.figures.figure import figure
from compiler.memory.account import fullest_step, live_by_step, used_by_step
from compiler.memory.buffer import Plan
from compiler.runtime.program import Program


class PlanFigures(TypedDict):
    """The figures of a memory plan. Units: bytes, shares and counts."""

    peak_bytes: int
    lower_bound_bytes: int
    live_peak_bytes: int
    unshared_bytes: int
    over_bound: float | None
    idle_share: float
    n_buffers: int


def plan_figures(plan: Plan) -> PlanFigures:
    """Return all figures of a memory plan."""
    return {
        "peak_bytes": arena_bytes(plan),
        "lower_bound_bytes": arena_bound_bytes(plan),
        "live_peak_bytes": live_peak_bytes(plan),
        "unshared_bytes": unshared_bytes(plan),
        "over_bound": over_bound(plan),
        "idle_share": idle_share(plan),
        "n_buffers": n_buffers(plan),
    }


@figure("arena", "B", "compile.memory.peak_bytes = result.memory.peak_bytes")
def arena_bytes(plan: Plan) -> int:
    """The size of the single allocation for all values between the kernels of a run.

    It is the end of the highest buffer of the memory plan, with alignment gaps. Inputs, outputs and
    weights are outside the arena.
    """
    return plan.peak_bytes


@figure(
    "lower bound of the arena",
    "B",
    "compile.memory.lower_bound_bytes = result.memory.lower_bound_bytes",
)
def arena_bound_bytes(plan: Plan) -> int:
    """A lower bound of the arena size of every memory plan for these buffers.

    It is the largest sum, over all steps, of the aligned sizes of the live buffers.
    """
    return plan.lower_bound_bytes


@figure("peak of live bytes", "B", "compile.memory.live_peak_bytes = result.memory.live_peak_bytes")
def live_peak_bytes(plan: Plan) -> int:
    """The largest number of bytes in live buffers at any step, without gaps and alignment.

    A buffer is live from the launch that writes it to the last launch that reads it.
    """
    live = live_by_step(plan.buffers)
    return live[fullest_step(plan.buffers)] if live else 0


@figure(
    "arena without sharing", "B", "compile.memory.unshared_bytes = result.memory.unshared_bytes"
)
def unshared_bytes(plan: Plan) -> int:
    """The size of the arena if no two buffers shared memory.

    It is the sum of the aligned sizes of all buffers.
    """
    return plan.unshared_bytes


@figure("buffers", "count", "compile.memory.n_buffers = result.memory.n_buffers")
def n_buffers(plan: Plan) -> int:
    """The number of buffers in the arena.

    A buffer holds one value, or several values that share its memory: views, parts of a
    concatenation, and results computed in place.
    """
    return len(plan.buffers)


@figure("arena over its bound", "share", "compile.memory.over_bound = result.memory.over_bound")
def over_bound(plan: Plan) -> float | None:
    """The part of the arena above its lower bound, relative to the bound.

    At 0 %, the plan is optimal.
    """
    bound = plan.lower_bound_bytes
    return plan.peak_bytes / bound - 1 if bound else None


@figure("holes below the extent", "share", "compile.memory.idle_share = result.memory.idle_share")
def idle_share(plan: Plan) -> float:
    """The share of the extent that is in no live buffer, over all steps.

    The extent consists of all bytes below the end of the highest live buffer.
    """
    live, used = sum(live_by_step(plan.buffers)), sum(used_by_step(plan.buffers))
    return 1 - live / used if used else 0.0


@figure("weights", "B", "compile.weight_bytes = result.running.weight_bytes")
def weight_bytes(program: Program) -> int:
    """The size of the constants of the program, stored as kernels read them.

    It differs from the bytes of constants, because packing pads constants, and passes fold or
    remove constants.
    """
    return program.weight_bytes
