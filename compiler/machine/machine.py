"""The speeds of one machine: peak rates, bandwidths per memory level, and costs of calls.

A `Target` lists the features of a machine; a `Machine` contains the machine's speeds. `measure.py`
measures the speeds; `estimated` estimates them from the target's features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, Literal

from compiler.dataclass import dataclass
from compiler.targets.target import Target

Level = Literal["L1", "L2", "L3", "DRAM"]
LEVELS: tuple[Level, ...] = ("L1", "L2", "L3", "DRAM")


@dataclass(frozen=True, slots=True)
class Machine:
    """One core of a machine, and its memory hierarchy.

    Units: operations, bytes and seconds. A peak of 0 means that the machine has no such unit, or
    that generated code does not use the unit. `launch_seconds` is the cost of an additional kernel
    in a native call. `call_seconds` is the cost of a call from Python. `fork_seconds` is the cost
    of starting and joining all threads. `is_measured` is False for estimates.
    """

    name: str
    flops_per_second: float
    int8_ops_per_second: float
    bf16_flops_per_second: float
    int8_tile_ops_per_second: float
    bf16_tile_flops_per_second: float
    l1_bytes_per_second: float
    l2_bytes_per_second: float
    l3_bytes_per_second: float
    dram_bytes_per_second: float
    copy_bytes_per_second: float
    streamed_copy_bytes_per_second: float
    launch_seconds: float
    call_seconds: float
    fork_seconds: float
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    is_measured: bool

    def level_of(self, nbytes: float) -> Level:
        """Return the smallest memory level with a capacity of at least `nbytes` bytes."""
        sizes = (self.l1_bytes, self.l2_bytes, self.l3_bytes)
        for level, size in zip(LEVELS, sizes, strict=False):
            if nbytes <= size:
                return level
        return "DRAM"

    def bytes_per_second(self, level: Level) -> float:
        """Return the read bandwidth of one core from a memory level."""
        return {
            "L1": self.l1_bytes_per_second,
            "L2": self.l2_bytes_per_second,
            "L3": self.l3_bytes_per_second,
            "DRAM": self.dram_bytes_per_second,
        }[level]

    def of_cores(self, n: int) -> Machine:
        """Return an upper bound of the speeds of `n` cores together: `n` times those of one core.

        Shared levels of memory may be slower, so times from these speeds remain lower bounds.
        """
        if n <= 1:
            return self
        rates = {f.name: n * getattr(self, f.name) for f in fields(self) if _is_rate(f.name)}
        return replace(self, **rates, l1_bytes=n * self.l1_bytes, l2_bytes=n * self.l2_bytes)

    def to_json(self) -> dict[str, Any]:
        """Return all speeds and sizes by name."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Machine:
        """Return the machine that `to_json` has written. Errors: ValueError for other data."""
        kinds = {"str": str, "int": int, "bool": bool, "float": float}
        named = {f.name: kinds[str(f.type)] for f in fields(Machine)}
        if set(data) != set(named):
            raise ValueError("the fields are not the fields of a machine")
        values: dict[str, Any] = {name: named[name](value) for name, value in data.items()}
        made = Machine(**values)
        rates = (made.flops_per_second, *(made.bytes_per_second(level) for level in LEVELS))
        if not all(0 < rate < float("inf") for rate in rates):
            raise ValueError("a peak or bandwidth is not a positive number")
        return made


def _is_rate(name: str) -> bool:
    return name.endswith("_per_second")


CYCLES_PER_SECOND = 3e9
FMA_PER_CYCLE = 2
INT8_TILES, BF16_TILES = 24, 10
"""Speeds of int8 and bf16 matrix tiles as multiples of the speed of f32 vectors, with operands in
the L1 cache."""
L1_LOADS_PER_CYCLE = 2
L2_BYTES_PER_CYCLE = 32
L3_BYTES_PER_CYCLE = 8
DRAM_BYTES_PER_SECOND = 12e9
"""The bandwidth of main memory for one core of a typical current server or laptop.

This constant and the preceding constants are used for unmeasured machines.
"""


def estimated(target: Target) -> Machine:
    """Estimate a target's speeds from its features, for one core at a typical clock."""
    operations = FMA_PER_CYCLE * (2 if target.has_fma else 1) * target.lanes(4)
    peak = CYCLES_PER_SECOND * operations
    dram = DRAM_BYTES_PER_SECOND
    return Machine(
        name=target.name,
        flops_per_second=peak,
        int8_ops_per_second=4 * peak if target.has_int8_dot else 0.0,
        bf16_flops_per_second=2 * peak if target.has_bf16_dot else 0.0,
        int8_tile_ops_per_second=INT8_TILES * peak if target.has_int8_tiles else 0.0,
        bf16_tile_flops_per_second=BF16_TILES * peak if target.has_bf16_tiles else 0.0,
        l1_bytes_per_second=CYCLES_PER_SECOND * L1_LOADS_PER_CYCLE * target.vector_bytes,
        l2_bytes_per_second=CYCLES_PER_SECOND * min(L2_BYTES_PER_CYCLE, target.vector_bytes),
        l3_bytes_per_second=CYCLES_PER_SECOND * L3_BYTES_PER_CYCLE,
        dram_bytes_per_second=dram,
        copy_bytes_per_second=dram / 3 * 2,
        streamed_copy_bytes_per_second=dram,
        launch_seconds=5e-9,
        call_seconds=1e-6,
        fork_seconds=1e-6 if target.n_cores > 1 else 0.0,
        l1_bytes=target.l1d_bytes,
        l2_bytes=target.l2_bytes,
        l3_bytes=target.l3_bytes,
        is_measured=False,
    )
