"""What a kernel needs at least on a machine: its operations, or its bytes, or being called.

Source: the roofline model, Williams, Waterman and Patterson 2009, with a roof for each level of
memory (Ilic, Pratas and Sousa 2014, "Cache-aware roofline model").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from compiler.dataclass import dataclass
from compiler.machine.machine import LEVELS, Level, Machine

Bound = Literal["compute", "L1", "L2", "L3", "DRAM", "overhead"]
"""What a kernel cannot be faster than: the arithmetic, a level of memory, or the call itself."""

Unit = Literal["f32", "int8", "bf16", "int8_tiles", "bf16_tiles"]
"""What multiplies: vectors of f32, the dot products of small types, or matrix tiles of these."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The least time of a kernel and what it is bound by; `is_measured` says of which figures.

    `roof_seconds` is the time without being called, `unit` what computes most operations, and
    `traffic` has the bytes by the level of memory that they come from or go to.
    """

    seconds: float
    bound: Bound
    is_measured: bool
    roof_seconds: float
    unit: Unit
    traffic: Mapping[Level, float]


def predicted(
    flops: float,
    traffic: Mapping[Level, float],
    machine: Machine,
    overhead_seconds: float,
    unit: Unit = "f32",
) -> Prediction:
    """The roofline of one kernel: the longer of arithmetic and memory, and the call.

    `traffic` is how many bytes come from (or go to) each level of memory; levels are read one
    after the other, so that their times add up, and the one that takes longest names the bound.
    `unit` is what computes most operations; one whose peak is not known counts as f32.
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
    bound: Bound = "compute" if compute >= memory else max(LEVELS, key=lambda at: trips[at])
    if overhead_seconds > busy:
        bound = "overhead"
    seconds = busy + overhead_seconds
    return Prediction(seconds, bound, machine.is_measured, busy, unit, traffic)
