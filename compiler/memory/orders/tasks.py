"""The tasks to order, their values, and the memory requirement of an order.

Bytes are counted as in `lifetimes`: views use their source's memory, and a result may overwrite the
memory of a dying operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.memory.lifetimes import Step, is_read_besides
from compiler.memory.views import NO_VIEWS, Views

Groups = tuple[tuple[int, ...], ...]
"""For each task (or value): the ascending indices of related tasks or values."""


@dataclass(frozen=True)
class Tasks:
    """Tasks and values by number, listed in a topological order.

    `before` has each task's predecessors. `reads` and `writes` are the distinct values that
    each task reads and writes; `scratch` is the size in bytes of each task's temporaries. `over`
    has, for each task, pairs of a written value and the operands that the value may overwrite.
    `sizes` are bytes. `present` are values that exist before the first task; `kept` are values
    needed after the last task.
    """

    before: Groups
    reads: Groups
    writes: Groups
    scratch: tuple[int, ...]
    over: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    sizes: tuple[int, ...]
    present: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()

    @staticmethod
    def of(
        steps: Sequence[Step],
        sizes: Mapping[str, int],
        views: Views = NO_VIEWS,
        waits: Mapping[int, Iterable[int]] | None = None,
        kept: Iterable[str] = (),
    ) -> Tasks:
        """Build the tasks of launches; each value must be written before it is read.

        `sizes` has the bytes of each written value in the arena. A part of a joined value (a
        concatenation) counts from its write; memory reserved for later parts does not count.
        `waits` maps a task to additional predecessors.

        >>> Tasks.of([Step((), ("a",)), Step(("a",), ("b",))], {"a": 64, "b": 8}).peak_bytes([0, 1])
        72
        """
        number = {name: i for i, name in enumerate(sizes)}
        writer = {v: t for t in reversed(range(len(steps))) for v in steps[t].writes}
        before: list[tuple[int, ...]] = []
        reads: list[tuple[int, ...]] = []
        over: list[tuple[tuple[int, tuple[int, ...]], ...]] = []
        for t, step in enumerate(steps):
            roots = dict.fromkeys(root for r in step.reads for root in views.roots(r))
            made = {writer[r] for r in roots if r in writer} - {t}
            before.append(tuple(sorted(made.union((waits or {}).get(t, ())))))
            assert all(b < t for b in before[-1]), f"task {t} precedes one of its predecessors"
            reads.append(tuple(number[r] for r in roots if r in number))
            over.append(_victims(step, sizes, views, number))
        return Tasks(
            tuple(before),
            tuple(reads),
            tuple(tuple(number[w] for w in dict.fromkeys(s.writes) if w in number) for s in steps),
            tuple(sum(s.scratch.values()) for s in steps),
            tuple(over),
            tuple(sizes.values()),
            kept=frozenset(number[r] for v in kept for r in views.roots(v) if r in number),
        )

    def __len__(self) -> int:
        return len(self.before)

    @cached_property
    def after(self) -> Groups:
        """Return the successors of each task."""
        found: list[list[int]] = [[] for _ in self.before]
        for t, waited in enumerate(self.before):
            for b in waited:
                found[b].append(t)
        return tuple(map(tuple, found))

    @cached_property
    def readers(self) -> Groups:
        """Return the tasks that read each value."""
        found: list[list[int]] = [[] for _ in self.sizes]
        for t, values in enumerate(self.reads):
            for v in values:
                found[v].append(t)
        return tuple(map(tuple, found))

    @cached_property
    def defined_bytes(self) -> tuple[int, ...]:
        """Return, for each task, the bytes that the task writes and that stay live afterwards."""
        return tuple(
            sum(self.sizes[v] for v in values if self.readers[v] or v in self.kept)
            for values in self.writes
        )

    @cached_property
    def held_bytes(self) -> int:
        """Return the bytes that are live before the first task."""
        return sum(self.sizes[v] for v in self.present)

    def saved_bytes(self, task: int, dying: Iterable[int]) -> int:
        """Return the bytes of a task's results that are stored in memory of its dying operands."""
        if not self.over[task]:
            return 0
        free = set(dying)
        saved = 0
        for value, operands in self.over[task]:
            victim = next((x for x in operands if x in free), None)
            if victim is not None:
                free.discard(victim)
                saved += self.sizes[value]
        return saved

    def live_bytes(self, order: Sequence[int]) -> list[int]:
        """Return the live bytes during each task of an order."""
        sizes, kept = self.sizes, self.kept
        left = [len(r) + (v in kept) for v, r in enumerate(self.readers)]
        live, found = self.held_bytes, list[int]()
        for t in order:
            dying: list[int] = []
            for v in self.reads[t]:
                left[v] -= 1
                if not left[v]:
                    dying.append(v)
            written = sum(sizes[v] for v in self.writes[t])
            found.append(live + written + self.scratch[t] - self.saved_bytes(t, dying))
            live += self.defined_bytes[t] - sum(sizes[v] for v in dying)
        return found

    def peak_bytes(self, order: Sequence[int]) -> int:
        """Return the maximum of the live bytes over all tasks of an order."""
        return max(self.live_bytes(order), default=0)

    def is_order(self, order: Sequence[int]) -> bool:
        """Return whether `order` contains every task once, in a topological order."""
        place = {t: i for i, t in enumerate(order)}
        return len(order) == len(place) == len(self) and all(
            place.get(b, len(self)) < place.get(t, -1)
            for t, waited in enumerate(self.before)
            for b in waited
        )

    @cached_property
    def least_bytes(self) -> int:
        """Return the largest memory requirement of a single task: a lower bound of every peak."""
        return max(map(self.own_bytes, range(len(self))), default=0)

    def own_bytes(self, task: int) -> int:
        """Return the bytes that a task needs: operands, scratch, and results not in place."""
        touched = (*self.reads[task], *self.writes[task])
        total = sum(self.sizes[v] for v in touched) + self.scratch[task]
        over = (v for v, operands in self.over[task] if not self.kept.issuperset(operands))
        return total - sum(self.sizes[v] for v in over)

    def part(self, order: Sequence[int], start: int, end: int) -> Tasks:
        """Return the tasks from `start` to before `end` of an order as a separate problem.

        Live values that no task of the separate problem reads or writes are omitted.
        """
        chosen = order[start:end]
        place = {t: i for i, t in enumerate(chosen)}
        values = dict.fromkeys(v for t in chosen for v in (*self.reads[t], *self.writes[t]))
        number = {v: i for i, v in enumerate(values)}
        written = {v for t in chosen for v in self.writes[t]}
        later = set(order[end:])
        kept = {v for v in values if v in self.kept or not later.isdisjoint(self.readers[v])}

        def renamed(vs: Iterable[int]) -> tuple[int, ...]:
            return tuple(number[v] for v in vs)

        return Tasks(
            tuple(tuple(sorted(place[b] for b in self.before[t] if b in place)) for t in chosen),
            tuple(renamed(self.reads[t]) for t in chosen),
            tuple(renamed(self.writes[t]) for t in chosen),
            tuple(self.scratch[t] for t in chosen),
            tuple(tuple((number[v], renamed(xs)) for v, xs in self.over[t]) for t in chosen),
            tuple(self.sizes[v] for v in values),
            frozenset(renamed(v for v in values if v not in written)),
            frozenset(renamed(kept)),
        )


def _victims(
    step: Step, sizes: Mapping[str, int], views: Views, number: Mapping[str, int]
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    found: list[tuple[int, tuple[int, ...]]] = []
    read = {root for r in step.reads for root in views.roots(r)}
    for value in step.writes:
        if value not in sizes or views.home(value)[0] != value:
            continue
        operands = step.may_overwrite.get(value, ())
        fit = dict.fromkeys(
            owner
            for x in operands
            if (owner := views.below(x)) in read
            and views.home(owner)[0] == owner
            and sizes.get(owner) == sizes[value]
            and not is_read_besides(x, operands, step, views)
        )
        if fit:
            found.append((number[value], tuple(number[x] for x in fit)))
    return tuple(found)
