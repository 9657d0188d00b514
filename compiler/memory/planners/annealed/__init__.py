"""Blocks joined to few rectangles by simulated annealing."""

from __future__ import annotations

from dataclasses import replace

from compiler.memory.planners.examples import SIX_WITHOUT_A_GAP
from compiler.memory.planners.greedy import is_open, start_of
from compiler.memory.planners.joined import searched
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options, Outcome, planner
from compiler.memory.planners.rejoining import rejoining
from compiler.memory.problem import Problem

SEARCHING = 0.2
"""What part of the time so far the search may take over the fewest rectangles, each time there are
fewer."""

LEFT = 0.4
"""Where the first cooling leaves more than this part of the blocks, they were not cut from edge to
edge, or too little is known of spare memory: the time is left to others."""


@planner(
    searches=True,
    source="simulated annealing, Kirkpatrick, Gelatt and Vecchi 1983, over joints as in joined",
    example=SIX_WITHOUT_A_GAP,
)
def annealed(problem: Problem, options: Options) -> Outcome:
    """Joins whatever sums are equal, takes joints apart again by chance, and less so over time.

    Millions of joints are made and undone, each counts the rectangles it takes away, and the exact
    search places what is left. For tight problems cut from edge to edge, above all where memory has
    few units: there nearly all sums are equal by chance, and many ways to join lead to a plan.
    """
    start = start_of(problem, options)
    if not is_open(start, problem, options):
        return start
    from compiler.memory.planners.annealed.forest import Annealing

    begin, deadline, best = now(), options.deadline(), start
    joints = rejoining(problem, options)
    for rectangles in Annealing(joints.blocks, options.seed).coolings(deadline):
        if joints.take_over(rectangles):
            seconds = min(SEARCHING * (now() - begin), max(0.0, deadline - now()))
            within = replace(options, time_limit_s=seconds)
            best = searched(problem, within, best, joints.rectangles())
        if best.stopped != "finished" or not 1 < len(rectangles) <= LEFT * len(joints.blocks):
            break
    return best
