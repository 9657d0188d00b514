"""A measured run, kernel by kernel, beside what the machine could do."""

from __future__ import annotations

from typing import Literal, TypedDict

from app.wire.shapes import Payload
from compiler.machine.machine import Level
from compiler.machine.roofline import Bound, Unit


class Peak(TypedDict):
    """Operations per second of one core by what multiplies; `is_used`: kernels of this run do."""

    unit: Unit
    flops_per_second: float
    is_used: bool


class MemoryLevel(TypedDict):
    """How fast one core reads from a level of memory; `bytes` it holds, null for all there is."""

    level: Level
    bytes: int | None
    bytes_per_second: float


class Machine(TypedDict):
    """The speeds of one core, measured at a time (Unix seconds) or else estimated.

    `call_s` is what calling a kernel on its own costs; every time of a kernel has it inside.
    """

    name: str
    features: list[str]
    n_processors: int
    is_measured: bool
    measured: float | None
    peaks: list[Peak]
    levels: list[MemoryLevel]
    call_s: float


class Times(TypedDict):
    """Median, minimum, and from `low_s` to `high_s` the 95 % interval of the median."""

    median_s: float
    min_s: float
    low_s: float
    high_s: float


class RunTimes(Times):
    """Whole runs. One in ten took longer than `slow_s`."""

    slow_s: float
    repeats: int


class KernelTimes(Times):
    """A launch, timed on its own `repeats` times, and the roofline of it.

    `predicted_s` is what it needs at least, called like this; `roof_s` the same without the call.
    `bytes` are read and written in all, `fits` is the smallest memory that holds them, `traffic`
    where they are expected to come from or go to. `shares`: by ONNX node its part of the time, as
    its operations and bytes predict. `fewer_products`: computed with fewer products than `flops`
    counts (Winograd).
    """

    kernel: int
    predicted_s: float | None
    roof_s: float | None
    bound: Bound | Literal[""]
    unit: Unit | Literal[""]
    flops: int
    bytes: int
    fits: Level
    traffic: dict[Level, int]
    fewer_products: bool
    shares: dict[str, float]


class Profile(Payload):
    """Whole runs and their kernels, timed interleaved on the same random inputs."""

    threads: int
    seed: int
    machine: Machine
    run: RunTimes
    kernels: list[KernelTimes]
