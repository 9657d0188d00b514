"""Packings from the bottom up, by beam search."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import is_open, start_of
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.planners.research.joining import CAREFUL, forms, inside, whole
from compiler.memory.planners.research.rejoining import rejoining
from compiler.memory.problem import Problem

CHANCES = (CAREFUL, 0.0)
"""Limits on the expected number of chance matches of a join (joining.py); 0 leaves blocks unjoined.
The rectangles of these limits are packed after the smallest known set of rectangles."""


@planner(
    searches=True,
    source="Burke, Kendall and Whitwell 2004 for filling the lowest segment of a skyline; beam "
    "search over the choices of blocks",
    example=FIVE_BUFFERS,
)
def skyline(problem: Problem, options: Options) -> Outcome:
    """Fill the lowest segment of the skyline, from the bottom up, by beam search.

    The skyline of a partial packing is the occupied height at each step. The beam keeps the partial
    packings that waste the least memory, have the most even skyline and contain the most bytes.
    Good if many buffers of similar sizes are alive together. This planner proves no bound, but its
    plans are close to the lower bound.
    """
    start = start_of(problem, options)
    if not is_open(start, problem, options):
        return start
    best = start
    for offsets in _packings(problem, options, start.plan.peak_bytes):
        best = placed(problem, offsets, options)
        if best.stopped != "finished":
            break
    return best


def _packings(problem: Problem, options: Options, most_bytes: int) -> Iterator[list[int]]:
    """Yield offsets of all blocks, each time with a smaller peak, until the time is up."""
    from compiler.memory.planners.research.skyline.search import WEIGHTS, Skylines

    deadline, blocks = options.deadline(), whole(problem.blocks)
    fewest = rejoining(problem, options).rectangles()
    sides = [
        (rectangles, Skylines(rectangles, back))
        for rectangles in (fewest, *forms(blocks, CHANCES))
        for back in (False, True)
    ]
    width = 16
    for turn in itertools.count():
        for (rectangles, side), weights in itertools.product(sides, WEIGHTS):
            if now() >= deadline:
                return
            found = side.packed(width, weights, most_bytes, deadline, options.seed + turn)
            if found is not None:
                offsets = inside(rectangles, found, len(blocks))
                most_bytes = max(o + b.size for o, b in zip(offsets, blocks, strict=True) if b.size)
                yield offsets
        width *= 2
