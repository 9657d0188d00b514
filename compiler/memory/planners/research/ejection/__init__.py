"""Packings by ejection: a block that fits into no gap ejects other blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.memory.buffer import Block
from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import is_open, start_of
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.planners.research.joining import CAREFUL, Joined, forms, inside, whole
from compiler.memory.planners.research.rejoining import rejoining
from compiler.memory.problem import Problem

CHANCES = (CAREFUL, 0.0)
"""Limits on the expected number of chance matches of a join (joining.py); 0 leaves blocks unjoined.
The planner places the smallest known set of rectangles first, then the rectangles of each limit.
Each attempt gets half of the remaining time; the last attempt, with unjoined blocks, gets the
rest."""


@planner(
    searches=True,
    source="ejection chains, Glover 1996; weights as in the breakout method, Morris 1993",
    example=FIVE_BUFFERS,
)
def ejection(problem: Problem, options: Options) -> Outcome:
    """Move the blocks above a target peak to offsets of least cost, and eject the blocks there.

    Ejected blocks are placed in the same way, until all blocks are below the target. Each ejection
    of a block makes its next ejection more expensive. The planner first places rectangles of joined
    blocks, then single blocks. Good for tight problems (with little spare memory) that are too
    large for complete search. This planner proves no bound.
    """
    start = start_of(problem, options)
    if not is_open(start, problem, options):
        return start
    best, deadline = start, options.deadline()
    blocks = whole(problem.blocks)
    fewest = rejoining(problem, options).rectangles()
    for rectangles in (fewest, *forms(blocks, CHANCES)):
        as_they_are = all(len(r.parts) == 1 for r in rectangles)
        left = deadline - now()
        until = deadline if as_they_are else deadline - left / 2
        first = _offsets(best, problem) if as_they_are else None
        for offsets in _packings(rectangles, first, options, problem, until):
            found = placed(problem, offsets, options)
            best = found if found.plan.peak_bytes < best.plan.peak_bytes else best
            if best.stopped != "finished":
                return best
    return best


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
    """Yield offsets of all blocks, each time with a smaller peak, until the time is up.

    `first` has the initial offsets; if it is None, a greedy packing of the rectangles is used.
    """
    from compiler.memory.planners.research.ejection.search import Search

    unit = max(b.alignment_bytes for b in problem.blocks)
    outer = [Block((), r.size, r.start, r.end, unit) for r in rectangles]
    search = Search(outer, options.seed)
    begin = None if first is None else [first[r.parts[0][0]] for r in rectangles]
    wanted = options.wanted_bytes(problem)
    for packing in search.packings(begin, wanted, until):
        yield inside(rectangles, packing, len(problem.blocks))
