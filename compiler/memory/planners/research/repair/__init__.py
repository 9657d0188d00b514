"""Iterative repair: lower the peak of a plan by moving the blocks that exceed a target."""

from __future__ import annotations

from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import FEWEST_SECONDS, start_of
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem


@planner(
    searches=True,
    source="iterative repair with min-conflicts, Minton et al. 1992, by ejection chains, Glover "
    "1996, with breakout weights, Morris 1993; neighbors by windows of time",
    example=FIVE_BUFFERS,
)
def repair(problem: Problem, options: Options) -> Outcome:
    """Start from first fit, remove all blocks above a target peak, and place them below the target.

    A block that fits into no gap takes the offset of least cost, and ejects the blocks there. Only
    blocks near the peak move, so a trace of 50,000 buffers takes seconds. Good for traces with some
    spare memory at most steps. This planner proves no bound.
    """
    start = start_of(problem, options)
    if start.stopped != "finished" or options.time_limit_s < FEWEST_SECONDS:
        return start
    return improved(start, problem, options)


def improved(start: Outcome, problem: Problem, options: Options) -> Outcome:
    """Return the best plan that first fit and repair find within the time limit, or `start`."""
    # Imported late: most problems need neither numpy nor compiled loops.
    from compiler.memory.planners.research.repair.reduction import Reduction
    from compiler.memory.planners.research.repair.search import Search

    best, deadline = start, options.deadline()
    buffers = start.plan.buffers
    reduction = Reduction(problem.blocks)
    first = reduction.reduced([buffers[b.members[0]].offset for b in problem.blocks])
    search = Search(reduction.blocks, first, options.seed)
    for offsets in search.plans(options.wanted_bytes(problem) - reduction.bottom, deadline):
        found = placed(problem, reduction.restored(offsets), options)
        best = found if found.plan.peak_bytes < best.plan.peak_bytes else best
        if best.stopped != "finished":
            break
    return best
