"""Platforms, schedulers, and the schedules that were made."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem


class PlatformMemory(TypedDict):
    """Where devices compute; `nbytes` is null where there is always room."""

    name: str
    nbytes: int | None
    keeps_weights: bool
    handover_seconds: float


class PlatformDevice(TypedDict):
    """Something that runs one task at a time; `operators` is null for all."""

    name: str
    memory: str
    flops_per_second: float
    bytes_per_second: float
    seconds_per_kernel: float
    operators: list[str] | None


class PlatformLink(TypedDict):
    """What carries values between memories, `channels` at a time."""

    name: str
    joins: list[str]
    latency_seconds: float
    bytes_per_second: float
    channels: int


class Platform(TypedDict):
    """Devices, memories and links; values are in the memory `home` first and last."""

    name: str
    words: str
    home: str
    memories: list[PlatformMemory]
    devices: list[PlatformDevice]
    links: list[PlatformLink]


class Scheduler(TypedDict):
    """A way to decide; one that is not quick searches for a few seconds."""

    name: str
    words: str
    source: str
    is_quick: bool


class Platforms(Payload):
    """The platforms that ship, and all schedulers."""

    platforms: list[Platform]
    schedulers: list[Scheduler]


class PlacementRow(TypedDict):
    """A scheduler among others; null and a problem for one that refused.

    `seconds` is what deciding and simulating took.
    """

    scheduler: str
    seconds: float
    makespan_seconds: float | None
    bound_seconds: float | None
    n_moves: int
    moved_bytes: int
    problem: Problem | None


class Placements(Payload):
    """What schedulers made of the same tasks; `bound_seconds`: no schedule takes less."""

    job: str
    platform: str
    ahead: int | None
    contention: bool
    n_tasks: int
    bound_seconds: float
    one_device_seconds: float | None
    rows: list[PlacementRow]


class PlacedTask(TypedDict):
    """A kernel on a device; `task` is the id of its node. Units: seconds."""

    task: str
    device: str
    start: float
    end: float
    operators: list[str]
    origins: list[str]
    is_critical: bool


class PlacedMove(TypedDict):
    """A value on a link; `task` makes it or else is the first to read it. Units: seconds."""

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
    """A simulated run. `held_bytes`: by memory, from when on how many bytes lie there."""

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
