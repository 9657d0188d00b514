"""Packings from the bottom up, many at once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence

from compiler.memory.buffer import Block
from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import start_of
from compiler.memory.planners.place import MANY
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem

FEWEST_SECONDS = 0.05
"""A search with less time than this would not begin."""


@planner(
    searches=True,
    source="Burke, Kendall and Whitwell 2004 for filling the lowest stretch of a skyline; beam "
    "search over it",
    example=FIVE_BUFFERS,
)
def skyline(problem: Problem, options: Options) -> Outcome:
    """From the bottom up, the lowest stretch of the skyline is filled, in many ways at once.

    Of all that can be put there, those ways go on that lose the least memory, leave the evenest
    skyline and use up the most. For many buffers that live together, and where sizes are alike: it
    proves nothing and gets close to the bound.
    """
    start = start_of(problem, options)
    blocks = problem.blocks
    if (
        start.stopped != "finished"
        or len(blocks) >= MANY
        or options.time_limit_s < FEWEST_SECONDS
        or any(b.pinned >= 0 for b in blocks)
    ):
        return start
    deadline, wanted = options.deadline(), options.wanted_bytes(problem)
    best = start
    for offsets in _packings(blocks, start.plan.peak_bytes, wanted, deadline, options.seed):
        best = placed(problem, offsets, options)
        if best.stopped != "finished":
            break
    return best


def _packings(
    blocks: Sequence[Block], most_bytes: int, wanted_bytes: int, deadline: float, seed: int
) -> Iterator[list[int]]:
    """Offsets of all blocks, each time with a smaller peak, until the time is up."""
    from compiler.memory.planners.skyline.search import WEIGHTS, Skylines

    real = [i for i, b in enumerate(blocks) if b.size]
    sides = [Skylines([blocks[i] for i in real], back) for back in (False, True)]
    width = 16
    for turn in itertools.count():
        for side, weights in itertools.product(sides, WEIGHTS):
            if time.monotonic() >= deadline:
                return
            found = side.packed(width, weights, most_bytes, deadline, seed + turn)
            if found is None:
                continue
            offsets = [0] * len(blocks)
            for i, offset in zip(real, found, strict=True):
                offsets[i] = offset
            most_bytes = max(o + b.size for o, b in zip(offsets, blocks, strict=True) if b.size)
            yield offsets
        width = min(2 * width, max(16, sides[0].widest()))
