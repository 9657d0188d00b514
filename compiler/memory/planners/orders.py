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
    source="the yardstick of Pisarchyk and Lee 2020, arXiv:2001.03288",
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
    """Every buffer has bytes of its own, as if all of them lived from the beginning to the end.

    Good for nothing but comparison: the peak is the sum of all sizes.
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
    """Buffers in the order of their first steps, each in the lowest gap that holds it.

    What an allocator would do that is asked while the program runs and looks from the bottom. Good
    when lifetimes are nested like brackets; later buffers pay for what earlier ones split.
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
    """Buffers in the order of their first steps, each in the smallest gap that holds it.

    What most allocators of running programs do. Keeps large gaps for large buffers, and leaves
    small splinters behind.
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
    """The largest buffer first, each in the smallest gap between those placed before.

    Large buffers decide the peak and small ones fit between them. Hard to beat on networks in
    which a few tensors are much larger than the rest.
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
    """The largest product of bytes and steps first, each in the smallest gap.

    Between size and lifetime: what takes most of the picture of time and memory is hung first.
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
    """The longest-lived buffer first, of equal ones the largest, each in the smallest gap.

    Long-lived buffers lie side by side at the bottom, and the short-lived ones above them are
    few at any step. The best order for programs with very many buffers, and the fastest there.
    """
    order = by(by_lifetime, problem.blocks)
    return placed(problem, place(problem.blocks, order, "best"), options)


@planner(
    source="classes of lifetimes as in the boxing of Buchsbaum et al., STOC 2003, and idealloc, "
    "arXiv:2504.04874; within a class greedy by size",
    example=TWO_SPANS,
)
def greedy_by_span(problem: Problem, options: Options) -> Outcome:
    """Long-lived buffers first, in a few classes each eight times as long-lived; by size in each.

    Size decides as in greedy by size, and short-lived buffers never split the room of long-lived
    ones. Good and fast for programs with very many buffers.
    """
    return placed(problem, place(problem.blocks, by_span(problem.blocks), "best"), options)


@planner(
    source="the interval tree, Edelsbrunner 1980, and the division of time in the boxing of "
    "Buchsbaum et al., STOC 2003; in each part the order of greedy_by_span",
    example=TWO_SPANS,
)
def greedy_by_halves(problem: Problem, options: Options) -> Outcome:
    """What is alive in the middle of all steps first; then each half of the steps by itself.

    Of what lives at other times, a half sees only what lies around its gaps. Hardly more work for
    each of a million buffers than for each of a thousand; the plans are nearly as small.
    """
    # numpy and compiled loops: few programs have so many buffers.
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
    """The step with the most live bytes first: its buffers by size, then the next such step.

    The steps that decide the peak are packed while everything is still free. Good when few steps
    are much broader than the rest.
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
    """The buffer first that lives together with the most others, then by size; lowest gap.

    What lives long and meets everything goes to the bottom, out of the way. Good when a few small
    buffers live through all of the program.
    """
    n = conflicts(problem.blocks)
    order = sorted(range(len(problem.blocks)), key=lambda i: (-n[i], *by_size(problem.blocks[i])))
    return placed(problem, place(problem.blocks, order, "first"), options)
