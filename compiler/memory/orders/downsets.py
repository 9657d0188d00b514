"""The lowest peak of all orders, by a best-first search over down-sets of the graph.

The live bytes after a set of tasks do not depend on the order of these tasks. So an order is a path
through sets of finished tasks (down-sets). The peak of the order is the maximum of the live bytes
on the path. Each set has a lowest peak, over all paths to the set. The search visits the sets in
ascending order of this peak. The first visited set that contains all tasks gives the lowest peak of
all orders.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.memory.orders.tasks import Tasks

MOST_TASKS = 512
"""Largest number of tasks for this search; beyond it, down-sets are too many and too large."""

Effects = dict[int, tuple[int, int]]
"""Maps each ready task to its need (bytes in addition to the live bytes), and to its change of the
live bytes."""


@dataclass(slots=True)
class State:
    """A set of finished tasks, with the lowest peak of the paths to this set.

    `ready` has the tasks that may run next, in the order in which they became ready.
    """

    done: int
    n_done: int
    live: int
    peak: int
    ready: Effects
    before: State | None = None
    ran: tuple[int, ...] = ()

    @property
    def bound(self) -> int:
        """Return a lower bound of the peaks of all orders that run these tasks first."""
        return max(self.peak, self.live + min((n for n, _ in self.ready.values()), default=0))

    def order(self) -> list[int]:
        """Return the tasks that led to this state, in order."""
        parts: list[tuple[int, ...]] = []
        state: State | None = self
        while state is not None:
            parts.append(state.ran)
            state = state.before
        return [t for part in reversed(parts) for t in part]


@dataclass(slots=True)
class DownSets:
    """The down-sets of a task graph, and the transitions between them.

    `floor` is a lower bound of all peaks. A ready task runs immediately if the live bytes stay
    within `floor` and the task frees at least as many bytes as it allocates. A delay of such a task
    gains nothing. `n_steps` counts the computations of a task's effect on the live bytes.
    """

    tasks: Tasks
    floor: int
    n_steps: int = 0
    _before: list[int] = field(init=False)
    _readers: list[int] = field(init=False)
    _sharing: list[tuple[int, ...]] = field(init=False)
    _needed: list[int] = field(init=False)

    def __post_init__(self) -> None:
        tasks = self.tasks
        never = 1 << len(tasks)
        self._before = [_mask(b) for b in tasks.before]
        self._readers = [
            _mask(r) | (never if v in tasks.kept else 0) for v, r in enumerate(tasks.readers)
        ]
        self._sharing = [
            tuple(sorted({u for v in values for u in tasks.readers[v]} - {t}))
            for t, values in enumerate(tasks.reads)
        ]
        self._needed = [
            sum(tasks.sizes[v] for v in values) + scratch
            for values, scratch in zip(tasks.writes, tasks.scratch, strict=True)
        ]

    def first(self) -> State:
        """Return the initial state, after running the ready tasks that cannot raise the peak."""
        ready = {t: self._effect(t, 0) for t, b in reversed([*enumerate(self._before)]) if not b}
        held = self.tasks.held_bytes
        return self._settled(State(0, 0, held, held, ready))

    def following(self, state: State, below: int) -> Iterator[State]:
        """Yield the state after each ready task whose live bytes stay below a bound."""
        for t in reversed(state.ready):
            if state.live + state.ready[t][0] < below:
                yield self._settled(self._after(state, t))

    def _effect(self, t: int, done: int) -> tuple[int, int]:
        """Return a task's need (bytes in addition to the live bytes) and change of live bytes."""
        self.n_steps += 1
        tasks, left, freed = self.tasks, ~(done | 1 << t), 0
        dying: list[int] = []
        for v in tasks.reads[t]:
            if not self._readers[v] & left:
                dying.append(v)
                freed += tasks.sizes[v]
        saved = tasks.saved_bytes(t, dying) if dying and tasks.over[t] else 0
        return self._needed[t] - saved, tasks.defined_bytes[t] - freed

    def _after(self, state: State, t: int) -> State:
        need, change = state.ready[t]
        done, ready = state.done | 1 << t, state.ready.copy()
        self._run(t, done, ready)
        peak = max(state.peak, state.live + need)
        return State(done, state.n_done + 1, state.live + change, peak, ready, state, (t,))

    def _run(self, t: int, done: int, ready: Effects) -> None:
        """Update the ready tasks, and their effects on the live bytes, after a task has run."""
        del ready[t]
        for u in self._sharing[t]:
            if u in ready:
                ready[u] = self._effect(u, done)
        for u in reversed(self.tasks.after[t]):
            if not self._before[u] & ~done:
                ready[u] = self._effect(u, done)

    def _settled(self, state: State) -> State:
        """Run the ready tasks that do not raise the peak and allocate no more than they free.

        Delaying such a task never improves an order: the delay reduces the live bytes at no step.
        """
        while (t := self._harmless(state)) is not None:
            need, change = state.ready[t]
            state.done |= 1 << t
            state.n_done += 1
            self._run(t, state.done, state.ready)
            state.peak = max(state.peak, state.live + need)
            state.live += change
            state.ran += (t,)
        return state

    def _harmless(self, state: State) -> int | None:
        """Return the newest ready task that raises neither the peak nor the live bytes, or None."""
        room = max(state.peak, self.floor) - state.live
        for t, (need, change) in reversed(state.ready.items()):
            if change <= 0 and need <= room:
                return t
        return None


