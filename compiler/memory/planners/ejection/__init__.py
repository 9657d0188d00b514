"""Packings in which what does not fit pushes others out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from compiler.memory.buffer import Block
from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import start_of
from compiler.memory.planners.joining import BOLD, CAREFUL, Joined, join
from compiler.memory.planners.place import MANY
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem

FEWEST_SECONDS = 0.05
"""A search with less time than this would not begin."""

CHANCES = (BOLD, CAREFUL)
"""How much is joined, in turn, each for half of the time that is left; the rest of it is for the
blocks as they are."""

FEWER = 0.95
"""Joining was of no use when more than this part of the blocks is left."""


@planner(
    searches=True,
    source="ejection chains, Glover 1996; weights as in the breakout method, Morris 1993",
    example=FIVE_BUFFERS,
)
def ejection(problem: Problem, options: Options) -> Outcome:
    """What does not fit below a peak is put where it disturbs least, and ejects what lies there.

    Goes on with what was ejected, until all lies below a smaller peak. What is ejected often weighs
    more each time. First as a whole what fits together without a gap, then block by block. For
    tight problems that are too large to search through: it proves nothing.
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
    best, deadline = start, options.deadline()
    for most_chance in (*CHANCES, 0.0):
        rectangles = _rectangles(blocks, most_chance)
        if most_chance and len(rectangles) > FEWER * len(blocks):
            continue
        left = deadline - time.monotonic()
        until = deadline - left / 2 if most_chance else deadline
        first = None if most_chance else _offsets(best, problem)
        for offsets in _packings(rectangles, first, options, problem, until):
            found = placed(problem, offsets, options)
            best = found if found.plan.peak_bytes < best.plan.peak_bytes else best
            if best.stopped != "finished":
                return best
    return best


def _rectangles(blocks: Sequence[Block], most_chance: float) -> Sequence[Joined]:
    """What is packed as a whole; with no chance at all every block is for itself."""
    unit = max(b.alignment_bytes for b in blocks)
    whole = [replace(b, size=-(-b.size // unit) * unit) for b in blocks]
    if most_chance:
        return join(whole, most_chance)
    return [Joined(b.start, b.end, b.size, ((i, 0),)) for i, b in enumerate(whole) if b.size]


def _offsets(found: Outcome, problem: Problem) -> list[int]:
    buffers = found.plan.buffers
    return [buffers[b.members[0]].offset for b in problem.blocks]


def _packings(
    rectangles: Sequence[Joined],
    first: Sequence[int] | None,
    options: Options,
    problem: Problem,
    until: float,
) -> Iterator[list[int]]:
    """Offsets of all blocks, each time with a smaller peak, until the time is up.

    `first` are those of the blocks to begin with; None for a greedy packing of the rectangles.
    """
    from compiler.memory.planners.ejection.search import Search

    unit = max(b.alignment_bytes for b in problem.blocks)
    outer = [Block((), r.size, r.start, r.end, unit) for r in rectangles]
    search = Search(outer, options.seed)
    begin = None if first is None else [first[r.parts[0][0]] for r in rectangles]
    wanted = options.wanted_bytes(problem)
    for packing in search.packings(begin, wanted, until):
        offsets = [0] * len(problem.blocks)
        for rectangle, low in zip(rectangles, packing, strict=True):
            for i, inner in rectangle.parts:
                offsets[i] = low + inner
        yield offsets
