"""Complete search over blocks joined repeatedly into few rectangles."""

from __future__ import annotations

from dataclasses import replace

from compiler.memory.planners.examples import SIX_WITHOUT_A_GAP
from compiler.memory.planners.greedy import is_open, start_of
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options, Outcome, planner
from compiler.memory.planners.research.joined import searched
from compiler.memory.planners.research.joining import FEWER
from compiler.memory.planners.research.rejoining import rejoining
from compiler.memory.problem import Problem

JOINING = 0.8
"""Fraction of the time for joining; the remaining time is for the search over the rectangles."""

MOST_SEARCHED = 600
"""Largest number of rectangles for an exact search. With more rectangles, the search is no better
than a search over the blocks, so other planners get the time."""

PATIENCE = 2000
"""Joining stops after this number of consecutive tries that do not reduce the rectangles."""


@planner(
    searches=True,
    source="joined, with ruin and recreate: Schrimpf, Schneider, Stamm-Wilbrandt and Dueck 2000",
    example=SIX_WITHOUT_A_GAP,
)
def rejoined(problem: Problem, options: Options) -> Outcome:
    """Join blocks that fit without a gap, undo some joins, and join again (ruin and recreate).

    A wrong join prevents correct joins of the same blocks, so more rectangles remain. The planner
    minimises their number: a single rectangle is a plan. Exact search places the rectangles. Good
    for tight problems (with little spare memory) in which many sums of sizes are equal by chance.
    """
    start = start_of(problem, options)
    if not is_open(start, problem, options):
        return start
    deadline = options.deadline()
    joins = rejoining(problem, options)
    if len(joins.rectangles()) > FEWER * len(problem.blocks):
        return start
    joins.go_on(now() + JOINING * options.time_limit_s, PATIENCE)
    if len(joins.rectangles()) > MOST_SEARCHED:
        return start
    left = max(0.0, deadline - now())
    return searched(problem, replace(options, time_limit_s=left), start, joins.rectangles())
