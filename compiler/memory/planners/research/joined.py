"""Complete search over blocks joined into rectangles without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.memory.buffer import Buffer
from compiler.memory.planners.exact import exact
from compiler.memory.planners.examples import SIX_WITHOUT_A_GAP
from compiler.memory.planners.greedy import start_of
from compiler.memory.planners.native import now
from compiler.memory.planners.place import MANY
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.planners.research.joining import BOLD, CAREFUL, Joined, forms, inside, joinable
from compiler.memory.problem import Problem

CHANCES = (BOLD, CAREFUL)
"""Limits, in this order, on the expected number of chance matches of a join (joining.py)."""


@planner(
    searches=True,
    source="guillotine cuts as in Gilmore and Gomory 1965, undone; then exact",
    example=SIX_WITHOUT_A_GAP,
)
def joined(problem: Problem, options: Options) -> Outcome:
    """Join blocks that fit together without a gap; place the joined blocks by exact search.

    At a step, the buffers that begin may fit exactly into the bytes of buffers that end. In a plan
    without gaps, they most likely reuse these bytes. Good for tight problems (with little spare
    memory) of any size. A wrong join may exclude all good plans.
    """
    start = start_of(problem, options)
    blocks = problem.blocks
    if start.stopped != "finished" or len(blocks) >= MANY or not joinable(blocks):
        return start
    deadline, best = options.deadline(), start
    for turn, rectangles in enumerate(forms(blocks, CHANCES)):
        left = (deadline - now()) / (len(CHANCES) - turn)
        if left <= 0 or best.stopped != "finished":
            break
        best = searched(problem, replace(options, time_limit_s=left), best, rectangles)
    return best


def searched(
    problem: Problem, options: Options, best: Outcome, rectangles: Sequence[Joined]
) -> Outcome:
    """Return a plan of the joined blocks by exact search if it is smaller, else the best so far.

    The sizes of the rectangles must be multiples of the largest alignment.
    """
    unit = max(b.alignment_bytes for b in problem.blocks)
    inner = Problem(tuple(map(_buffer, rectangles)), unit)
    wanted = max(options.wanted_bytes(problem), inner.lower_bound_bytes)
    found = exact.plan(inner, replace(options, capacity_bytes=wanted))
    if found.plan.peak_bytes >= best.plan.peak_bytes:
        return best
    offsets = [b.offset for b in found.plan.buffers]
    return placed(problem, inside(rectangles, offsets, len(problem.blocks)), options)


def _buffer(rectangle: Joined) -> Buffer:
    return Buffer(str(rectangle.parts[0][0]), rectangle.size, rectangle.start, rectangle.end)
