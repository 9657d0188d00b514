"""Planners that place blocks in one fixed order, or in the best of a few."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from compiler.memory.buffer import Block
from compiler.memory.planners.examples import FOUR_BUFFERS
from compiler.memory.planners.place import MANY, Fit, Key, by, place
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem


def by_size(b: Block) -> tuple[float, ...]:
    """The largest first."""
    return (-b.size, b.start, b.end)


def by_lifetime(b: Block) -> tuple[float, ...]:
    """The longest-lived first."""
    return (b.start - b.end, -b.size, b.start)


def by_start(b: Block) -> tuple[float, ...]:
    """As a program comes to need them, the largest first at one step."""
    return (b.start, -b.size)


def by_area(b: Block) -> tuple[float, ...]:
    """The largest product of bytes and steps first."""
    return (-b.size * (b.end - b.start), b.start)


QUICK: Sequence[tuple[Key, Fit]] = (
    (by_size, "best"),
    (by_area, "best"),
    (by_lifetime, "best"),
    (by_start, "best"),
)
"""Orders worth a try, the best for most problems first."""


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
    example="""
    plan 0 bytes, alignment 1 {
      a: 5 bytes, live 0..1
      b: 2 bytes, live 0..9
      c: 3 bytes, live 1..9
      d: 4 bytes, live 1..2
    }
    =>
    plan 9 bytes, alignment 1 {
      a: 5 bytes at 2, live 0..1
      b: 2 bytes at 0, live 0..9
      c: 3 bytes at 2, live 1..9
      d: 4 bytes at 5, live 1..2
    }
    """,
)
def greedy_by_span(problem: Problem, options: Options) -> Outcome:
    """Long-lived buffers first, in a few classes each eight times as long-lived; by size in each.

    Size decides as in greedy by size, and short-lived buffers never split the room of long-lived
    ones. Good and fast for programs with very many buffers.
    """
    blocks = problem.blocks
    spans = _classes(blocks)
    order = sorted(range(len(blocks)), key=lambda i: (-spans[i], *by_size(blocks[i])))
    return placed(problem, place(blocks, order, "best"), options)


SHORTEST = 200
"""Lifetimes up to this part of all steps are one class, the shortest."""


def _classes(blocks: Sequence[Block]) -> list[int]:
    """How long-lived each block is: 0 for the shortest, 1 for up to eight times as long, ..."""
    steps = max((b.end for b in blocks), default=0) - min((b.start for b in blocks), default=0)
    unit = max(1, steps // SHORTEST)
    return [(((b.end - b.start - 1) // unit).bit_length() + 2) // 3 for b in blocks]


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
    order = _by_breadth(problem.blocks)
    return placed(problem, place(problem.blocks, order, "best"), options)


def _by_breadth(blocks: Sequence[Block]) -> list[int]:
    """A block's turn comes with the broadest step that it lives in."""
    steps = sorted({b.start for b in blocks})
    change = dict.fromkeys(steps, 0)
    for b in blocks:
        change[b.start] += b.size
        behind = bisect_left(steps, b.end)
        if behind < len(steps):
            change[steps[behind]] -= b.size
    breadth, now = [], 0
    for step in steps:
        now += change[step]
        breadth.append(now)
    widest = RangeMaximum(breadth)
    broadest = [widest.over(bisect_left(steps, b.start), bisect_left(steps, b.end)) for b in blocks]
    return sorted(range(len(blocks)), key=lambda i: (-broadest[i], *by_size(blocks[i])))


class RangeMaximum:
    """The largest of any run of numbers, from tables of runs of 1, 2, 4, ... numbers."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.tables = [list(numbers)]
        width = 1
        while 2 * width <= len(numbers):
            row = self.tables[-1]
            self.tables.append([max(a, b) for a, b in zip(row, row[width:], strict=False)])
            width *= 2

    def over(self, start: int, end: int) -> int:
        """The largest of the numbers from `start` until before `end`; there is at least one."""
        level = (end - start).bit_length() - 1
        row = self.tables[level]
        return max(row[start], row[end - (1 << level)])


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


def conflicts(blocks: Sequence[Block]) -> list[int]:
    """With how many others each block is alive at some step."""
    starts = sorted(b.start for b in blocks)
    ends = sorted(b.end for b in blocks)
    begun = [bisect_left(starts, b.end) for b in blocks]
    return [n - bisect_right(ends, b.start) - 1 for n, b in zip(begun, blocks, strict=True)]


def best_of(problem: Problem, options: Options, tries: Sequence[tuple[Key, Fit]]) -> Outcome:
    """The smallest of the plans of several orders; later ones only while there is a gap."""
    best: Outcome | None = None
    wanted = options.wanted_bytes(problem)
    for key, fit in tries:
        found = placed(problem, place(problem.blocks, by(key, problem.blocks), fit), options)
        if best is None or found.plan.peak_bytes < best.plan.peak_bytes:
            best = found
        if found.plan.peak_bytes <= wanted:
            break
    assert best is not None
    return best


def start_of(problem: Problem, options: Options) -> Outcome:
    """What searches start from: the best of four orders, for very many blocks one that is fast."""
    if len(problem.blocks) >= MANY:
        return greedy_by_span.plan(problem, options)
    return best_of(problem, options, QUICK)


@planner(
    source="the orders of greedy_by_size and of XLA's heap simulator, and area besides",
    example=FOUR_BUFFERS,
)
def greedy(problem: Problem, options: Options) -> Outcome:
    """The best of four orders: by size, by size times lifetime, by lifetime, by start.

    Later orders are tried only where a gap to the lower bound is left, so that it costs next to
    nothing on networks, where the first is optimal nearly always.
    """
    return best_of(problem, options, QUICK)
