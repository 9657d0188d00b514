"""Planners that place blocks in one fixed order."""

from __future__ import annotations

from compiler.memory.buffer import Block
from compiler.memory.planners.examples import TWO_SPANS
from compiler.memory.planners.keys import (
    by,
    by_area,
    by_breadth,
    by_lifetime,
    by_size,
    by_span,
    by_start,
    conflicts,
)
from compiler.memory.planners.place import place
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem


@planner(
    source="the baseline of Pisarchyk and Lee 2020, arXiv:2001.03288",
    example="""
    plan 0 bytes, alignment 1 {
      a: 4 bytes, live 0..2
      b: 3 bytes, live 2..5
      c: 2 bytes, live 1..4
    }
    =>
    plan 9 bytes, alignment 1 {
      a: 4 bytes at 0, live 0..2
      b: 3 bytes at 4, live 2..5
      c: 2 bytes at 7, live 1..4
    }
    """,
)
def naive(problem: Problem, options: Options) -> Outcome:
    """Give each buffer separate bytes, as if all buffers were alive throughout the program.

    This planner is a baseline only: the peak is the sum of all sizes.
    """
    blocks = problem.blocks
    end = max((b.end for b in blocks), default=0)
    always = [
        b if b.pinned >= 0 else Block(b.members, b.size, 0, end, b.alignment_bytes) for b in blocks
    ]
    return placed(problem, place(always, range(len(blocks)), "first"), options)


@planner(
    source="Knuth, The Art of Computer Programming 1, section 2.5: dynamic storage allocation",
    example="""
    plan 0 bytes, alignment 1 {
      a: 4 bytes, live 0..2
      b: 3 bytes, live 2..5
      c: 2 bytes, live 1..4
    }
    =>
    plan 6 bytes, alignment 1 {
      a: 4 bytes at 0, live 0..2
      b: 3 bytes at 0, live 2..5
      c: 2 bytes at 4, live 1..4
    }
    """,
)
def first_fit(problem: Problem, options: Options) -> Outcome:
    """Place buffers in the order of their first steps, each in the lowest sufficient gap.

    This planner models a run-time allocator that searches from the bottom. Good if lifetimes are
    nested like brackets; otherwise, later buffers suffer from fragmentation.
    """
    order = by(by_start, problem.blocks)
    return placed(problem, place(problem.blocks, order, "first"), options)


@planner(
    source="Knuth, The Art of Computer Programming 1, section 2.5: dynamic storage allocation",
    example="""
    plan 0 bytes, alignment 1 {
      a: 5 bytes, live 0..1
      b: 2 bytes, live 0..3
      c: 3 bytes, live 0..1
      d: 1 bytes, live 0..3
      e: 3 bytes, live 1..3
    }
    =>
    plan 11 bytes, alignment 1 {
      a: 5 bytes at 0, live 0..1
      b: 2 bytes at 8, live 0..3
      c: 3 bytes at 5, live 0..1
      d: 1 bytes at 10, live 0..3
      e: 3 bytes at 0, live 1..3
    }
    """,
)
def best_fit(problem: Problem, options: Options) -> Outcome:
    """Place buffers in the order of their first steps, each in the smallest sufficient gap.

    This planner models most run-time allocators. Large gaps remain available for large buffers, but
    many small gaps (fragments) remain too.
    """
    order = by(by_start, problem.blocks)
    return placed(problem, place(problem.blocks, order, "best"), options)


@planner(
    source="Pisarchyk and Lee 2020, arXiv:2001.03288, greedy by size for offset calculation; "
    "the arena of TensorFlow Lite",
    example="""
    plan 0 bytes, alignment 1 {
      a: 2 bytes, live 0..2
      b: 5 bytes, live 1..3
      c: 4 bytes, live 2..4
    }
    =>
    plan 9 bytes, alignment 1 {
      a: 2 bytes at 5, live 0..2
      b: 5 bytes at 0, live 1..3
      c: 4 bytes at 5, live 2..4
    }
    """,
)
def greedy_by_size(problem: Problem, options: Options) -> Outcome:
    """Place buffers by decreasing size, each in the smallest gap between placed buffers.

    Large buffers determine the peak, and small buffers fit between them. Other planners seldom find
    smaller plans for networks in which a few tensors are much larger than all others.
    """
    order = by(by_size, problem.blocks)
    return placed(problem, place(problem.blocks, order, "best"), options)


@planner(
    source="one of the preorders of MiniMalloc, Moffitt, ASPLOS 2023",
    example="""
    plan 0 bytes, alignment 1 {
      a: 5 bytes, live 0..1
      b: 2 bytes, live 0..4
      c: 3 bytes, live 1..4
    }
    =>
    plan 10 bytes, alignment 1 {
      a: 5 bytes at 5, live 0..1
      b: 2 bytes at 3, live 0..4
      c: 3 bytes at 0, live 1..4
    }
    """,
)
def greedy_by_area(problem: Problem, options: Options) -> Outcome:
    """Place buffers by decreasing product of bytes and steps, each in the smallest gap.

    A compromise between size and lifetime: the largest area of memory and time comes first.
    """
    order = by(by_area, problem.blocks)
    return placed(problem, place(problem.blocks, order, "best"), options)


