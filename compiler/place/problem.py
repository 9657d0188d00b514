"""Scheduling problems: tasks, devices, times by device, and transfer times.

Transfer times assume idle links, as list schedulers in the literature do; `simulate.py` models
contention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import permutations

from compiler.dataclass import dataclass
from compiler.place.platform import Device, Platform
from compiler.place.tasks import Task, TaskGraph


@dataclass(frozen=True)
class Problem:
    """The tasks of a scheduling problem, and the devices that can run each task. Units: seconds.

    `refused` contains pairs of a task and a device on which the task must not run.
    """

    graph: TaskGraph
    platform: Platform
    refused: frozenset[tuple[str, str]] = frozenset()

    @property
    def n(self) -> int:
        """Return the number of tasks."""
        return len(self.graph.tasks)

    @property
    def devices(self) -> range:
        """Return the numbers of all devices of the platform."""
        return range(len(self.platform.devices))

    @cached_property
    def seconds(self) -> tuple[tuple[float, ...], ...]:
        """Return the time of each task on each device; infinite if the device cannot run it."""
        return tuple(
            tuple(seconds_on(t, d) if self._fits(t, d) else math.inf for d in self.platform.devices)
            for t in self.graph.tasks
        )

    def _fits(self, t: Task, d: Device) -> bool:
        room = self.platform.memory_of[d.memory].nbytes
        needed = sum(self.graph.datum[x].nbytes for x in {*t.reads, *t.makes})
        return (
            d.has(t.operators) and (room is None or needed <= room)
            and (t.name, d.name) not in self.refused
        )  # fmt: skip

    @cached_property
    def able(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the devices that can run it."""
        return tuple(tuple(d for d in self.devices if s[d] < math.inf) for s in self.seconds)

    @cached_property
    def before(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return the predecessors of each task, and the bytes of the largest value from each."""
        found: list[tuple[tuple[int, int], ...]] = []
        for t in self.graph.tasks:
            bytes_from: dict[int, int] = {}
            for r in t.reads:
                u = self.graph.maker.get(r)
                if u is not None:
                    bytes_from[u] = max(bytes_from.get(u, 0), self.graph.datum[r].nbytes)
            found.append(tuple(bytes_from.items()))
        return tuple(found)

    @cached_property
    def after(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return the successors of each task, with the same bytes as in `before`."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]
        for v, edges in enumerate(self.before):
            for u, nbytes in edges:
                found[u].append((v, nbytes))
        return tuple(map(tuple, found))

    @cached_property
    def head(self) -> tuple[tuple[float, ...], ...]:
        """Return, by task and device, the earliest arrival of all operands from the home memory."""
        return tuple(
            tuple(self._head(t, d) for d in self.platform.devices) for t in self.graph.tasks
        )

    def _head(self, t: Task, d: Device) -> float:
        keeps = self.platform.memory_of[d.memory].keeps_weights
        given = [self.graph.datum[r] for r in t.reads if r not in self.graph.maker]
        home = self.platform.home
        return max(
            (self.platform.seconds_between(x.nbytes, home, d.memory)
             for x in given if not (x.is_weight and keeps)),
            default=0.0,
        )  # fmt: skip

    @cached_property
    def tail(self) -> tuple[tuple[float, ...], ...]:
        """Return, by task and device, the time to transfer the results to the home memory."""
        home, between = self.platform.home, self.platform.seconds_between
        return tuple(
            tuple(
                max(
                    (between(x.nbytes, d.memory, home)
                     for x in map(self.graph.datum.__getitem__, t.makes) if x.is_result),
                    default=0.0,
                )
                for d in self.platform.devices
            )
            for t in self.graph.tasks
        )  # fmt: skip

    @cached_property
    def _ways(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Return, by pair of devices, the latency of the first byte and the seconds per byte."""
        devices, routes = self.platform.devices, self.platform.routes

        def way(a: Device, b: Device) -> tuple[float, float]:
            if a is b:
                return 0.0, 0.0
            if a.memory == b.memory:
                return self.platform.memory_of[a.memory].handover_seconds, 0.0
            links = [h.link for h in routes[a.memory, b.memory]]
            return sum(x.latency_seconds for x in links), sum(1 / x.bytes_per_second for x in links)

        return tuple(tuple(way(a, b) for b in devices) for a in devices)

    def delay(self, nbytes: float, source: int, to: int) -> float:
        """Return the time in seconds of a transfer between two devices."""
        latency, of_byte = self._ways[source][to]
        return latency + nbytes * of_byte

    @cached_property
    def _mean_way(self) -> tuple[float, float]:
        ways = [self._ways[a][b] for a, b in permutations(self.devices, 2)]
        n = max(len(ways), 1)
        return sum(w[0] for w in ways) / n, sum(w[1] for w in ways) / n

    def mean_delay(self, nbytes: float) -> float:
        """Return the mean of `delay` over all pairs of different devices."""
        return self._mean_way[0] + nbytes * self._mean_way[1]

    def mean(self, row: Sequence[float], t: int) -> float:
        """Return the mean of a task's values in `row` over the devices that can run the task."""
        return sum(row[d] for d in self.able[t]) / len(self.able[t])

    @cached_property
    def upward_ranks(self) -> tuple[float, ...]:
        """Return the length of the longest path from each task to the end, with mean times.

        Source: Topcuoglu, Hariri and Wu 2002, equation 8.
        """
        ranks = [0.0] * self.n
        for t in reversed(range(self.n)):
            rest = max((self.mean_delay(b) + ranks[v] for v, b in self.after[t]), default=0.0)
            own = self.mean(self.tail[t], t)
            ranks[t] = self.mean(self.seconds[t], t) + max(rest, own)
        return tuple(ranks)

    @cached_property
    def downward_ranks(self) -> tuple[float, ...]:
        """Return the length of the longest path from the start to each task, without this task.

        Source: Topcuoglu, Hariri and Wu 2002, equation 10.
        """
        ranks = [0.0] * self.n
        for t in range(self.n):
            ways = [
                ranks[u] + self.mean(self.seconds[u], u) + self.mean_delay(b)
                for u, b in self.before[t]
            ]
            ranks[t] = max(ways, default=self.mean(self.head[t], t))
        return tuple(ranks)

    @cached_property
    def bound_seconds(self) -> float:
        """Return a lower bound of the makespan of all schedules.

        The bound is the larger of two times. One is the longest path with minimum times; the second
        is the sum of minimum times, divided by the number of devices.
        """
        least = [min(row) for row in self.seconds]
        ends = [0.0] * self.n
        for t in range(self.n):
            begin = min(self.head[t][d] for d in self.able[t])
            begin = max([begin, *(ends[u] for u, _ in self.before[t])])
            ends[t] = begin + least[t]
        tails = [min(self.tail[t][d] for d in self.able[t]) for t in range(self.n)]
        longest = max((e + x for e, x in zip(ends, tails, strict=True)), default=0.0)
        return max(longest, sum(least) / len(self.devices))


def seconds_on(t: Task, d: Device) -> float:
    """Return the time of a task on a device that supports its operators."""
    known = t.seconds.get(d.name)
    return d.seconds(t.cost) if known is None else known


def one_device_seconds(tasks: TaskGraph, platform: Platform) -> float | None:
    """Return the time of all tasks on the fastest home device that can run all tasks, or None."""
    able = [d for d in platform.devices if d.operators is None and d.memory == platform.home]
    return min((sum(seconds_on(t, d) for t in tasks.tasks) for d in able), default=None)
