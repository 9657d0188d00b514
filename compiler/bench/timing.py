"""Comparison of the times of programs: interleaved rounds in one process, minima, intervals."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from statistics import median
from time import perf_counter

import numpy as np

from compiler.dataclass import dataclass

Call = Callable[[], object]

RESAMPLES = 2000
WARM_UP_S = 0.5


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a program, one per round. Units: seconds of one call."""

    seconds: tuple[float, ...]

    @property
    def least(self) -> float:
        """Return the minimum time over all rounds, an estimate of the time on an undisturbed
        machine."""
        return min(self.seconds)

    @property
    def middle(self) -> float:
        """Return the median time over all rounds."""
        return median(self.seconds)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of two programs' times; 95 % of bootstrap resamples are within `low`..`high`."""

    value: float
    low: float
    high: float


def interleaved(
    calls: Mapping[str, Call],
    seconds: float,
    min_rounds: int = 10,
    warm_up_seconds: float = WARM_UP_S,
) -> dict[str, Times]:
    """Time programs in interleaved rounds for `seconds`, at least `min_rounds` rounds.

    The order of the programs changes from round to round, deterministically. So noise affects all
    programs alike, and each program follows every other program in some rounds. An untimed call
    precedes each timed call, so the program's data are in the caches, as in steady use. Before the
    first round, each program runs for `warm_up_seconds`.
    """
    for call in calls.values():
        _warm_up(call, warm_up_seconds)
    taken: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    chance = random.Random(0)
    end = perf_counter() + seconds
    while len(taken[order[0]]) < min_rounds or perf_counter() < end:
        for name in order:
            calls[name]()
            start = perf_counter()
            calls[name]()
            taken[name].append(perf_counter() - start)
        chance.shuffle(order)
    return {name: Times(tuple(t)) for name, t in taken.items()}


def _warm_up(call: Call, seconds: float) -> None:
    end = perf_counter() + seconds
    call()
    while perf_counter() < end:
        call()


def ratio_of_minima(ours: Times, theirs: Times, seed: int = 0) -> Ratio:
    """Return the ratio of the minimum times, `ours` over `theirs`, with a bootstrap interval.

    Source: percentile bootstrap, Efron and Tibshirani 1993, chapter 13.
    """
    chance = np.random.default_rng(seed)
    a, b = np.array(ours.seconds), np.array(theirs.seconds)
    picks_a = chance.integers(0, len(a), (RESAMPLES, len(a)))
    picks_b = chance.integers(0, len(b), (RESAMPLES, len(b)))
    ratios = a[picks_a].min(axis=1) / b[picks_b].min(axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return Ratio(ours.least / theirs.least, float(low), float(high))


@contextmanager
def pinned(wanted: bool = True, n: int = 1) -> Generator[tuple[int, ...]]:
    """Pin this thread, and the threads that it starts, to the last n of its available processors.

    Yields the numbers of the processors; () if the system cannot pin threads or has fewer than n
    processors.
    """
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
    if not wanted or len(before) < n:
        yield ()
        return
    chosen = tuple(sorted(before)[-n:])
    os.sched_setaffinity(0, chosen)
    try:
        yield chosen
    finally:
        os.sched_setaffinity(0, before)
