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
"""The time limit of a search, as a fraction of the time so far. A search follows each new minimum
of the number of rectangles."""

LEFT = 0.4
"""Largest number of rectangles per block at the end of a cooling. More rectangles suggest
blocks that are not guillotine-cut, or unknown spare memory. If more rectangles remain, annealing
leaves the remaining time to other planners."""


@planner(
    searches=True,
    source="simulated annealing, Kirkpatrick, Gelatt and Vecchi 1983, over joins as in joined",
    example=SIX_WITHOUT_A_GAP,
)
def annealed(problem: Problem, options: Options) -> Outcome:
    """Join sets of blocks with equal sizes, and undo joins at random with decreasing frequency.

    Millions of joins are created and undone. The value of a join is the number of rectangles that
    it removes. Exact search places the remaining rectangles. Good for tight problems whose blocks
    result from guillotine cuts, above all if memory has few units. With few units, nearly all sums
    are equal by chance, and many sets of joins lead to a plan.
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
