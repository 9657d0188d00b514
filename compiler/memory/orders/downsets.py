"""The lowest peak of all orders, found by walking over the sets of tasks that may be done first.

What is live after some tasks is the same in whatever order they ran, so an order is a path through
these sets (the down-sets of the graph), and its peak the highest step on the path. Sets are visited
by the lowest peak that leads to them; the first complete one has the lowest peak of all.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.memory.orders.tasks import Tasks

MOST_TASKS = 512
"""Beyond this many tasks sets of them are not walked over: they would be large, and too many."""

Effects = dict[int, tuple[int, int]]
"""What each ready task would need above the live bytes, and by how much it would change them."""


@dataclass(slots=True)
class State:
    """A set of tasks that are done, with the lowest peak that led to it.

    `ready` has the tasks that may follow, those that became so last behind the others.
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
        """A peak that no order goes below that begins with these tasks."""
        return max(self.peak, self.live + min((n for n, _ in self.ready.values()), default=0))

    def order(self) -> list[int]:
        """The tasks that led here."""
        parts: list[tuple[int, ...]] = []
        state: State | None = self
        while state is not None:
            parts.append(state.ran)
            state = state.before
        return [t for part in reversed(parts) for t in part]


@dataclass(slots=True)
class DownSets:
    """The down-sets of some tasks, and how one leads to another.

    `floor` is a peak that no order can go below: tasks that stay within it and free at least what
    they add run at once, since nothing is gained by waiting. `n_steps` counts the steps looked at.
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
        """Nothing is done, but what can only help."""
        ready = {t: self._effect(t, 0) for t, b in reversed([*enumerate(self._before)]) if not b}
        held = self.tasks.held_bytes
        return self._settled(State(0, 0, held, held, ready))

    def following(self, state: State, below: int) -> Iterator[State]:
        """The states one task further whose peak stays below a bound."""
        for t in reversed(state.ready):
            if state.live + state.ready[t][0] < below:
                yield self._settled(self._after(state, t))

    def _effect(self, t: int, done: int) -> tuple[int, int]:
        """What a task needs above the live bytes, and by how much it changes them."""
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
        """What is ready after a task, and what has changed of it."""
        del ready[t]
        for u in self._sharing[t]:
            if u in ready:
                ready[u] = self._effect(u, done)
        for u in reversed(self.tasks.after[t]):
            if not self._before[u] & ~done:
                ready[u] = self._effect(u, done)

    def _settled(self, state: State) -> State:
        """The state with all tasks done that free what they add, and need no more than is needed.

        Every order that does such a task later is no better for it: all steps up to there have at
        least as many bytes alive.
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
        """A ready task that only helps, that became ready last; None where there is none."""
        room = max(state.peak, self.floor) - state.live
        for t, (need, change) in reversed(state.ready.items()):
            if change <= 0 and need <= room:
                return t
        return None


@dataclass(frozen=True, slots=True)
class Lowest:
    """What a search found: an order with a peak below the bound, or none; whether it went over all.

    Where it did, the order has the lowest peak of all, or no order is below the bound.
    """

    order: list[int] | None
    is_complete: bool
    n_steps: int


def lowest(tasks: Tasks, below: int, floor: int, most_steps: int) -> Lowest:
    """An order whose peak is the lowest of all, if that is below a bound.

    `floor` is a peak that no order goes below; after `most_steps` steps the search gives up. Units:
    bytes. Source: Serenity (Ahn et al., MLSys 2020), whose dynamic programming goes level by level.

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
    """An order with a peak below a bound, of the best sets of each size only; or none."""
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