@dataclass(frozen=True, slots=True)
class Lowest:
    """The result of a search: an order with a peak below the bound, or None if none was found.

    If the search is complete, the order is optimal. If a complete search finds no order, no order
    has a peak below the bound.
    """

    order: list[int] | None
    is_complete: bool
    n_steps: int


def lowest(tasks: Tasks, below: int, floor: int, most_steps: int) -> Lowest:
    """Find an order with the lowest peak of all orders, if this peak is below a bound.

    `floor` is a lower bound of all peaks; after `most_steps` steps the search gives up. Units:
    bytes. Source: Serenity (Ahn et al., MLSys 2020), which visits the sets by size, not by peak.

    >>> two = Tasks((), (), (), (), (), ())
    >>> lowest(two, 1, 0, 100).order
    []
    """
    if len(tasks) > MOST_TASKS:
        return Lowest(None, False, 0)
    sets = DownSets(tasks, floor)
    best: dict[int, int] = {}
    number = 0
    first = sets.first()
    heap = [(first.bound, -first.n_done, number, first)]
    while heap and sets.n_steps <= most_steps:
        state = heapq.heappop(heap)[-1]
        if state.n_done == len(tasks):
            found = state.order() if state.peak < below else None
            return Lowest(found, True, sets.n_steps)
        if state.peak > best.get(state.done, state.peak):
            continue
        for further in sets.following(state, below):
            if further.bound < below and further.peak < best.get(further.done, below):
                best[further.done] = further.peak
                number += 1
                heapq.heappush(heap, (further.bound, -further.n_done, number, further))
    return Lowest(None, not heap, sets.n_steps)


def beam(tasks: Tasks, below: int, floor: int, width: int) -> list[int] | None:
    """Return an order with a peak below a bound, found by beam search over down-sets, or None."""
    if len(tasks) > MOST_TASKS:
        return None
    sets = DownSets(tasks, floor)
    first = sets.first()
    levels: dict[int, dict[int, State]] = {first.n_done: {first.done: first}}
    for n_done in range(len(tasks)):
        states = levels.pop(n_done, {}).values()
        for state in sorted(states, key=lambda s: (s.peak, s.live))[:width]:
            for further in sets.following(state, below):
                level = levels.setdefault(further.n_done, {})
                known = level.get(further.done)
                if known is None or further.peak < known.peak:
                    level[further.done] = further
    complete = levels.get(len(tasks), {}).values()
    return next((s.order() for s in complete if s.peak < below), None)


def _mask(tasks: Iterable[int]) -> int:
    found = 0
    for t in tasks:
        found |= 1 << t
    return found
