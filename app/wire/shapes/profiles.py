"""A measured run by kernel, with the lower bounds on the machine."""

from __future__ import annotations

from typing import Literal, TypedDict

from app.wire.shapes import Payload
from compiler.machine.machine import Level
from compiler.machine.roofline import Bound, Unit


class Peak(TypedDict):
    """Peak speed of one core with a multiplication unit, which this run uses if `is_used`."""

    unit: Unit
    flops_per_second: float
    is_used: bool


class MemoryLevel(TypedDict):
    """Bandwidth of one core from a memory level; `bytes` is its size, null for main memory."""

    level: Level
    bytes: int | None
    bytes_per_second: float


class Machine(TypedDict):
    """The speeds of one core, measured at the time `measured` (Unix seconds) or estimated.

    `call_s` is the overhead of a separate kernel launch, included in every kernel time.
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
    """Median, minimum, and the 95 % interval of the median, `low_s` to `high_s`."""

    median_s: float
    min_s: float
    low_s: float
    high_s: float


class RunTimes(Times):
    """Times of whole runs. A tenth of the runs took longer than `slow_s`."""

    slow_s: float
    repeats: int


class KernelTimes(Times):
    """A kernel, timed separately `repeats` times, with its roofline.

    `predicted_s` is the lower bound of its time with a separate launch, `roof_s` without the
    launch. `bytes` is the total read and written, `fits` the smallest memory level that holds them,
    and `traffic` the bytes by the level that is expected to supply or receive them. `shares`
    divides the time among ONNX nodes by their predicted operations and bytes. `fewer_products`:
    Winograd computes the kernel with fewer products than `flops` counts.
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
