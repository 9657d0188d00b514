"""The order that comes with the smallest arena, found by a constraint solver for small graphs."""

from __future__ import annotations

from compiler.memory.orders.best import best
from compiler.memory.orders.declare import order_method
from compiler.memory.orders.greedy import TWO_CHAINS
from compiler.memory.orders.tasks import Tasks

MOST_TASKS = 40
"""For more tasks the search would hardly get below what it starts from."""


@order_method("cp_sat", example=(TWO_CHAINS, 1024 + 64))
def cp_sat(tasks: Tasks) -> list[int]:
    """Order and places in the arena chosen at once by a constraint solver, for up to 40 tasks.

    It looks for the smallest arena, not for the fewest live bytes; larger graphs get the order of
    `best`. Source: OLLA (Steiner et al. 2022, arXiv:2210.12924), here with rectangles that do not
    overlap in the place of its integer program.
    """
    if len(tasks) > MOST_TASKS:
        return best(tasks)
    # What compiles programs by `best` needs no model of the solver.
    from compiler.memory.orders.joint import joint

    return list(joint(tasks).order)
