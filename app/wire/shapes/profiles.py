"""The measured time of each kernel of a run, with lower bounds for this machine."""

from __future__ import annotations

from typing import Literal, TypedDict

from app.wire.shapes import Payload
from compiler.bench.disturbance import Cause
from compiler.diagnosis import causes
from compiler.figures import times
from compiler.machine.machine import Level
from compiler.machine.roofline import Unit


class Peak(TypedDict):
    """Peak speed of one core with one of its multiplication units.

    `is_used` is true if this run uses the unit.
    """

    unit: Unit
    flops_per_second: float
    is_used: bool


class MemoryLevel(TypedDict):
    """Bandwidth of one core from a memory level; `bytes` is the level's size, null for main
    memory."""

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


class Disturbance(TypedDict):
    """The use of the processors during a measurement; figures that the system does not give are
    null.

    `busy_processors` is the mean number of processors that other processes used, of `n_processors`.
    `waiting_share` is the share of the time in which the measuring thread had no processor.
    `steal_share` is the share of all processor time that the hypervisor took. `causes` has the
    reasons to distrust the times; an empty list means an undisturbed measurement. `machine` is the
    name of the machine: times of different machines are not comparable. `words` describes these
    figures.
    """

    threads: int
    n_processors: int
    busy_processors: float | None
    waiting_share: float | None
    steal_share: float | None
    causes: list[Cause]
    machine: str
    words: str


class Times(TypedDict):
    """Median, minimum, and the 95 % confidence interval of the median, `low_s` to `high_s`."""

    median_s: float
    min_s: float
    low_s: float
    high_s: float


class RunTimes(Times):
    """Times of whole runs. A tenth of the runs took longer than `slow_s` seconds."""

    slow_s: float
    repeats: int


class ProfiledRun(RunTimes):
    """Whole runs of a profile; `flops_per_s` is the speed of the median run."""

    flops_per_s: float | None


class NextAction(causes.NextAction):
    """An action that can make a kernel faster; `words` describes it."""


class Diagnosis(causes.DiagnosisFields):
    """The cause of a kernel's time.

    `title` names the cause, and `words` is its definition. `evidence` has the figures of the
    kernel.
    """


class KernelTimes(times.Times, times.Speed):
    """A kernel, timed separately `repeats` times, with its roofline.

    `share` is the kernel's part of the time of all kernels. `predicted_s` is the lower bound of the
    kernel's time with a separate call, `roof_s` without the call. `ratio` is the median divided
    by `predicted_s`, and `potential_s` the time above `roof_s` and a measured call.
    `ceiling_flops_per_s` is the speed at `roof_s`, and `reached` is `roof_s` divided by the median.
    `bytes` counts the bytes read and written. `traffic` divides the bytes among the memory levels
    that are expected to supply or receive them. `shares` divides the kernel's time among ONNX nodes
    by their predicted operations and bytes. `diagnosis` is the cause of the time. `fewer_products`:
    Winograd computes the kernel with fewer products than `flops` counts.
    """

    kernel: int
    unit: Unit | Literal[""]
    flops: int
    bytes: int
    traffic: dict[Level, int]
    fewer_products: bool
    shares: dict[str, float]
    diagnosis: Diagnosis


class Totals(times.Totals):
    """Figures of all kernels together, in seconds.

    `kernels_s` is the sum of the medians, and `predicted_s` the sum of the bounds, both with
    separate calls. `outside_s` is the median run minus `kernels_s`. `run_bound_s` is the lower
    bound of a whole run, with a single call. `potential_s` is the sum of the potentials, at most
    the median run minus its bound. `call_s` is the time that a separate call adds, as measured.
    """

    outside_s: float
    call_s: float


class Profile(Payload):
    """Interleaved times of whole runs and of each kernel, on the same random inputs."""

    threads: int
    seed: int
    machine: Machine
    disturbance: Disturbance
    run: ProfiledRun
    totals: Totals
    kernels: list[KernelTimes]
