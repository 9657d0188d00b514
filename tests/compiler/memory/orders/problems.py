"""Small random tasks, all their orders, and the bytes by the planner's lifetimes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from compiler.memory.buffer import Buffer
from compiler.memory.lifetimes import Lifetimes, Step, join_lifetimes
from compiler.memory.orders import Tasks
from compiler.memory.problem import Problem as Plannable
from compiler.memory.views import Views


@dataclass(frozen=True)
class Problem:
    """Launches in the form of the runtime."""

    steps: tuple[Step, ...]
    sizes: Mapping[str, int]
    views: Views
    kept: tuple[str, ...]

    @property
    def tasks(self) -> Tasks:
        return Tasks.of(self.steps, self.sizes, self.views, kept=self.kept)

    def lifetimes(self, order: Sequence[int]) -> Lifetimes:
        """Return the lifetimes of launches in an order, with a last step for retained values."""
        steps = [*(self.steps[t] for t in order), Step(reads=self.kept)]
        return join_lifetimes([self._in_arena(s) for s in steps], self.sizes, self.views)

    def live_bytes(self, order: Sequence[int]) -> int:
        return Plannable(self.lifetimes(order).buffers).live_bytes

    def _in_arena(self, s: Step) -> Step:
        reads = tuple(r for r in s.reads if self.views.below(r) in self.sizes)
        writes = tuple(w for w in s.writes if w in self.sizes)
        return Step(reads, writes, s.scratch, s.may_overwrite)


def random_problem(seed: int, most_tasks: int, *, in_place: bool = True) -> Problem:
    """Return tasks with views, temporaries, values outside the arena, and in-place results."""
    chance = Random(seed)
    names: list[str] = []
    sizes: dict[str, int] = {}
    views: dict[str, str] = {}
    steps: list[Step] = []
    for t in range(chance.randint(1, most_tasks)):
        reads = tuple(chance.sample(names, min(len(names), chance.choice([0, 1, 1, 2, 2, 3]))))
        writes = tuple(f"v{t}{c}" for c in "ab"[: chance.choice([1, 1, 1, 2])])
        sizes.update((w, chance.choice([8, 16, 16, 64, 100])) for w in writes if t % 7 != 5)
        over = {w: reads for w in writes if in_place and chance.random() < 0.6}
        scratch = {f"{t}:s": chance.choice([8, 40])} if chance.random() < 0.2 else {}
        steps.append(Step(reads, writes, scratch, over))
        names += writes
        if chance.random() < 0.3:
            views[f"view{t}"] = chance.choice(names)
            names.append(f"view{t}")
    kept = tuple(v for v in names if chance.random() < 0.15)
    return Problem(tuple(steps), sizes, Views(views), kept)


def all_orders(tasks: Tasks) -> Iterator[list[int]]:
    """Yield every topological order."""

    def further(done: list[int]) -> Iterator[list[int]]:
        if len(done) == len(tasks):
            yield list(done)
        for t in range(len(tasks)):
            if t not in done and all(b in done for b in tasks.before[t]):
                yield from further([*done, t])

    return further([])


def smallest_arena(buffers: Sequence[Buffer]) -> int:
    """Return the fewest bytes that hold the buffers, by first fit in every sequence."""
    some = [b for b in buffers if b.size]
    return min((_first_fit(p) for p in itertools.permutations(some)), default=0)


def _first_fit(buffers: Sequence[Buffer]) -> int:
    placed: list[tuple[int, Buffer]] = []
    for b in buffers:
        near = sorted((at, at + p.size) for at, p in placed if p.start < b.end and b.start < p.end)
        offset = 0
        for start, end in near:
            if start - offset >= b.size:
                break
            offset = max(offset, end)
        placed.append((offset, b))
    return max((at + b.size for at, b in placed), default=0)
