"""Complete search over blocks that were joined again and again until few rectangles are left."""

from __future__ import annotations

from dataclasses import replace

from compiler.memory.planners.examples import SIX_WITHOUT_A_GAP
from compiler.memory.planners.greedy import is_open, start_of
from compiler.memory.planners.joined import searched
from compiler.memory.planners.joining import FEWER
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options, Outcome, planner
from compiler.memory.planners.rejoining import rejoining
from compiler.memory.problem import Problem

JOINING = 0.8
"""The part of the time for joining; the rest is for the search over what is left."""

MOST_SEARCHED = 600
"""Of more rectangles, complete search finds no more than of the blocks as they are: the time is
left to others."""

PATIENCE = 2000
"""Tries in a row that lead to no fewer rectangles."""


@planner(
    searches=True,
    source="joined, with ruin and recreate: Schrimpf, Schneider, Stamm-Wilbrandt and Dueck 2000",
    example=SIX_WITHOUT_A_GAP,
)
def rejoined(problem: Problem, options: Options) -> Outcome:
    """Joins what fits together without a gap, takes some of it apart, and joins it anew.

    What is joined by accident keeps others from what they belong to, so that fewer rectangles are
    better ones, and a single one is a plan. The exact search places what is left. For tight
    problems in which many sums are equal by chance.
    """
    start = start_of(problem, options)
    if not is_open(start, problem, options):
        return start
    deadline = options.deadline()
    joints = rejoining(problem, options)
    if len(joints.rectangles()) > FEWER * len(problem.blocks):
        return start
    joints.go_on(now() + JOINING * options.time_limit_s, PATIENCE)
    if len(joints.rectangles()) > MOST_SEARCHED:
        return start
    left = max(0.0, deadline - now())
    return searched(problem, replace(options, time_limit_s=left), start, joints.rectangles())
