"""Complete search for a plan within a capacity, or for the smallest plan."""

from __future__ import annotations

from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import start_of
from compiler.memory.planners.planner import Options, Outcome, planner
from compiler.memory.problem import Problem

FEWEST_SECONDS = 0.002
"""The shortest time in seconds for which a search is started."""


@planner(
    searches=True,
    source="Moffitt, MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine "
    "Learning, ASPLOS 2023, for sections, settled plans and interleaved orders",
    example=FIVE_BUFFERS,
)
def exact(problem: Problem, options: Options) -> Outcome:
    """Search all plans that can be optimal by branch and bound, in compiled code.

    The search proceeds from the bottom up: it places the block with the lowest possible offset, or
    decides that another block comes below it. With a capacity, the search ends with a plan that
    fits, or with a proof that no plan fits. Without a capacity, it ends with the smallest plan. The
    best planner for tight problems (with little spare memory) of up to a few thousand buffers.
    """
    start = start_of(problem, options)
    if start.stopped != "finished" or options.time_limit_s < FEWEST_SECONDS:
        return start
    # Compiled functions take long to import, and most problems are solved before this point.
    from compiler.memory.planners.exact.search import improve

    return improve(problem, options, start)
