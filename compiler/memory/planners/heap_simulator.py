"""Buffer assignment by replaying the allocations and releases of a heap."""

from __future__ import annotations

from compiler.memory.planners.examples import FOUR_BUFFERS
from compiler.memory.planners.greedy import best_of
from compiler.memory.planners.keys import by_lifetime, by_size, by_start
from compiler.memory.planners.planner import Options, Outcome, planner
from compiler.memory.problem import Problem


@planner(
    source="XLA, heap_simulator.cc: GlobalDecreasingSizeBestFitHeap and ChooseBestHeapAlgorithm",
    example=FOUR_BUFFERS,
)
def heap_simulator(problem: Problem, options: Options) -> Outcome:
    """Replay best fit in three orders (size, lifetime, start), and choose the smallest heap.

    Unlike a run-time allocator, this planner knows the entire program when it places the first
    buffer. Good for all kinds of programs, and fast on very large programs.
    """
    return best_of(problem, options, [(by_size, "best"), (by_lifetime, "best"), (by_start, "best")])
