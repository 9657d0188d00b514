"""A search for faster schedules."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.wire.shapes import Payload
from compiler.tuning.judge import Outcome as TrialOutcome

SearchName = Literal["annealing", "genetic", "random"]


class TunedKernel(TypedDict):
    """A computation that is searched: who runs it, the policy's schedule, and the best one found.

    Seconds are of one call, timed interleaved, null before that; `because` says why it is not kept.
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
    """A candidate. `kernel` is a row of `kernels`; `ratio` its time as a part of the policy's."""

    kernel: int
    number: int
    outcome: TrialOutcome
    words: str
    ratio: float | None
    expected: float | None
    best: float
    schedule: str


class TunedModel(TypedDict):
    """Whole runs, interleaved: the least times, and how many times faster, with its 95 % bounds."""

    untuned_s: float
    tuned_s: float
    ratio: float | None
    low: float | None
    high: float | None
    rounds: int


class Tuning(Payload):
    """A search, as far as it got."""

    job: str
    kernel: int | None
    search: SearchName
    budget_seconds: float
    searching_seconds: float
    kernels: list[TunedKernel]
    trials: list[TuneTrial]
    model: NotRequired[TunedModel | None]
