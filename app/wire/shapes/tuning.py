"""A search for faster schedules."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.wire.shapes import Payload
from compiler.tuning.judge import Outcome as TrialOutcome

SearchName = Literal["annealing", "genetic", "random"]


class TunedKernel(TypedDict):
    """A computation whose schedules are searched: its kernels, the policy's schedule, and the best
    schedule found.

    Seconds are times per call from an interleaved measurement, and null before this measurement.
    `because` is the reason if the best schedule is not stored.
    """

    name: str
    kernels: list[int]
    share: float
    policy: str
    schedule: str
    untuned_s: float | None
    tuned_s: float | None
    kept: bool
    because: str
    why_stopped: str


class TuneTrial(TypedDict):
    """A candidate schedule. `kernel` is an index into `kernels`.

    `ratio` is the time of the candidate divided by the time of the policy's schedule.
    """

    kernel: int
    number: int
    outcome: TrialOutcome
    words: str
    ratio: float | None
    expected: float | None
    best: float
    schedule: str


class TunedModel(TypedDict):
    """Interleaved whole runs: minimum times, and the speed-up with its 95 % confidence interval."""

    untuned_s: float
    tuned_s: float
    ratio: float | None
    low: float | None
    high: float | None
    rounds: int


class Tuning(Payload):
    """The state of a search."""

    job: str
    kernel: int | None
    search: SearchName
    budget_seconds: float
    searching_seconds: float
    machine: str
    kernels: list[TunedKernel]
    trials: list[TuneTrial]
    model: NotRequired[TunedModel | None]
