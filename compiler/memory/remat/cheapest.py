"""Optimal rematerialisation for small graphs: least time within a memory limit, or least memory.

The search covers all orders and all recomputations. A state consists of the values in memory and
the finished tasks. The possible next steps of a program depend only on its state, so a sequence of
task runs is a path through states. Dijkstra's algorithm finds the cheapest path to a final state,
or the path of the lowest peak.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.memory.orders.tasks import Tasks
from compiler.memory.remat.repeated import Repeated

MOST_STATES = 20_000
"""Largest number of visited states; small graphs have fewer states."""

MOST_TASKS = 16
"""Largest number of tasks; graphs with more tasks mostly have too many states."""

State = tuple[int, int]
"""The values in memory and the tasks that have run, as bits."""


def cheapest(
    tasks: Tasks, costs: Sequence[float], limit_bytes: int, allowed: Collection[int]
) -> Repeated | None:
    """Return the cheapest sequence of tasks within a memory limit; None if the search gives up.

    The parameters are those of `recompute`, but the order of tasks may also change. Source: the
    pebble game with costs, which Checkmate (Jain et al., MLSys 2020) solves as an integer program
    for one order.

    >>> cheapest(Tasks((), (), (), (), (), ()), [], 0, ()).origins
    ()
    """
    return _searched(tasks, allowed, limit_bytes, lambda cost, t, _: cost + costs[t])


def least(tasks: Tasks, costs: Sequence[float], allowed: Collection[int]) -> Repeated | None:
    """Return the cheapest sequence of tasks with the lowest peak; None if the search gives up.

    >>> two = Tasks(((), (0,)), ((), (0,)), ((0,), (1,)), (0, 0), ((), ()), (8, 4))
    >>> least(two, [1.0, 1.0], ()).peak_bytes
    12
    """
    lowest = _searched(tasks, allowed, sum(tasks.sizes) + sum(tasks.scratch), _fuller)
    return None if lowest is None else cheapest(tasks, costs, lowest.peak_bytes, allowed)


def _fuller(so_far: float, task: int, need: int) -> float:
    return max(so_far, need)


Worse = Callable[[float, int, int], float]
"""Function that returns the cost of a path extended by one task. Its arguments are the cost of the
path, the task, and the bytes that the task needs. Lower costs are better."""


def _searched(
    tasks: Tasks, allowed: Collection[int], limit_bytes: int, worse: Worse
) -> Repeated | None:
    """Return the best sequence of tasks within a memory limit; None if the search finds none."""
    if len(tasks) > MOST_TASKS:
        return None
    game = _Game(tasks, frozenset(allowed))
    start: State = (sum(1 << v for v in tasks.present), 0)
    worth: dict[State, float] = {start: 0.0}
    came: dict[State, tuple[State, int]] = {}
    heap: list[tuple[float, int, State]] = [(0.0, 0, start)]
    number = 0
    while heap and len(came) < MOST_STATES:
        so_far, _, state = heapq.heappop(heap)
        if so_far > worth[state]:
            continue
        if game.is_over(state):
            return Repeated.of_runs(tasks, list(_path(state, came)))
        for t, need, following in game.moves(state):
            if need > limit_bytes:
                continue
            total = worse(so_far, t, need) if t >= 0 else so_far
            if total < worth.get(following, float("inf")):
                worth[following] = total
                came[following] = state, t
                number += 1
                heapq.heappush(heap, (total, number, following))
    return None


def _path(state: State, came: dict[State, tuple[State, int]]) -> Iterator[int]:
    runs: list[int] = []
    while state in came:
        state, t = came[state]
        if t >= 0:
            runs.append(t)
    return reversed(runs)


@dataclass
class _Game:
    tasks: Tasks
    allowed: frozenset[int]
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reads = [_mask(values) for values in self.tasks.reads]
        self.writes = [_mask(values) for values in self.tasks.writes]
        self.before = [_mask(before) for before in self.tasks.before]
        self.kept = _mask(self.tasks.kept)
        self.every = (1 << len(self.tasks)) - 1

    def is_over(self, state: State) -> bool:
        held, done = state
        return done == self.every and not self.kept & ~held

    def moves(self, state: State) -> Iterator[tuple[int, int, State]]:
        """Yield the possible moves: a task, the bytes that it needs, and the next state.

        Task -1 drops a value from memory.
        """
        held, done = state
        for v in range(len(self.tasks.sizes)):
            if held >> v & 1:
                yield -1, 0, (held & ~(1 << v), done)
        live = self._bytes(held)
        for t in range(len(self.tasks)):
            if (done >> t & 1 and t not in self.allowed) or self.writes[t] & held:
                continue
            if self.reads[t] & ~held or self.before[t] & ~done:
                continue
            need = live + self._bytes(self.writes[t]) + self.tasks.scratch[t]
            after = held | self.writes[t], done | 1 << t
            yield t, need, after
            if self.tasks.over[t]:
                # Overwritten operands die with this run.
                dying = [v for v in self.tasks.reads[t] if v not in self.tasks.kept]
                saved, gone = _over(self.tasks, t, dying)
                yield t, need - saved, (after[0] & ~_mask(gone), after[1])

    def _bytes(self, values: int) -> int:
        return sum(size for v, size in enumerate(self.tasks.sizes) if values >> v & 1)


def _over(tasks: Tasks, task: int, dying: Sequence[int]) -> tuple[int, list[int]]:
    """Return the bytes saved by overwriting operands, and these operands."""
    free, gone, saved = set(dying), list[int](), 0
    for value, operands in tasks.over[task]:
        victim = next((x for x in operands if x in free), None)
        if victim is not None:
            free.discard(victim)
            gone.append(victim)
            saved += tasks.sizes[value]
    return saved, gone


def _mask(numbers: Collection[int]) -> int:
    return sum(1 << n for n in set(numbers))