@planner(
    source="XLA, heap_simulator.cc: GlobalDecreasingSizeBestFitHeap with kTemporal",
    example="""
    plan 0 bytes, alignment 1 {
      a: 5 bytes, live 0..1
      b: 2 bytes, live 0..4
      c: 3 bytes, live 1..4
    }
    =>
    plan 7 bytes, alignment 1 {
      a: 5 bytes at 2, live 0..1
      b: 2 bytes at 0, live 0..4
      c: 3 bytes at 2, live 1..4
    }
    """,
)
def greedy_by_lifetime(problem: Problem, options: Options) -> Outcome:
    """Place buffers by decreasing lifetime, ties by size, each in the smallest gap.

    Long-lived buffers are packed at the bottom. Above them, few short-lived buffers are alive at
    any step. Good and fast for programs with very many buffers.
    """
    order = by(by_lifetime, problem.blocks)
    return placed(problem, place(problem.blocks, order, "best"), options)


@planner(
    source="classes of lifetimes as in the boxing of Buchsbaum et al., STOC 2003, and idealloc, "
    "arXiv:2504.04874; within a class greedy by size",
    example=TWO_SPANS,
)
def greedy_by_span(problem: Problem, options: Options) -> Outcome:
    """Place buffers by lifetime class (a factor of eight each), longest first; then by size.

    Short-lived buffers are placed last, so they do not fragment the memory of long-lived buffers.
    Good and fast for programs with very many buffers.
    """
    return placed(problem, place(problem.blocks, by_span(problem.blocks), "best"), options)


@planner(
    source="the interval tree, Edelsbrunner 1980, and the division of time in the boxing of "
    "Buchsbaum et al., STOC 2003; in each part the order of greedy_by_span",
    example=TWO_SPANS,
)
def greedy_by_halves(problem: Problem, options: Options) -> Outcome:
    """Place the buffers alive at the middle step first, then each half of the steps recursively.

    The buffers of each half are placed in the gaps between the buffers placed before. Good for very
    many buffers: the time per buffer hardly grows from a thousand to a million buffers. The plans
    are hardly larger than without halving.
    """
    # Imported late, because it needs numpy, and few programs have so many buffers.
    from compiler.memory.planners.halves import place_by_halves

    offsets = place_by_halves(problem.blocks, by_span(problem.blocks), "best")
    return placed(problem, offsets, options)


@planner(
    source="Pisarchyk and Lee 2020, arXiv:2001.03288, greedy by breadth",
    example="""
    plan 0 bytes, alignment 1 {
      a: 6 bytes, live 0..1
      b: 4 bytes, live 1..3
      c: 5 bytes, live 1..2
      d: 3 bytes, live 2..3
    }
    =>
    plan 9 bytes, alignment 1 {
      a: 6 bytes at 0, live 0..1
      b: 4 bytes at 5, live 1..3
      c: 5 bytes at 0, live 1..2
      d: 3 bytes at 0, live 2..3
    }
    """,
)
def greedy_by_breadth(problem: Problem, options: Options) -> Outcome:
    """Place buffers by decreasing live bytes of their fullest step, ties by size.

    So the steps with the most live bytes are packed first, while memory is empty. Good if few steps
    have many more live bytes than all other steps.
    """
    order = by_breadth(problem.blocks)
    return placed(problem, place(problem.blocks, order, "best"), options)


@planner(
    source="Apache TVM, unified static memory planner (USMP), greedy by conflicts",
    example="""
    plan 0 bytes, alignment 1 {
      a: 2 bytes, live 0..6
      b: 5 bytes, live 0..2
      c: 4 bytes, live 2..3
      d: 3 bytes, live 3..6
    }
    =>
    plan 7 bytes, alignment 1 {
      a: 2 bytes at 0, live 0..6
      b: 5 bytes at 2, live 0..2
      c: 4 bytes at 2, live 2..3
      d: 3 bytes at 2, live 3..6
    }
    """,
)
def greedy_by_conflicts(problem: Problem, options: Options) -> Outcome:
    """Place buffers by decreasing number of conflicts, ties by size, each in the lowest gap.

    Long-lived buffers, which conflict with most other buffers, are placed at the bottom. Good if a
    few small buffers are alive throughout the program.
    """
    n = conflicts(problem.blocks)
    order = sorted(range(len(problem.blocks)), key=lambda i: (-n[i], *by_size(problem.blocks[i])))
    return placed(problem, place(problem.blocks, order, "first"), options)
