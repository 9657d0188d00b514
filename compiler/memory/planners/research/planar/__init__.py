"""Plans without gaps, found as drawings of a planar network."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from compiler.memory.buffer import Block, live_bytes
from compiler.memory.planners.greedy import start_of
from compiler.memory.planners.native import now
from compiler.memory.planners.place import MANY
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.planners.research.joining import (
    BOLD,
    CAREFUL,
    Joined,
    forms,
    inside,
    joinable,
    whole,
)
from compiler.memory.planners.research.planar.sweep import Sweep
from compiler.memory.planners.research.spare import spare_blocks
from compiler.memory.problem import Problem

CHANCES = (CAREFUL, BOLD, 0.0)
"""Limits, in this order, on the expected number of chance matches of joins before a sweep. With 0,
blocks are not joined, because wrong joins may exclude all plans."""

MOST_SPARE = 0.15
"""Maximum number of spare blocks (spare.py), as a fraction of the number of other blocks."""

WIDTHS = (2, 8, 32, 128, 512)
"""Beam widths of successive sweeps. With spare memory, only the first one or two widths are used,
since wider beams seldom help."""


@planner(
    searches=True,
    source="Brooks, Smith, Stone and Tutte 1940 for dissections as networks; Booth and Lueker 1976 "
    "for PQ-trees",
    example="""
    plan 0 bytes, alignment 1 {
      a: 2 bytes, live 0..5
      b: 5 bytes, live 0..2
      c: 4 bytes, live 2..7
      d: 1 bytes, live 2..5
      e: 3 bytes, live 5..7
    }
    =>
    plan 7 bytes, alignment 1 {
      a: 2 bytes at 5, live 0..5
      b: 5 bytes at 0, live 0..2
      c: 4 bytes at 0, live 2..7
      d: 1 bytes at 4, live 2..5
      e: 3 bytes at 4, live 5..7
    }
    """,
)
def planar(problem: Problem, options: Options) -> Outcome:
    """Find a plan without gaps: at each step, new buffers reuse exactly the bytes of ended ones.

    At a step, a set of ending buffers hands its bytes over to a set of beginning buffers with an
    equal sum. Such a pair of sets is a node of a network. Buffers are the edges, and a plan is a
    planar drawing. A sweep over the steps represents all possible orders of the live buffers in
    memory by a PQ-tree. The sweep follows several branches if sums may be equal by chance. Good for
    tight problems (with little spare memory) of any size.
    """
    start = start_of(problem, options)
    blocks = whole(problem.blocks)
    if start.stopped != "finished" or len(blocks) >= MANY or not joinable(blocks):
        return start
    deadline = options.deadline()
    unit = max(b.alignment_bytes for b in blocks)
    capacity = max(options.wanted_bytes(problem) // unit * unit, live_bytes(blocks))
    spare = spare_blocks(blocks, capacity)
    if len(spare) > MOST_SPARE * len(blocks):
        return start
    full = [_attempts([*blocks, *spare], capacity, WIDTHS[:1] if spare else WIDTHS)]
    open_ended = [_attempts(blocks, capacity, WIDTHS[:2])] if spare else []
    for rectangles, sweep, width in itertools.chain(*full, *open_ended):
        offsets = sweep.packed(width, deadline)
        if offsets is not None:
            return placed(problem, inside(rectangles, offsets, len(blocks)), options)
        if now() >= deadline:
            return replace(start, stopped="time")
    return start


def _attempts(
    blocks: Sequence[Block], capacity_bytes: int, widths: Sequence[int]
) -> Iterator[tuple[Sequence[Joined], Sweep, int]]:
    """Yield rectangles, a sweep over them (forward or backward in time), and its beam width."""
    made: list[tuple[Sequence[Joined], Sweep]] = []
    for rectangles in forms(blocks, CHANCES):
        forward = [(j.start, j.end, j.size) for j in rectangles]
        backward = [(-j.end, -j.start, j.size) for j in rectangles]
        for spans in (forward, backward):
            made.append((rectangles, Sweep(spans, capacity_bytes)))
            yield *made[-1], widths[0]
    for width in widths[1:]:
        for rectangles, sweep in made:
            yield rectangles, sweep, width
