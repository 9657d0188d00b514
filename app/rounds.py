"""Timing of whole runs, interleaved with timing of each kernel, so noise affects runs and kernels
alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.machine.roofline import Prediction
from compiler.runtime.profile import Profile
from compiler.runtime.program import Program

BATCHES = 10
"""Number of interleaved batches of runs and kernels to aim for, if runs are short."""
LEAST_ROUNDS = 3

Tell = Callable[[int, float], None]
"""Called with the number of finished rounds and the elapsed fraction of the time budget."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Times of whole runs, and of the same number of runs with timed kernels. Units: seconds."""

    whole: list[float]
    profile: Profile
    predicted: Mapping[str, Prediction]


def timed_rounds(
    program: Program,
    inputs: Mapping[str, Any],
    budget_seconds: float,
    most_rounds: int,
    tell: Tell = lambda done, share: None,
) -> Rounds:
    """Time a program for about the given duration. Errors: the errors of `Program.run`."""
    program.run(inputs)
    one = _timed(program, inputs)
    size = max(1, min(int(budget_seconds / BATCHES / 2 / max(one, 1e-7)), most_rounds // BATCHES))
    start = perf_counter()
    whole: list[float] = []
    profile = None
    runs: list[list[float]] = []
    while len(whole) < LEAST_ROUNDS or (
        len(whole) < most_rounds and perf_counter() < start + budget_seconds
    ):
        whole += [_timed(program, inputs) for _ in range(size)]
        profile = program.profile(inputs, repeat=size)
        runs += profile.runs
        in_time = (perf_counter() - start) / budget_seconds
        tell(len(whole), min(max(in_time, len(whole) / most_rounds), 1.0))
    assert profile is not None, "there is at least one round"
    return Rounds(whole, Profile(tuple(profile), runs), profile.predicted)


def _timed(program: Program, inputs: Mapping[str, Any]) -> float:
    start = perf_counter()
    program.run(inputs)
    return perf_counter() - start
