"""Complete search for a plan within a capacity, and for the smallest one."""

from __future__ import annotations

from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import start_of
from compiler.memory.planners.planner import Options, Outcome, planner
from compiler.memory.problem import Problem

FEWEST_SECONDS = 0.002
"""A search with less time than this would not begin."""


@planner(
    searches=True,
    source="Moffitt, MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine "
    "Learning, ASPLOS 2023, for sections, settled plans and taking turns",
    example=FIVE_BUFFERS,
)
def exact(problem: Problem, options: Options) -> Outcome:
    """Every plan that could be good is looked at, or ruled out with its kind, at native speed.

    Goes from the bottom up: the block that may lie lowest is put there, or something comes between.
    Ends with a plan within the capacity (the smallest plan when none is given), or with the proof
    that there is none. The best there is for tight problems of up to some thousand buffers.
    """
    start = start_of(problem, options)
    if start.stopped != "finished" or options.time_limit_s < FEWEST_SECONDS:
        return start
    # Compiled functions take long to import, and most problems are solved by now.
    from compiler.memory.planners.exact.search import improve

    return improve(problem, options, start)
