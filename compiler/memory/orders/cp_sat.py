"""The order of the smallest arena, found by a constraint solver for small graphs."""

from __future__ import annotations

from compiler.memory.orders.best import best
from compiler.memory.orders.declare import order_method
from compiler.memory.orders.greedy import TWO_CHAINS
from compiler.memory.orders.tasks import Tasks

MOST_TASKS = 40
"""Largest number of tasks: for more tasks, the solver hardly improves its initial solution."""


@order_method("cp_sat", example=(TWO_CHAINS, 1024 + 64))
def cp_sat(tasks: Tasks) -> list[int]:
    """Choose order and offsets together by a constraint solver, for up to 40 tasks.

    This method minimises the arena, not the live bytes. For more than 40 tasks, the result is the
    order of the method `best`.
    Source: OLLA (Steiner et al. 2022, arXiv:2210.12924), with non-overlapping rectangles instead of
    its integer program.
    """
    if len(tasks) > MOST_TASKS:
        return best(tasks)
    # Compiling with `best` must not import the solver's model.
    from compiler.memory.orders.joint import joint

    return list(joint(tasks).order)
