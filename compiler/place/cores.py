"""A platform of equal cores with one memory: the machine that a program runs on."""

from __future__ import annotations

from compiler.passes.engine.cost import Roofline
from compiler.place.platform import Device, Memory, Platform


def cores(n: int, speed: Roofline, handover_seconds: float = 0.0) -> Platform:
    """So many equal cores; a core sees what another one made after `handover_seconds`."""
    return Platform(
        f"host-{n}",
        "The cores of this machine, by the speeds that were measured or estimated for one of them.",
        "ram",
        (Memory("ram", handover_seconds=handover_seconds),),
        tuple(Device(f"core{i}", "ram", speed) for i in range(n)),
    )
