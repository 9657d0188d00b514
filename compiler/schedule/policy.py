"""Choosing a schedule: each nest gets the policy of its class, and all become one kernel."""

from __future__ import annotations

from dataclasses import replace

from compiler.compute.computation import Computation
from compiler.schedule.assemble import Scheduled, assemble
from compiler.schedule.context import Context
from compiler.schedule.contraction import contraction, is_contraction, split_blocked_reduction
from compiler.schedule.dots import dots
from compiler.schedule.nest import Nest
from compiler.schedule.parallel import in_parallel
from compiler.schedule.pointwise import pointwise
from compiler.schedule.reduction import reduction
from compiler.targets.options import CodeOptions

__all__ = ["Scheduled", "apply_policy", "schedule"]


def schedule(
    computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Scheduled:
    """The kernel for a computation, by policies; `constants` are known at compile time.

    Errors: E-SCHEDULE-MOVE when a policy makes a move that is not legal.
    """

    def shape(_: str, nest: Nest) -> Nest:
        return apply_policy(nest, Context(options.tiling, nest.packable))

    made = assemble(computation, constants, options, shape)
    return replace(made, kernel=in_parallel(made.kernel, options))


def apply_policy(nest: Nest, ctx: Context) -> Nest:
    """The nest as the policy of its class shapes it."""
    if not nest.axes:
        return nest
    if nest.reduce is None:
        return pointwise(nest, ctx)
    if is_contraction(nest) and len(nest.reductions) == 1:
        return dots(nest, ctx) or contraction(nest, ctx)
    return reduction(split_blocked_reduction(nest), ctx)
