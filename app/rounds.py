"""Timing of whole runs, interleaved with timing of each kernel, so noise affects runs and kernels
alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
Pause = Callable[[], None]
"""Called between two batches; the time of the call does not count."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Times of whole runs, and of the same number of runs with timed kernels. Units: seconds."""

    whole: list[float]
    profile: Profile
    predicted: Mapping[str, Prediction]
    n_batches: int = 1

    @property
    def batch_minima(self) -> tuple[float, ...]:
        """The shortest whole run of each batch."""
        size = len(self.whole) // self.n_batches
        return tuple(min(self.whole[i * size : (i + 1) * size]) for i in range(self.n_batches))


def timed_rounds(
    program: Program,
    inputs: Mapping[str, Any],
    budget_seconds: float,
    most_rounds: int,
    tell: Tell = lambda done, share: None,
    pause: Pause = lambda: None,
) -> Rounds:
    """Time a program for about the given duration. Errors: the errors of `Program.run`."""
    return interleaved_rounds([program], inputs, budget_seconds, most_rounds, tell, pause)[0]


def interleaved_rounds(
    programs: Sequence[Program],
    inputs: Mapping[str, Any],
    budget_seconds: float,
    most_rounds: int,
    tell: Tell = lambda done, share: None,
    pause: Pause = lambda: None,
) -> list[Rounds]:
    """Time programs of one model, interleaved, for about the given duration in total.

    Errors: the errors of `Program.run`.
    """
    each = [_Timing(p, inputs, budget_seconds / len(programs), most_rounds) for p in programs]
    left_seconds = budget_seconds
    while each[0].n < LEAST_ROUNDS or (each[0].n < most_rounds and left_seconds > 0):
        start = perf_counter()
        for timing in each:
            timing.add_batch()
        left_seconds -= perf_counter() - start
        in_time = 1 - left_seconds / budget_seconds
        tell(each[0].n, min(max(in_time, each[0].n / most_rounds), 1.0))
        pause()
    return [timing.rounds() for timing in each]


class _Timing:
    """The times of one program, in batches of whole runs and of runs with timed kernels."""

    def __init__(
        self, program: Program, inputs: Mapping[str, Any], seconds: float, most_rounds: int
    ) -> None:
        self._program, self._inputs = program, inputs
        program.run(inputs)
        one = max(_timed(program, inputs), 1e-7)
        self._size = max(1, min(int(seconds / BATCHES / 2 / one), most_rounds // BATCHES))
        self._whole: list[float] = []
        self._runs: list[list[float]] = []
        self._n_batches = 0
        self._last: Profile | None = None

    @property
    def n(self) -> int:
        return len(self._whole)

    def add_batch(self) -> None:
        self._whole += [_timed(self._program, self._inputs) for _ in range(self._size)]
        self._last = self._program.profile(self._inputs, repeat=self._size)
        self._runs += self._last.runs
        self._n_batches += 1

    def rounds(self) -> Rounds:
        last = self._last
        assert last is not None, "there is at least one batch"
        return Rounds(
            self._whole, Profile(tuple(last), self._runs), last.predicted, self._n_batches
        )


def _timed(program: Program, inputs: Mapping[str, Any]) -> float:
    start = perf_counter()
    program.run(inputs)
    return perf_counter() - start
