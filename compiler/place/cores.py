"""Platforms of equal cores: the machine that a program runs on, as one memory or as caches."""

from __future__ import annotations

from compiler.passes.engine.cost import Roofline
from compiler.place.platform import Device, Link, Memory, Platform


def cores(n: int, speed: Roofline, handover_seconds: float = 0.0) -> Platform:
    """So many equal cores; a core sees what another one made after `handover_seconds`."""
    return Platform(
        f"host-{n}",
        "The cores of this machine, by the speeds that were measured or estimated for one of them.",
        "ram",
        (Memory("ram", handover_seconds=handover_seconds),),
        tuple(Device(f"core{i}", "ram", speed) for i in range(n)),
    )


def cores_with_caches(n: int, handover_seconds: float, bytes_per_second: float) -> Platform:
    """So many equal cores, each with a cache of its own, for tasks whose times are known.

    What another core made comes `handover_seconds` late and takes as long to read as its bytes
    take longer than from one's own cache: `bytes_per_second`.
    """
    names = [f"core{i}" for i in range(n)]
    joins = tuple(f"{name}.cache" for name in names)
    return Platform(
        f"caches-{n}",
        "The cores of this machine with what each has in its own cache.",
        joins[0],
        tuple(Memory(cache) for cache in joins),
        tuple(Device(*pair, Roofline()) for pair in zip(names, joins, strict=True)),
        (Link("shared", joins, handover_seconds, bytes_per_second),),
    )
