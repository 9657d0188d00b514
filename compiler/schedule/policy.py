"""Choice of a schedule: apply to each nest the policy of its class, and build one kernel."""

from __future__ import annotations

from dataclasses import replace

from compiler.compute.computation import Computation
from compiler.errors import CompileError
from compiler.schedule.assemble import Scheduled, assemble
from compiler.schedule.language.between import Stages
from compiler.schedule.language.replay import replay
from compiler.schedule.nest import Nest
from compiler.schedule.policies.context import Context
from compiler.schedule.policies.contraction import (
    contraction,
    is_contraction,
    split_blocked_reduction,
)
from compiler.schedule.policies.dots import dots
from compiler.schedule.policies.pointwise import pointwise
from compiler.schedule.policies.reduction import reduction
from compiler.schedule.policies.tile_products import tile_products
from compiler.schedule.stages.sharing import share
from compiler.schedule.threads.parallel import in_parallel
from compiler.targets.options import CodeOptions

__all__ = ["Scheduled", "apply_policy", "schedule"]


def schedule(
    computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Scheduled:
    """Build the kernel of a computation by policies; `constants` are known at compile time.

    A tuned schedule in the options takes precedence if it is legal for this computation.
    Errors: E-SCHEDULE-MOVE when a policy makes an illegal move.
    """
    return _tuned(computation, constants, options) or _by_policy(computation, constants, options)


def _tuned(
    computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Scheduled | None:
    """Build the kernel by a tuned schedule; None if no legal tuned schedule exists."""
    if options.tuned is None or options.tier == 0:
        return None
    text = options.tuned(computation, constants)
    try:
        return None if text is None else replay(text, computation, constants, options)
    except CompileError:
        return None  # schedules tuned under older policies may be illegal now


def _by_policy(
    computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Scheduled:
    def arrange(stages: Stages) -> Stages:
        return share(stages, options.target)

    def shape(_: str, nest: Nest) -> Nest:
        return apply_policy(nest, Context(options.tiling, nest.packable))

    made = assemble(computation, constants, options, arrange, shape)
    return replace(made, kernel=in_parallel(made.kernel, options))


def apply_policy(nest: Nest, ctx: Context) -> Nest:
    """Apply the policy for the nest's class of computations."""
    if not nest.axes:
        return nest
    if nest.reduce is None:
        return pointwise(nest, ctx)
    if is_contraction(nest) and len(nest.reductions) == 1:
        return tile_products(nest, ctx) or dots(nest, ctx) or contraction(nest, ctx)
    return reduction(split_blocked_reduction(nest), ctx)
