"""Platforms of equal cores, which model this machine with one memory or with caches."""

from __future__ import annotations

from compiler.passes.engine.cost import Roofline
from compiler.place.platform import Device, Link, Memory, Platform


def cores(n: int, speed: Roofline, handover_seconds: float = 0.0) -> Platform:
    """Build a platform of `n` equal cores; a core sees others' results after `handover_seconds`."""
    return Platform(
        f"host-{n}",
        "The cores of this machine, with the measured or estimated speeds of one core.",
        "ram",
        (Memory("ram", handover_seconds=handover_seconds),),
        tuple(Device(f"core{i}", "ram", speed) for i in range(n)),
    )


def cores_with_caches(n: int, handover_seconds: float, bytes_per_second: float) -> Platform:
    """Build a platform of equal cores with private caches, for tasks with known times.

    A result of another core is delayed by `handover_seconds`, plus the bytes of the result divided
    by `bytes_per_second`. The delay is the additional time to read from another core's cache.
    """
    names = [f"core{i}" for i in range(n)]
    joins = tuple(f"{name}.cache" for name in names)
    return Platform(
        f"caches-{n}",
        "The cores of this machine, each with a private cache.",
        joins[0],
        tuple(Memory(cache) for cache in joins),
        tuple(Device(*pair, Roofline()) for pair in zip(names, joins, strict=True)),
        (Link("shared", joins, handover_seconds, bytes_per_second),),
    )
