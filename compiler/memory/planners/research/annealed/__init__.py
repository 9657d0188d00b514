"""Blocks joined into few rectangles by simulated annealing."""

from __future__ import annotations

from dataclasses import replace

from compiler.memory.planners.examples import SIX_WITHOUT_A_GAP
from compiler.memory.planners.greedy import is_open, start_of
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options, Outcome, planner
from compiler.memory.planners.research.joined import searched
from compiler.memory.planners.research.rejoining import rejoining
from compiler.memory.problem import Problem

SEARCHING = 0.2
"""Time limit of an exact search, as a fraction of the planner's time so far. Such a search follows
each new minimum of the number of rectangles."""

LEFT = 0.4
"""Largest number of rectangles per block at the end of a cooling. If more remain, other planners
get the remaining time. In this case, the blocks probably do not result from guillotine cuts, or
some spare memory is unknown."""


@planner(
    searches=True,
    source="simulated annealing, Kirkpatrick, Gelatt and Vecchi 1983, over joins as in joined",
    example=SIX_WITHOUT_A_GAP,
)
def annealed(problem: Problem, options: Options) -> Outcome:
    """Join sets of blocks with equal sums of sizes, and undo joins, by simulated annealing.

    Millions of joins are created and undone. The more rectangles a join has combined, the less
    often it is undone. Exact search places the remaining rectangles. Good for tight problems (with
    little spare memory) whose blocks result from guillotine cuts. Especially good if all sizes are
    small multiples of a common unit: most sums then match others, and many joins lead to a plan.
    """
    start = start_of(problem, options)
    if not is_open(start, problem, options):
        return start
    from compiler.memory.planners.research.annealed.forest import Annealing

    begin, deadline, best = now(), options.deadline(), start
    joins = rejoining(problem, options)
    for rectangles in Annealing(joins.blocks, options.seed).coolings(deadline):
        if joins.take_over(rectangles):
            seconds = min(SEARCHING * (now() - begin), max(0.0, deadline - now()))
            within = replace(options, time_limit_s=seconds)
            best = searched(problem, within, best, joins.rectangles())
        if best.stopped != "finished" or not 1 < len(rectangles) <= LEFT * len(joins.blocks):
            break
    return best
