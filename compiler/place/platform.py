"""Platforms: devices, their memories, and links between memories.

A `Platform` is data: `platform_text.py` reads and prints platforms; `platforms/` contains the
built-in platforms.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterator
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.ir.operator import Cost
from compiler.passes.engine.cost import Roofline


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory; `nbytes` is its capacity, None for unlimited.

    With `keeps_weights`, constants stay in the memory between runs; otherwise each run transfers
    the constants from the home memory. `handover_seconds` is the delay until another device of the
    same memory can read a new value.
    """

    name: str
    nbytes: int | None = None
    keeps_weights: bool = True
    handover_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Device:
    """A device that runs one task at a time, with the speed of its roofline.

    `operators` lists the supported operators; None means all.
    """

    name: str
    memory: str
    speed: Roofline
    operators: frozenset[str] | None = None

    def seconds(self, cost: Cost) -> float:
        """Return the time of one kernel in seconds."""
        return self.speed.seconds(cost)

    def has(self, operators: Collection[str]) -> bool:
        """Return whether the device supports all of these operators."""
        return self.operators is None or self.operators.issuperset(operators)


@dataclass(frozen=True, slots=True)
class Link:
    """A link that transfers values between its memories, at most `channels` concurrently.

    Units: latency in seconds until the first byte, and bytes per second of each channel.
    """

    name: str
    joins: tuple[str, ...]
    latency_seconds: float
    bytes_per_second: float
    channels: int = 1

    def seconds(self, nbytes: float) -> float:
        """Return the time of a transfer in seconds, excluding the wait for a channel."""
        return self.latency_seconds + nbytes / self.bytes_per_second


@dataclass(frozen=True, slots=True)
class Hop:
    """A step of a route: a link, and the memory in which the link ends."""

    link: Link
    source: str
    to: str


ROUTED_BYTES = 1 << 20
"""The size in bytes of the transfers for which routes are optimised."""


@dataclass(frozen=True)
class Platform:
    """Devices, memories and links. The `home` memory contains the inputs and constants before a
    run, and the results after it."""

    name: str
    words: str
    home: str
    memories: tuple[Memory, ...]
    devices: tuple[Device, ...]
    links: tuple[Link, ...] = ()

    @cached_property
    def memory_of(self) -> dict[str, Memory]:
        """Return memories by name."""
        return {m.name: m for m in self.memories}

    @cached_property
    def device_of(self) -> dict[str, Device]:
        """Return devices by name."""
        return {d.name: d for d in self.devices}

    @cached_property
    def routes(self) -> dict[tuple[str, str], tuple[Hop, ...]]:
        """Return the fastest route between any two connected memories."""
        return {
            (m.name, to): route for m in self.memories for to, route in self._routes_from(m.name)
        }

    def _routes_from(self, source: str) -> Iterator[tuple[str, tuple[Hop, ...]]]:
        """Yield Dijkstra's shortest paths."""
        found: set[str] = set()
        # The number of a route breaks ties, since links cannot be compared.
        pending: list[tuple[float, int, int, str, tuple[Hop, ...]]] = [(0.0, 0, 0, source, ())]
        n_ways = 0
        while pending:
            seconds, _, _, at, route = heapq.heappop(pending)
            if at in found:
                continue
            found.add(at)
            yield at, route
            for link in self.links:
                if at in link.joins:
                    longer = seconds + link.seconds(ROUTED_BYTES)
                    for to in link.joins:
                        way = (*route, Hop(link, at, to))
                        n_ways += 1
                        heapq.heappush(pending, (longer, len(way), n_ways, to, way))

    def seconds_between(self, nbytes: float, source: str, to: str) -> float:
        """Return the time in seconds of a transfer between two memories over idle links."""
        route = self.routes.get((source, to))
        return math.inf if route is None else sum((h.link.seconds(nbytes) for h in route), 0.0)

    def __str__(self) -> str:
        from compiler.place.platform_text import print_platform

        return print_platform(self)
