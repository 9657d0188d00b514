"""Order and offsets together by constraint programming: an exact search for small graphs.

The lowest peak of live bytes is not always the arena's size, since offsets leave gaps. A single
search chooses order and offsets together, and proves a lower bound for all orders and offsets.
"""

from __future__ import annotations

from dataclasses import field
from math import gcd
from typing import TYPE_CHECKING, Any

from compiler.dataclass import dataclass
from compiler.memory.orders.best import best
from compiler.memory.orders.tasks import Tasks

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

LIMIT_S = 20.0
"""Time limit of the single worker, in the solver's deterministic time, which is close to
seconds."""


@dataclass(frozen=True, slots=True)
class Joint:
    """An order of tasks, with an offset for each value. Units: bytes.

    `offsets` has the offsets by value, `scratch` the offsets of temporaries by task. No combination
    of order and offsets needs less than `bound_bytes`.
    """

    order: tuple[int, ...]
    offsets: tuple[int, ...]
    scratch: tuple[int, ...]
    arena_bytes: int
    bound_bytes: int

    @property
    def is_optimal(self) -> bool:
        """Return whether the arena is as small as the proven bound."""
        return self.arena_bytes == self.bound_bytes


def joint(tasks: Tasks, limit_s: float = LIMIT_S) -> Joint:
    """Find the smallest arena over all orders and offsets within the time limit.

    A result may be computed in place of a dying operand. Results are deterministic: one worker, a
    fixed seed, and a limit that counts work instead of time.
    """
    if not len(tasks):
        return Joint((), (), (), 0, 0)
    return _Model(tasks).solved(limit_s)


@dataclass
class _Model:
    """A model with a rectangle of steps and bytes for each value and temporary.

    The unit of bytes is the common divisor of all sizes.
    """

    tasks: Tasks
    unit: int = 1
    model: Any = None
    position: list[cp_model.IntVar] = field(default_factory=list)
    rectangles: list[tuple[Any, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        from ortools.sat.python import cp_model

        tasks, n = self.tasks, len(self.tasks)
        self.unit = max(gcd(*tasks.sizes, *tasks.scratch), 1)
        self.top = sum(tasks.sizes) + sum(tasks.scratch)
        self.top //= self.unit
        self.model = m = cp_model.CpModel()
        self.position = [m.new_int_var(0, n - 1, f"position{t}") for t in range(n)]
        m.add_all_different(self.position)
        for t, before in enumerate(tasks.before):
            for b in before:
                m.add(self.position[b] < self.position[t])
        self.peak = m.new_int_var(tasks.least_bytes // self.unit, self.top, "peak")
        self.offset = [self._place(size, f"offset{v}") for v, size in enumerate(tasks.sizes)]
        self.scratch = [self._place(size, f"scratch{t}") for t, size in enumerate(tasks.scratch)]
        late = self._in_place()
        for v in range(len(tasks.sizes)):
            self._value(v, late.get(v, []))
        for t, size in enumerate(tasks.scratch):
            if size:
                p = self.position[t]
                self._rectangle(p, p + 1, self.scratch[t], size, None)
        m.add_no_overlap_2d([r[0] for r in self.rectangles], [r[1] for r in self.rectangles])
        m.minimize(self.peak)

    def _place(self, size: int, name: str) -> Any:
        size //= self.unit
        offset = self.model.new_int_var(0, self.top - size, name)
        if size:
            self.model.add(offset + size <= self.peak)
        return offset

    def _in_place(self) -> dict[int, list[Any]]:
        """Return, for each value, Boolean variables: one for each operand that it may overwrite.

        A value that overwrites an operand starts one step later, when the operand ends.
        """
        m, tasks = self.model, self.tasks
        chosen: dict[int, list[Any]] = {}
        given: dict[int, list[Any]] = {}
        for t, pairs in enumerate(tasks.over):
            for y, operands in pairs:
                for x in operands:
                    if x in tasks.kept:
                        continue
                    over = m.new_bool_var(f"{y} over {x}")
                    m.add(self.offset[y] == self.offset[x]).only_enforce_if(over)
                    for r in tasks.readers[x]:
                        if r != t:
                            m.add(self.position[r] < self.position[t]).only_enforce_if(over)
                    chosen.setdefault(y, []).append(over)
                    given.setdefault(x, []).append(over)
        for literals in (*chosen.values(), *given.values()):
            m.add_at_most_one(literals)
        return chosen

    def _value(self, v: int, late: list[Any]) -> None:
        m, tasks, n = self.model, self.tasks, len(self.tasks)
        size = tasks.sizes[v]
        writer = next((t for t, values in enumerate(tasks.writes) if v in values), None)
        if not size or (writer is None and v not in tasks.present):
            return
        start: Any = 0
        if writer is not None:
            start = m.new_int_var(0, n, f"start{v}")
            m.add(start == self.position[writer] + sum(late))
        read = [self.position[r] + 1 for r in tasks.readers[v]]
        if v in tasks.kept:
            self._rectangle(start, n, self.offset[v], size, None)
        elif read:
            end = m.new_int_var(1, n, f"end{v}")
            for position in read:
                m.add(end >= position)
            self._rectangle(start, end, self.offset[v], size, None)
        elif writer is not None:
            # A value without readers needs a rectangle only if it does not overwrite an operand.
            alone = m.new_bool_var(f"alone{v}")
            m.add(sum(late) + alone == 1)
            p = self.position[writer]
            self._rectangle(p, p + 1, self.offset[v], size, alone)

    def _rectangle(self, start: Any, end: Any, offset: Any, size: int, present: Any) -> None:
        m, number = self.model, len(self.rectangles)
        size //= self.unit
        length = m.new_int_var(0, len(self.tasks), f"length{number}")
        if present is None:
            steps = m.new_interval_var(start, length, end, f"steps{number}")
            place = m.new_interval_var(offset, size, offset + size, f"bytes{number}")
        else:
            steps = m.new_optional_interval_var(start, length, end, present, f"steps{number}")
            place = m.new_optional_interval_var(
                offset, size, offset + size, present, f"bytes{number}"
            )
        self.rectangles.append((steps, place))

    def solved(self, limit_s: float) -> Joint:
        from ortools.sat.python import cp_model

        for place, t in enumerate(best(self.tasks)):
            self.model.add_hint(self.position[t], place)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = limit_s
        status = solver.solve(self.model)
        assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE), solver.status_name(status)
        position = [solver.value(p) for p in self.position]
        order = sorted(range(len(position)), key=lambda t: position[t])
        return Joint(
            tuple(order),
            tuple(solver.value(o) * self.unit for o in self.offset),
            tuple(solver.value(o) * self.unit for o in self.scratch),
            solver.value(self.peak) * self.unit,
            round(solver.best_objective_bound) * self.unit,
        )
