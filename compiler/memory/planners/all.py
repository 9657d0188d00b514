"""All planners by name, the simplest first."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.memory.planners.best import best
from compiler.memory.planners.cp_sat import cp_sat
from compiler.memory.planners.exact import exact
from compiler.memory.planners.greedy import greedy
from compiler.memory.planners.heap_simulator import heap_simulator
from compiler.memory.planners.hill_climb import hill_climb
from compiler.memory.planners.linear_scan import linear_scan
from compiler.memory.planners.orders import (
    best_fit,
    first_fit,
    greedy_by_area,
    greedy_by_breadth,
    greedy_by_conflicts,
    greedy_by_halves,
    greedy_by_lifetime,
    greedy_by_size,
    greedy_by_span,
    naive,
)
from compiler.memory.planners.planner import Planner
from compiler.memory.planners.quick import quick
from compiler.memory.planners.research.annealed import annealed
from compiler.memory.planners.research.ejection import ejection
from compiler.memory.planners.research.joined import joined
from compiler.memory.planners.research.planar import planar
from compiler.memory.planners.research.rejoined import rejoined
from compiler.memory.planners.research.repair import repair
from compiler.memory.planners.research.skyline import skyline

PLANNERS: Mapping[str, Planner] = {
    p.name: p
    for p in (
        naive,
        linear_scan,
        first_fit,
        best_fit,
        greedy_by_size,
        greedy_by_area,
        greedy_by_lifetime,
        greedy_by_span,
        greedy_by_halves,
        greedy_by_breadth,
        greedy_by_conflicts,
        greedy,
        quick,
        heap_simulator,
        hill_climb,
        exact,
        joined,
        rejoined,
        annealed,
        planar,
        skyline,
        ejection,
        repair,
        cp_sat,
        best,
    )
}
