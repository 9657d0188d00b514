"""Simulation of a placement with contention for links and limited memories.

The event-driven simulation uses the devices and the task order of the placement, but not its times.
A task starts when its device is free, its operands have arrived, and its results fit into memory.
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import defaultdict
from collections.abc import Callable
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.place.placement import Placement, Slot
from compiler.place.platform import Hop
from compiler.place.problem import Problem
from compiler.place.schedule import Move, Schedule
from compiler.place.uses import uses_of


@dataclass(frozen=True, slots=True)
class Conduct:
    """The prefetch distance and the link model of a simulated run.

    `ahead` is the prefetch distance of operands as a number of tasks. With 0, transfers start on
    demand, when the device is idle. With 1 (double buffering), transfers overlap the previous task.
    With None, transfers start as soon as operands exist. With `contention`, a link carries one
    transfer per channel at a time; otherwise, it carries any number.
    """

    ahead: int | None = None
    contention: bool = True


@dataclass(frozen=True, slots=True)
class Stuck(Exception):
    """Raised if a device's memory never has space for the next task in the placement's order."""

    task: str
    device: str


def simulate(problem: Problem, placement: Placement, conduct: Conduct | None = None) -> Schedule:
    """Simulate all tasks and transfers. Errors: Stuck if a memory is too small."""
    return _Run(problem, placement, conduct or Conduct()).schedule()


@dataclass(slots=True)
class _Transfer:
    """A transfer of a datum, link by link; `urgency` is the planned start of its first reader."""

    datum: str
    to: str
    hops: tuple[Hop, ...]
    urgency: float
    done: int = 0
    has_room: bool = False
    """Whether memory for the datum is reserved at the destination."""


@dataclass(slots=True)
class _Device:
    name: str
    memory: str
    order: tuple[int, ...]
    at: int = 0
    """The number of the device's tasks that have started."""
    busy: bool = False
    looks_at: float = -1.0
    """The time of the next check whether the device's next task can start."""


@dataclass(slots=True)
class _Store:
    """A memory: its present data and reserved bytes, and the remaining uses of each datum."""

    limit: float
    held: dict[str, int] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    nbytes: int = 0
    peak: int = 0
    course: list[tuple[float, int]] = field(default_factory=list)
    """The memory's occupancy over time, as pairs of seconds and bytes."""

    def note(self, now: float) -> None:
        """Record the current occupancy."""
        if not self.course or self.course[-1][1] != self.nbytes:
            self.course.append((now, self.nbytes))

    def has_room(self, nbytes: int) -> bool:
        return self.nbytes + nbytes <= self.limit

    def hold(self, datum: str, nbytes: int) -> None:
        if datum not in self.held:
            self.held[datum] = nbytes
            self.nbytes += nbytes
            self.peak = max(self.peak, self.nbytes)

    def used(self, datum: str) -> None:
        self.uses[datum] -= 1
        if self.uses[datum] <= 0 and datum in self.held:
            self.nbytes -= self.held.pop(datum)


