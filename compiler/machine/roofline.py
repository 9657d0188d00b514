"""The lower bound of a kernel's time on a machine, from its operations, bytes and launch.

Source: the roofline model, Williams, Waterman and Patterson 2009, with a roof for each level of
memory (Ilic, Pratas and Sousa 2014, "Cache-aware roofline model").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from compiler.dataclass import dataclass
from compiler.machine.machine import LEVELS, Level, Machine

Roof = Literal["compute", "L1", "L2", "L3", "DRAM"]
"""The roof of a kernel: arithmetic, or a level of memory."""

Bound = Literal[Roof, "overhead"]
"""The limit of a kernel's speed: its roof, or the call overhead."""

Unit = Literal["f32", "int8", "bf16", "int8_tiles", "bf16_tiles"]
"""A multiplication unit: f32 vectors, dot products of small types, or matrix tiles of small
types."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A lower bound of a kernel's time, and its roof.

    `is_measured` is False for bounds from estimated speeds. `roof_seconds` excludes the launch.
    `unit` computes most operations. `traffic` maps each memory level to the bytes read from or
    written to it.
    """

    seconds: float
    roof: Roof
    is_measured: bool
    roof_seconds: float
    unit: Unit
    traffic: Mapping[Level, float]

    @property
    def bound(self) -> Bound:
        """The roof, or the call overhead if that takes longer."""
        return "overhead" if self.seconds - self.roof_seconds > self.roof_seconds else self.roof


def predicted(
    flops: float,
    traffic: Mapping[Level, float],
    machine: Machine,
    overhead_seconds: float,
    unit: Unit = "f32",
) -> Prediction:
    """Return a kernel's roofline: the longer of arithmetic time and memory time, plus the launch
    overhead.

    `traffic` maps each memory level to the bytes read from or written to it. Levels are read one
    after another: the memory time is the sum over levels, and the slowest level is the bound.
    `unit` computes most operations; a unit without a known peak counts as f32.
    """
    peaks = {
        "int8": machine.int8_ops_per_second,
        "bf16": machine.bf16_flops_per_second,
        "int8_tiles": machine.int8_tile_ops_per_second,
        "bf16_tiles": machine.bf16_tile_flops_per_second,
    }
    compute = flops / (peaks.get(unit) or machine.flops_per_second)
    trips = {at: traffic.get(at, 0.0) / machine.bytes_per_second(at) for at in LEVELS}
    memory = sum(trips.values())
    busy = max(compute, memory)
    roof: Roof = "compute" if compute >= memory else max(LEVELS, key=lambda at: trips[at])
    seconds = busy + overhead_seconds
    return Prediction(seconds, roof, machine.is_measured, busy, unit, traffic)
