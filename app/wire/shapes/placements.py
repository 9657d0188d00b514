"""Platforms, schedulers, and their schedules."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem


class PlatformMemory(TypedDict):
    """A memory of one or several devices; `nbytes` is its size, null if unlimited."""

    name: str
    nbytes: int | None
    keeps_weights: bool
    handover_seconds: float


class PlatformDevice(TypedDict):
    """A device that runs one task at a time; it supports `operators`, or all operators if null."""

    name: str
    memory: str
    flops_per_second: float
    bytes_per_second: float
    seconds_per_kernel: float
    operators: list[str] | None


class PlatformLink(TypedDict):
    """A link between memories that performs at most `channels` transfers concurrently."""

    name: str
    joins: list[str]
    latency_seconds: float
    bytes_per_second: float
    channels: int


class Platform(TypedDict):
    """Devices, memories and links; the memory `home` contains the inputs at the start and the
    results at the end."""

    name: str
    words: str
    home: str
    memories: list[PlatformMemory]
    devices: list[PlatformDevice]
    links: list[PlatformLink]


class Scheduler(TypedDict):
    """A scheduler; schedulers that are not quick search for a few seconds."""

    name: str
    words: str
    source: str
    is_quick: bool


class Platforms(Payload):
    """The built-in platforms, and all schedulers."""

    platforms: list[Platform]
    schedulers: list[Scheduler]


class PlacementRow(TypedDict):
    """The result of one scheduler; if it refused the tasks, the figures are null and `problem` is
    set.

    `seconds` is the time of scheduling and simulation.
    """

    scheduler: str
    seconds: float
    makespan_seconds: float | None
    bound_seconds: float | None
    n_moves: int
    moved_bytes: int
    problem: Problem | None


class Placements(Payload):
    """The results of all schedulers for the same tasks; no schedule is shorter than
    `bound_seconds`."""

    job: str
    platform: str
    ahead: int | None
    contention: bool
    n_tasks: int
    bound_seconds: float
    one_device_seconds: float | None
    rows: list[PlacementRow]


class PlacedTask(TypedDict):
    """A kernel on a device; `task` is the id of the kernel's node. Units: seconds."""

    task: str
    device: str
    start: float
    end: float
    operators: list[str]
    origins: list[str]
    is_critical: bool


class PlacedMove(TypedDict):
    """A transfer of a value. Units: seconds.

    `task` is the task that produces the value or, for an input, its first reader.
    """

    datum: str
    link: str
    source: str
    to: str
    start: float
    end: float
    nbytes: int
    task: str
    is_critical: bool


class Placement(Payload):
    """A simulated run.

    `held_bytes` maps each memory to pairs: a time, and the bytes in use from this time on.
    """

    scheduler: str
    platform: str
    makespan_seconds: float
    bound_seconds: float
    ahead: int | None
    notes: list[str]
    peak_bytes: dict[str, int]
    busy_seconds: dict[str, float]
    held_bytes: dict[str, list[tuple[float, int]]]
    tasks: list[PlacedTask]
    moves: list[PlacedMove]
