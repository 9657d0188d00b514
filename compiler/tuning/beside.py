"""A/B comparison of a user's schedule with the original schedule of a kernel: results and times.

In a search, candidates are compared by minimum times, and slow candidates are not timed further.
In a user's comparison, both schedules are timed in all rounds, interleaved, and confidence
intervals are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from compiler.dataclass import dataclass
from compiler.runtime.profile import median_interval
from compiler.tuning.judge import SAMPLE_SECONDS, Judge, Runnable, agrees, sample

LEAST_ROUNDS, MOST_ROUNDS = 5, 1_000


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of one result of two schedules: largest difference and largest magnitude."""

    name: str
    agrees: bool
    max_abs_error: float
    scale: float


@dataclass(frozen=True, slots=True)
class Turns:
    """Interleaved times of the original and the edited kernel: seconds of one call, per round."""

    original: tuple[float, ...]
    edited: tuple[float, ...]

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Return the median time ratio over rounds, edited to original, and its 95 % interval."""
        ratios = [b / a for a, b in zip(self.original, self.edited, strict=True)]
        return (median(ratios), *median_interval(ratios))


def compared(judge: Judge, edited: Runnable) -> tuple[Compared, ...]:
    """Compare the results of the edited and the original kernel, on the same operands."""
    edited.call()
    return tuple(
        Compared(name, agrees(value, judge.expected[name]), *_distance(value, judge.expected[name]))
        for name, value in edited.results().items()
    )


def _distance(value: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    a, b = value.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    error = np.max(np.abs(a - b), initial=0.0, where=finite)
    return float(error), float(np.max(np.abs(b), initial=0.0, where=finite))


def in_turns(
    judge: Judge,
    edited: Runnable,
    seconds: float,
    tell: Callable[[int, float], None],
    pause: Callable[[], None] = lambda: None,
) -> Turns:
    """Time both kernels with warm caches.

    After each round, `tell` is called with the number of finished rounds and the elapsed fraction
    of `seconds`; then `pause` is called.

    The order of the kernels alternates from round to round.
    """
    calls = (judge.untuned.call, edited.call)
    n = max(1, int(SAMPLE_SECONDS / max(sample(calls[0], 1), 1e-7)))
    times: tuple[list[float], list[float]] = ([], [])
    start = perf_counter()
    while len(times[0]) < LEAST_ROUNDS or (
        len(times[0]) < MOST_ROUNDS and perf_counter() < start + seconds
    ):
        for i in (0, 1) if len(times[0]) % 2 else (1, 0):
            calls[i]()  # An untimed call loads the data into the caches.
            times[i].append(sample(calls[i], n))
        share = max((perf_counter() - start) / seconds, len(times[0]) / MOST_ROUNDS)
        tell(len(times[0]), min(share, 1.0))
        pause()
    return Turns(tuple(times[0]), tuple(times[1]))
