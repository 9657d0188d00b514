"""Tasks with repetitions: an order in which some tasks run more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.memory.orders.tasks import Tasks


@dataclass(frozen=True)
class Repeated:
    """Task runs in order, including repetitions of tasks.

    Each run is a task of `tasks`; `origins` has the number of its original task. `values` maps each
    value of `tasks`, which may be a recomputed copy, to the number of the original value.
    """

    tasks: Tasks
    origins: tuple[int, ...]
    values: tuple[int, ...]

    @staticmethod
    def of(tasks: Tasks) -> Repeated:
        """Return one run of each task, in the listed order."""
        return Repeated(tasks, tuple(range(len(tasks))), tuple(range(len(tasks.sizes))))

    @staticmethod
    def of_runs(tasks: Tasks, runs: Sequence[int]) -> Repeated:
        """Build the runs of given tasks; each run reads the latest copy of its operands."""
        sizes, values = list(tasks.sizes), list(range(len(tasks.sizes)))
        newest = list(values)
        last_run: dict[int, int] = {}
        before: list[tuple[int, ...]] = []
        reads: list[tuple[int, ...]] = []
        writes: list[tuple[int, ...]] = []
        over: list[tuple[tuple[int, tuple[int, ...]], ...]] = []
        for place, t in enumerate(runs):
            before.append(tuple(sorted(last_run[b] for b in tasks.before[t])))
            reads.append(tuple(newest[v] for v in tasks.reads[t]))
            given = {x: newest[x] for x in tasks.reads[t]}
            for v in tasks.writes[t]:
                if t in last_run:
                    newest[v] = len(sizes)
                    sizes.append(tasks.sizes[v])
                    values.append(v)
            writes.append(tuple(newest[v] for v in tasks.writes[t]))
            over.append(tuple((newest[y], tuple(given[x] for x in xs)) for y, xs in tasks.over[t]))
            last_run[t] = place
        made = Tasks(
            tuple(before),
            tuple(reads),
            tuple(writes),
            tuple(tasks.scratch[t] for t in runs),
            tuple(over),
            tuple(sizes),
            tasks.present,
            frozenset(newest[v] for v in tasks.kept),
        )
        return Repeated(made, tuple(runs), tuple(values))

    @cached_property
    def live(self) -> list[int]:
        """Return the live bytes during each task."""
        return self.tasks.live_bytes(range(len(self.tasks)))

    @property
    def peak_bytes(self) -> int:
        """Return the maximum of the live bytes over all tasks."""
        return max(self.live, default=0)

    def above(self, limit_bytes: int) -> int:
        """Return the bytes above a limit, summed over all tasks."""
        return sum(n - limit_bytes for n in self.live if n > limit_bytes)

    @property
    def again(self) -> list[int]:
        """Return the positions of repetitions."""
        seen: set[int] = set()
        found: list[int] = []
        for place, origin in enumerate(self.origins):
            if origin in seen:
                found.append(place)
            seen.add(origin)
        return found

    def with_again(self, task: int, readers: Sequence[int]) -> Repeated:
        """Repeat a task immediately before the first of `readers`, which then read the new copy.

        >>> once = Repeated.of(Tasks(((), (0,)), ((), (0,)), ((0,), ()), (0, 0), ((), ()), (8,)))
        >>> once.with_again(0, [1]).origins
        (0, 0, 1)
        """
        old, at, n_values = self.tasks, min(readers), len(self.tasks.sizes)
        made = {v: n_values + i for i, v in enumerate(old.writes[task])}
        chosen = set(readers)
        new = len(old)

        def read(values: Sequence[int], t: int) -> tuple[int, ...]:
            return tuple(made.get(v, v) for v in values) if t in chosen else tuple(values)

        before = [*old.before, old.before[task]]
        for t in chosen:
            stays = set(old.before[t]) - {task}
            before[t] = tuple(sorted({*stays, new, *_others(old, task, t)}))
        lists = (
            tuple(before),
            (*(read(old.reads[t], t) for t in range(new)), old.reads[task]),
            (*old.writes, tuple(made.values())),
            (*old.scratch, old.scratch[task]),
            (
                *(tuple((y, read(xs, t)) for y, xs in old.over[t]) for t in range(new)),
                tuple((made[y], xs) for y, xs in old.over[task]),
            ),
        )
        order = [*range(at), new, *range(at, new)]
        place = {t: p for p, t in enumerate(order)}
        tasks = Tasks(
            tuple(tuple(sorted(place[b] for b in lists[0][t])) for t in order),
            *(tuple(some[t] for t in order) for some in lists[1:]),  # type: ignore[arg-type]
            sizes=(*old.sizes, *(old.sizes[v] for v in made)),
            present=old.present,
            kept=old.kept,
        )
        origins = (*self.origins, self.origins[task])
        values = (*self.values, *(self.values[v] for v in made))
        return Repeated(tasks, tuple(origins[t] for t in order), values)

    def in_order(self, order: Sequence[int]) -> Repeated:
        """Return the same runs in another order."""
        place = {t: p for p, t in enumerate(order)}
        old = self.tasks
        tasks = replace(
            old,
            before=tuple(tuple(sorted(place[b] for b in old.before[t])) for t in order),
            reads=tuple(old.reads[t] for t in order),
            writes=tuple(old.writes[t] for t in order),
            scratch=tuple(old.scratch[t] for t in order),
            over=tuple(old.over[t] for t in order),
        )
        return Repeated(tasks, tuple(self.origins[t] for t in order), self.values)


def _others(tasks: Tasks, task: int, reader: int) -> tuple[int, ...]:
    """Return (task,) if `reader` depends on the task but reads none of its values, else ()."""
    if task in tasks.before[reader] and not set(tasks.reads[reader]) & set(tasks.writes[task]):
        return (task,)
    return ()