class _Run:
    def __init__(self, problem: Problem, placement: Placement, conduct: Conduct) -> None:
        self.p, self.graph, self.conduct = problem, problem.graph, conduct
        self.placement = placement
        platform = problem.platform
        number = {t.name: i for i, t in enumerate(self.graph.tasks)}
        orders = placement.orders
        self.devices = [
            _Device(d.name, d.memory, tuple(number[t] for t in orders.get(d.name, ())))
            for d in platform.devices
        ]
        self.place = {t: (d, k) for d, x in enumerate(self.devices) for k, t in enumerate(x.order)}
        self.stores = {
            m.name: _Store(math.inf if m.nbytes is None else m.nbytes) for m in platform.memories
        }
        self.channels = {x.name: x.channels for x in platform.links}
        self.seen: dict[tuple[str, str], float] = {}
        """The arrival time of a datum in a memory, by datum and memory."""
        self.made_by: dict[str, int] = {}
        self.slots: dict[int, Slot] = {}
        self.moves: list[Move] = []
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.n_events = 0
        self.now = 0.0
        self.waiting: dict[str, list[_Transfer]] = {x.name: [] for x in platform.links}
        """For each link: the waiting transfers, ordered by the planned starts of their readers."""
        self.unmade: dict[str, list[_Transfer]] = defaultdict(list)
        """For each datum: the transfers that wait until the datum is computed."""
        self._begin()

    # The initial state

    def _begin(self) -> None:
        uses = uses_of(self.p, self.placement)
        for (memory, datum), n in uses.counts.items():
            self.stores[memory].uses[datum] = n
        for memory, datum in uses.at_first:
            self.stores[memory].hold(datum, self.graph.datum[datum].nbytes)
            self.seen[datum, memory] = 0.0
        for x in uses.transits:
            route = self.p.platform.routes[x.source, x.to]
            made = _Transfer(x.datum, x.to, route, x.urgency)
            if x.datum in self.graph.maker:
                self.unmade[x.datum].append(made)
            else:
                self._queue(made)

    def _memory_of(self, t: int) -> str:
        return self.devices[self.place[t][0]].memory

    # Time

    def schedule(self) -> Schedule:
        self._start_all()
        self._note()
        while self.events:
            self.now, _, act = heapq.heappop(self.events)
            act()
            while self.events and self.events[0][0] <= self.now:
                heapq.heappop(self.events)[2]()
            self._start_all()
            self._note()
        stuck = [x for x in self.devices if x.at < len(x.order)]
        if stuck:
            raise self._stuck(stuck)
        assert not any(self.waiting.values()), f"{self.waiting} never started"
        slots = tuple(self.slots[t] for t in range(self.p.n))
        peaks = {name: s.peak for name, s in self.stores.items()}
        return Schedule(
            self.p.platform.name,
            slots,
            tuple(self.moves),
            peaks,
            self.conduct.ahead,
            self.placement.bound_seconds,
            self.placement.notes,
            {name: tuple(s.course) for name, s in self.stores.items()},
        )

    def _note(self) -> None:
        for store in self.stores.values():
            store.note(self.now)

    def _stuck(self, stuck: list[_Device]) -> Stuck:
        """Return the exception for the first blocked task on a device with limited memory."""
        limited = [x for x in stuck if self.stores[x.memory].limit < math.inf]
        assert limited, "a task in an unlimited memory cannot be blocked"
        first = min(limited, key=lambda x: self.placement.slots[x.order[x.at]].start)
        return Stuck(self.graph.tasks[first.order[first.at]].name, first.name)

    def _at(self, seconds: float, act: Callable[[], None]) -> None:
        self.n_events += 1
        heapq.heappush(self.events, (seconds, self.n_events, act))

    def _start_all(self) -> None:
        for device in self.devices:
            self._start_task(device)
        for link in self.p.platform.links:
            self._start_transfers(link.name)

    # Tasks

    def _start_task(self, device: _Device) -> None:
        if device.busy or device.at == len(device.order):
            return
        t = device.order[device.at]
        task = self.graph.tasks[t]
        ready = max((self._seen(r, device) for r in task.reads), default=0.0)
        if ready > self.now:
            if self.now < ready < math.inf and ready != device.looks_at:
                device.looks_at = ready
                self._at(ready, lambda: None)
            return
        store = self.stores[device.memory]
        made = {m: self.graph.datum[m].nbytes for m in task.makes if store.uses[m]}
        scrap = sum(self.graph.datum[m].nbytes for m in task.makes if not store.uses[m])
        if not store.has_room(sum(made.values()) + scrap):
            return
        for m, nbytes in made.items():
            store.hold(m, nbytes)
        store.peak = max(store.peak, store.nbytes + scrap)
        store.nbytes += scrap
        device.busy = True
        device.at += 1
        end = self.now + self.p.seconds[t][self.place[t][0]]
        self.slots[t] = Slot(task.name, device.name, self.now, end)
        self._at(end, lambda: self._end_task(device, t, scrap))

    def _seen(self, datum: str, device: _Device) -> float:
        """Return the time from which a device can read a datum; infinite while it is unknown."""
        at = self.seen.get((datum, device.memory), math.inf)
        maker = self.made_by.get(datum)
        if maker is not None:
            other = self.devices[self.place[maker][0]]
            if other.memory == device.memory and other is not device:
                return at + self.p.platform.memory_of[device.memory].handover_seconds
        return at

    def _end_task(self, device: _Device, t: int, scrap: int) -> None:
        device.busy = False
        task, store = self.graph.tasks[t], self.stores[device.memory]
        store.nbytes -= scrap
        for m in task.makes:
            self.seen[m, device.memory] = self.now
            self.made_by[m] = t
            for transfer in self.unmade.pop(m, ()):
                self._queue(transfer)
        for r in dict.fromkeys(task.reads):
            store.used(r)

    # Transfers

    def _queue(self, transfer: _Transfer) -> None:
        queue = self.waiting[transfer.hops[transfer.done].link.name]
        insort(queue, transfer, key=lambda x: x.urgency)

    def _start_transfers(self, link: str) -> None:
        """Start waiting transfers on a link, the most urgent first.

        While a transfer waits for memory, less urgent transfers also wait, since they would
        otherwise occupy the memory first.
        """
        full: set[str] = set()
        for transfer in list(self.waiting[link]):
            if self.conduct.contention and not self.channels[link]:
                return
            if transfer.to in full or not (transfer.done or self._is_wanted(transfer)):
                continue
            if not self._has_room(transfer):
                full.add(transfer.to)
                continue
            self.waiting[link].remove(transfer)
            self._start_hop(transfer)

    def _has_room(self, transfer: _Transfer) -> bool:
        """Reserve memory at the destination of a transfer; return whether there was space."""
        store, nbytes = self.stores[transfer.to], self.graph.datum[transfer.datum].nbytes
        if not transfer.has_room and store.has_room(nbytes):
            store.hold(transfer.datum, nbytes)
            transfer.has_room = True
        return transfer.has_room

    def _start_hop(self, transfer: _Transfer) -> None:
        hop = transfer.hops[transfer.done]
        nbytes = self.graph.datum[transfer.datum].nbytes
        self.channels[hop.link.name] -= 1
        end = self.now + hop.link.seconds(nbytes)
        self.moves.append(Move(transfer.datum, hop.link.name, hop.source, hop.to, self.now, end))
        self._at(end, lambda: self._end_hop(transfer, hop))

    def _is_wanted(self, transfer: _Transfer) -> bool:
        """Return whether a reader of a datum is within the prefetch distance."""
        ahead = self.conduct.ahead
        readers = [
            t for t in self.graph.readers[transfer.datum] if self._memory_of(t) == transfer.to
        ]
        if ahead is None or not readers:
            return True
        for t in readers:
            d, k = self.place[t]
            device = self.devices[d]
            n_before = device.at - device.busy if ahead == 0 else device.at + ahead - 1
            if k <= n_before:
                return True
        return False

    def _end_hop(self, transfer: _Transfer, hop: Hop) -> None:
        self.channels[hop.link.name] += 1
        transfer.done += 1
        if transfer.done == 1:
            self.stores[hop.source].used(transfer.datum)
        if transfer.done < len(transfer.hops):
            self._queue(transfer)
        else:
            self.seen[transfer.datum, transfer.to] = self.now
