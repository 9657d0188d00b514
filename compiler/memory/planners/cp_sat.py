"""Planning as a constraint program: non-overlapping rectangles of time and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.memory.buffer import Block
from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import start_of
from compiler.memory.planners.place import MANY
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem

FEWEST_SECONDS = 0.01
"""The shortest time in seconds for which a search is started."""


@planner(
    searches=True,
    needs="ortools",
    source="OR-tools CP-SAT, NoOverlap2D; as in OLLA, arXiv:2210.12924, for a fixed order",
    example=FIVE_BUFFERS,
)
def cp_sat(problem: Problem, options: Options) -> Outcome:
    """Solve the entire problem with a constraint solver, started from the best greedy order.

    The solver proves optimality if time permits, and raises the lower bound meanwhile. Good for up
    to a few hundred buffers. On tight problems (with little spare memory), the other searches are
    faster.
    """
    start = start_of(problem, options)
    if start.stopped != "finished" or options.time_limit_s < FEWEST_SECONDS:
        return start
    if len(problem.blocks) >= MANY:  # building the model would exceed most time limits
        return start
    blocks = [b for b in problem.blocks if b.size]
    known = [start.plan.buffers[b.members[0]].offset for b in blocks]
    return _solved(problem, blocks, known, start, options)


def _solved(
    problem: Problem,
    blocks: Sequence[Block],
    known: Sequence[int],
    start: Outcome,
    options: Options,
) -> Outcome:
    from ortools.sat.python import cp_model

    most = start.plan.peak_bytes
    model = cp_model.CpModel()
    peak = model.new_int_var(problem.lower_bound_bytes, most, "peak")
    model.add_hint(peak, most)
    offsets = [_offset(model, b, most, at) for b, at in zip(blocks, known, strict=True)]
    boxes: list[Any] = []
    for b, offset in zip(blocks, offsets, strict=True):
        boxes.append(model.new_interval_var(offset, b.size, offset + b.size, ""))
        model.add(offset + b.size <= peak)
    lives = [model.new_fixed_size_interval_var(b.start, b.end - b.start, "") for b in blocks]
    model.add_no_overlap_2d(lives, boxes)
    # A redundant constraint prunes the search: at each step, the live bytes are at most the peak.
    model.add_cumulative(lives, [b.size for b in blocks], peak)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = options.time_limit_s
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = options.seed
    wanted = options.wanted_bytes(problem)
    status = solver.solve(model, _stop_at(wanted))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Outcome(start.plan, start.lower_bound_bytes, "time")
    places = iter([solver.value(offset) for offset in offsets])
    found = placed(
        problem,
        [next(places) if b.size else max(b.pinned, 0) for b in problem.blocks],
        options,
        "time",
    )
    bound = max(found.lower_bound_bytes, -int(-solver.best_objective_bound // 1))
    stopped = "optimal" if status == cp_model.OPTIMAL else found.stopped
    return Outcome(found.plan, bound, stopped)


def _offset(model: Any, b: Block, most: int, hint: int) -> Any:
    """Return a variable for a block's offset: a multiple of its alignment, or its pin."""
    if b.pinned >= 0:
        return model.new_constant(b.pinned)
    turn = model.new_int_var(0, (most - b.size) // b.alignment_bytes, "")
    model.add_hint(turn, hint // b.alignment_bytes)
    return turn * b.alignment_bytes


def _stop_at(wanted_bytes: int) -> Any:
    """Return a callback that ends the search at the first plan that is small enough."""
    from ortools.sat.python import cp_model

    class Stop(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if self.objective_value <= wanted_bytes:
                self.stop_search()

    return Stop()
