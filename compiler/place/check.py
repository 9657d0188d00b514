"""Verification of a schedule, independent of the scheduler.

Each task must run once, for its duration, on a device that supports its operators. Each operand
must be in the memory of a task's device when the task starts. No device or link may exceed its
concurrency, and no memory its capacity.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from compiler.dataclass import dataclass
from compiler.place.placement import Slot
from compiler.place.platform import Platform
from compiler.place.problem import seconds_on
from compiler.place.schedule import Move, Schedule
from compiler.place.tasks import Task, TaskGraph


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a schedule: a task, value or memory, and the description of the fault."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}"


SAME = 1e-9
"""The tolerance of times, relative to the makespan or to the sum of all task and transfer times,
whichever is smaller. The sum prevents a late end of the schedule from increasing the tolerance."""


def check_schedule(
    graph: TaskGraph, platform: Platform, schedule: Schedule, *, contention: bool = True
) -> list[Fault]:
    """Return all faults of a schedule; the list is empty for a feasible schedule.

    With `contention`, a link carries at most as many concurrent transfers as it has channels.
    """
    found = list(_named(graph, platform, schedule))
    if found:
        return found
    return list(_Checker(graph, platform, schedule, contention).faults())


def _named(graph: TaskGraph, platform: Platform, schedule: Schedule) -> Iterator[Fault]:
    """Yield a fault for each task that does not run exactly once, and for each unknown name."""
    runs = Counter(s.task for s in schedule.slots)
    for t in graph.tasks:
        if runs[t.name] != 1:
            yield Fault(t.name, f"runs {runs[t.name]} times")
    for name in runs.keys() - {t.name for t in graph.tasks}:
        yield Fault(name, "is not a task of the graph")
    links = {x.name: x for x in platform.links}
    if schedule.platform != platform.name:
        yield Fault(schedule.platform, f"is not the platform {platform.name!r}")
    for s in schedule.slots:
        if s.device not in platform.device_of:
            yield Fault(s.task, f"runs on {s.device!r}, which is not a device")
    for m in schedule.moves:
        if m.datum not in graph.datum:
            yield Fault(m.datum, "is transferred but is not a value of the graph")
        joins = links[m.link].joins if m.link in links else ()
        if m.source == m.to or m.source not in joins or m.to not in joins:
            yield Fault(m.datum, f"{m.link!r} does not lead from {m.source!r} to {m.to!r}")
    times = [(s.task, s.start, s.end) for s in schedule.slots]
    times += [(m.datum, m.start, m.end) for m in schedule.moves]
    for name, start, end in times:
        if not 0.0 <= start <= end < math.inf:
            yield Fault(name, f"has an invalid duration, from {start} s to {end} s")


class _Checker:
    def __init__(
        self, graph: TaskGraph, platform: Platform, schedule: Schedule, contention: bool
    ) -> None:
        self.graph, self.platform, self.schedule = graph, platform, schedule
        self.contention = contention
        self.links = {x.name: x for x in platform.links}
        self.slot = {s.task: s for s in schedule.slots}
        work = sum(self._needed(t) for t in graph.tasks) + sum(map(self._carried, schedule.moves))
        self.slack = SAME * min(schedule.makespan_seconds, work)
        self.moves: dict[str, list[Move]] = defaultdict(list)
        for m in sorted(schedule.moves, key=lambda m: (m.start, m.end)):
            self.moves[m.datum].append(m)
        self.arrivals: dict[tuple[str, str], float] = {}
        """For each datum and memory: the earliest arrival by a transfer from a memory that has the
        datum."""
        for datum in self.moves:
            while any([self._arrives(m) for m in self.moves[datum]]):
                pass

    def faults(self) -> Iterator[Fault]:
        yield from self._durations()
        yield from self._exclusive()
        yield from self._operands()
        yield from self._transfers()
        yield from self._results()
        yield from self._claims()
        yield from self._room()

    def _memory(self, s: Slot) -> str:
        return self.platform.device_of[s.device].memory

    def _needed(self, t: Task) -> float:
        return seconds_on(t, self.platform.device_of[self.slot[t.name].device])

    def _carried(self, m: Move) -> float:
        return self.links[m.link].seconds(self.graph.datum[m.datum].nbytes)

    def _arrives(self, m: Move) -> bool:
        """Update a datum's earliest arrival by a transfer; return whether it became earlier."""
        if not m.start >= self._there(m.datum, m.source) - self.slack:
            return False
        earlier = m.end < self.arrivals.get((m.datum, m.to), math.inf)
        if earlier:
            self.arrivals[m.datum, m.to] = m.end
        return earlier

    def _durations(self) -> Iterator[Fault]:
        for t in self.graph.tasks:
            s = self.slot[t.name]
            device = self.platform.device_of[s.device]
            missing = [o for o in t.operators if not device.has((o,))]
            if missing:
                yield Fault(t.name, f"{s.device} does not support {', '.join(missing)}")
            needed = self._needed(t)
            if not abs(s.end - s.start - needed) <= self.slack + SAME * needed:
                yield Fault(t.name, f"takes {s.end - s.start} s, but {s.device} needs {needed} s")
        for m in self.schedule.moves:
            needed = self._carried(m)
            if not abs(m.end - m.start - needed) <= self.slack + SAME * needed:
                yield Fault(m.datum, f"takes {m.end - m.start} s, but {m.link} needs {needed} s")

    def _exclusive(self) -> Iterator[Fault]:
        on: dict[str, list[Slot]] = defaultdict(list)
        for s in self.schedule.slots:
            on[s.device].append(s)
        for device, slots in on.items():
            slots.sort(key=lambda s: (s.start, s.end))
            for a, b in pairwise(slots):
                if b.start < a.end - self.slack:
                    yield Fault(
                        b.task, f"starts before {device} has finished {a.task}, at {a.end} s"
                    )
        carried: dict[str, list[Move]] = defaultdict(list)
        for m in self.schedule.moves if self.contention else ():
            carried[m.link].append(m)
        for link, moves in carried.items():
            yield from self._crowded(link, moves)

    def _crowded(self, link: str, moves: Sequence[Move]) -> Iterator[Fault]:
        channels, active = self.links[link].channels, list[float]()
        for m in sorted(moves, key=lambda m: m.start):
            active = [end for end in active if end > m.start + self.slack]
            active.append(m.end)
            if len(active) > channels:
                words = f"{link} carries {len(active)} transfers at once; its limit is {channels}"
                yield Fault(m.datum, words)

    def _there(self, datum: str, memory: str, device: str = "") -> float:
        """Return the time from which a datum is available in a memory, or to the given device."""
        found = [self.arrivals.get((datum, memory), math.inf)]
        maker = self.graph.maker.get(datum)
        if maker is None:
            keeps = self.platform.memory_of[memory].keeps_weights
            if memory == self.platform.home or (keeps and self.graph.datum[datum].is_weight):
                found.append(0.0)
        else:
            made = self.slot[self.graph.tasks[maker].name]
            if self._memory(made) == memory:
                other = bool(device) and made.device != device
                late = self.platform.memory_of[memory].handover_seconds if other else 0.0
                found.append(made.end + late)
        return min(found)

    def _operands(self) -> Iterator[Fault]:
        for t in self.graph.tasks:
            s = self.slot[t.name]
            for r in t.reads:
                there = self._there(r, self._memory(s), s.device)
                if not s.start >= there - self.slack:
                    yield Fault(t.name, f"starts at {s.start} s, but {r} arrives at {there} s")

    def _transfers(self) -> Iterator[Fault]:
        for m in self.schedule.moves:
            there = self._there(m.datum, m.source)
            if not m.start >= there - self.slack:
                words = f"leaves {m.source} at {m.start} s, but arrives there at {there} s"
                yield Fault(m.datum, words)

    def _results(self) -> Iterator[Fault]:
        for d in self.graph.data:
            if d.is_result and self._there(d.name, self.platform.home) == math.inf:
                yield Fault(d.name, f"never returns to {self.platform.home}")

    def _claims(self) -> Iterator[Fault]:
        """Yield a fault if the schedule ends before its claimed lower bound."""
        last, bound = self.schedule.makespan_seconds, self.schedule.bound_seconds
        if not 0.0 <= bound <= last + self.slack:
            yield Fault("all", f"ends at {last} s, before its claimed lower bound of {bound} s")

    def _room(self) -> Iterator[Fault]:
        """Yield each exceeded memory capacity, as found by a sweep over the lifetimes of values."""
        for memory in self.platform.memories:
            changes: list[tuple[float, int]] = []
            for datum in self.graph.data:
                for start, end in self._stay(datum.name, memory.name):
                    changes += [(start + self.slack, datum.nbytes), (end, -datum.nbytes)]
            held = peak = 0
            for _, nbytes in sorted(changes):
                held += nbytes
                peak = max(peak, held)
            room = math.inf if memory.nbytes is None else memory.nbytes
            if peak > room:
                yield Fault(memory.name, f"holds {peak} bytes, but its capacity is {room}")
            said = self.schedule.peak_bytes.get(memory.name)
            if said is not None and not peak <= said <= room:
                yield Fault(
                    memory.name, f"holds {peak} bytes at its peak, but the schedule claims {said}"
                )

    def _stay(self, datum: str, memory: str) -> Iterator[tuple[float, float]]:
        """Yield the interval in which a datum occupies a memory; none if it only passes through."""
        slots = [self.slot[self.graph.tasks[t].name] for t in self.graph.readers[datum]]
        here = [s for s in slots if self._memory(s) == memory]
        ends = [s.end for s in here]
        d, home = self.graph.datum[datum], self.platform.home
        if d.is_result and memory == home:
            ends.append(self.schedule.makespan_seconds)
        maker = self.graph.maker.get(datum)
        made = None if maker is None else self.slot[self.graph.tasks[maker].name]
        origin = home if made is None else self._memory(made)
        keeps = d.is_weight and self.platform.memory_of[memory].keeps_weights
        if origin == memory:
            ends += [m.end for m in self.moves[datum] if m.source == memory]
        if made is not None and origin == memory:
            starts = [made.start]
            ends.append(made.end)
        elif made is None and (origin == memory or keeps):
            # The memory contains the datum from the start; later transfers have no effect.
            starts = [0.0]
            if keeps and ends:
                ends.append(self.schedule.makespan_seconds)
        else:
            # Among several arrivals before the first reader, only the last occupies the memory.
            first = min((s.start for s in here), default=math.inf)
            moves = [m for m in self.moves[datum] if m.to == memory]
            starts = sorted(m.start for m in moves if m.end <= first + self.slack)[-1:]
        if starts and ends and max(ends) > min(starts):
            yield min(starts), max(ends)
