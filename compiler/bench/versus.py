"""A/B comparison of two programs: interleaved blocks of runs of several copies, and the verdict.

The times of two copies of one program differ, because the addresses of their code and buffers
differ. A repeated measurement of the same two copies repeats this difference and does not average
it out. The sample of the test is therefore the copies, not the runs.
Sources: Mytkowicz et al. 2009, Producing wrong data without doing anything obviously wrong;
Kalibera and Jones 2013, Rigorous benchmarking in reasonable time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from math import exp, inf, log
from statistics import fmean, median
from time import perf_counter
from typing import Literal

from compiler.bench.timing import Call
from compiler.dataclass import dataclass

Verdict = Literal["faster", "slower", "same", "unknown"]
"""B compared with A: faster or slower with significance, no difference shown, too few data."""

N_COPIES, LEAST_COPIES = 24, 5
"""Usual and minimum number of copies of each program; fewer copies give no interval at
`SIGNIFICANCE`."""
SAMPLES = 40
"""Target number of runs of each copy."""
LONG_RUN_SECONDS = 2e-3
"""Minimum duration of a long run; it loads its own data, so no untimed run precedes it."""
COPIES_OF_LONG_RUNS, SAMPLES_OF_LONG_RUNS = 8, 25
"""`N_COPIES` and `SAMPLES` for long runs, whose times vary less."""
LONGEST_SECONDS = 10.0
"""Maximum duration of an extended comparison of long runs."""
SIGNIFICANCE = 0.01
"""Probability that equal programs are called different."""
EQUAL_SHARE = 0.002
"""Relative difference of times below which two programs count as equal."""
EQUAL_SHARE_OF_ONE = 0.01
"""`EQUAL_SHARE` for single copies of the programs: addresses alone may cause such a difference."""
BLOCKS = 25
SAMPLE_SECONDS = 2e-5
"""Duration below which several runs are timed together."""
LEAST_BLOCKS = 8
"""Minimum number of blocks; fewer blocks give no interval at `SIGNIFICANCE`."""
WIDE = 0.02
"""Relative width of an interval above which a comparison takes further blocks."""
EXTENSION = 3.0
"""Maximum number of blocks and duration of an extended comparison, relative to the usual ones."""

Pause = Callable[[], None]
"""Called between blocks, when no program runs."""


@dataclass(frozen=True, slots=True)
class Versus:
    """Minimum times of each copy of A and B in each block. Units: seconds of one run."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[tuple[float, ...], ...]

    @property
    def seconds(self) -> tuple[float, float]:
        """Return the median times of A and of B, over all copies and blocks."""
        return _middle(self.a), _middle(self.b)

    @property
    def n_blocks(self) -> int:
        """Return the number of blocks."""
        return len(self.a[0])

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Return the time of B relative to A, with the confidence interval of the verdict."""
        if len(self.a) == 1:
            ratios = sorted(b / a for a, b in zip(self.a[0], self.b[0], strict=True))
            out = _outside_of_median(len(ratios))
            return median(ratios), ratios[out], ratios[-1 - out]
        a, b = _levels((*self.a, *self.b), len(self.a))
        gaps = sorted(y - x for x in a for y in b)
        out = _outside_of_gaps(len(a), len(b))
        return exp(median(gaps)), exp(gaps[out]), exp(gaps[-1 - out])

    @property
    def equal_share(self) -> float:
        """Return the relative difference below which A and B count as equal."""
        return EQUAL_SHARE if len(self.a) > 1 else EQUAL_SHARE_OF_ONE

    @property
    def verdict(self) -> Verdict:
        """Return the verdict: "same" if the interval contains 1 or the difference is negligible."""
        if self.n_blocks < LEAST_BLOCKS:
            return "unknown"
        value, low, high = self.ratio
        least = 1 + self.equal_share
        if value > least and low > 1:
            return "slower"
        return "faster" if value < 1 / least and high < 1 else "same"


def n_copies(run_seconds: float, copy_bytes: int, seconds: float, limit_bytes: int) -> int:
    """Return the number of copies of each program that time and memory allow.

    `run_seconds` is the total time of one run of A and one run of B. `copy_bytes` is the total
    memory of one copy of A and one copy of B.
    """
    # Short runs are repeated without timing, too.
    samples = SAMPLES_OF_LONG_RUNS if _is_long(run_seconds / 2) else 2 * SAMPLES
    in_time = int(seconds / samples / max(run_seconds, 1e-9))
    found = min(N_COPIES, in_time, limit_bytes // max(copy_bytes, 1))
    return found if found >= LEAST_COPIES else 1


def enough_seconds(run_seconds: float, seconds: float) -> float:
    """Return the duration of a comparison: `seconds`, or longer if runs are long.

    `run_seconds` is the total time of one run of A and one run of B. With a single copy of each
    program, a difference cannot be separated from the effect of addresses.
    """
    if not _is_long(run_seconds / 2):
        return seconds
    wanted = 1.05 * COPIES_OF_LONG_RUNS * SAMPLES_OF_LONG_RUNS * run_seconds
    return max(seconds, min(wanted, LONGEST_SECONDS))


def versus(
    a: Sequence[Call], b: Sequence[Call], seconds: float, pause: Pause = lambda: None
) -> Versus:
    """Time equally many copies of A and of B for about `seconds`, interleaved in blocks.

    In a block, each copy runs several times, and its minimum counts: a preemption of one run does
    not affect the block. Slow changes of the machine's speed affect all copies of a block alike.
    While the interval is wide, the comparison continues, at most `EXTENSION` times as long. Only
    the width decides, so equal programs are not called different more often.
    Source: Chow and Robbins 1965, fixed-width sequential confidence intervals.
    """
    assert len(a) == len(b), "equally many copies"
    calls = (*a, *b)
    for call in calls:
        call()
    ones = [_timed(call, 1) for call in calls]
    runs = max(1, int(SAMPLE_SECONDS / max(median(ones), 1e-7)))
    is_long = _is_long(median(ones))
    size = max(1, int(seconds / BLOCKS / (runs + (not is_long)) / max(sum(ones), 1e-7)))
    times: list[list[float]] = [[] for _ in calls]
    order, chance = list(range(len(calls))), random.Random(0)
    start = perf_counter()
    while _needs_more(times, len(a), (perf_counter() - start) / seconds):
        least = [inf] * len(calls)
        for _ in range(size):
            chance.shuffle(order)
            for i in order:
                if not is_long:
                    calls[i]()  # An untimed run loads the program's data into the caches.
                least[i] = min(least[i], _timed(calls[i], runs))
        for each, found in zip(times, least, strict=True):
            each.append(found)
        pause()
    return _parted(times, len(a))


def _parted(times: Sequence[Sequence[float]], n: int) -> Versus:
    rows = tuple(tuple(each) for each in times)
    return Versus(rows[:n], rows[n:])


def _needs_more(times: Sequence[Sequence[float]], n: int, spent: float) -> bool:
    """Return whether a comparison takes another block; `spent` is the used share of its time."""
    done = len(times[0])
    if done < LEAST_BLOCKS:
        return True
    if done < BLOCKS and spent < 1:
        return True
    if done >= EXTENSION * BLOCKS or spent >= EXTENSION:
        return False
    _, low, high = _parted(times, n).ratio
    return high - low > WIDE


def _is_long(one_run_seconds: float) -> bool:
    return one_run_seconds > LONG_RUN_SECONDS


def _timed(call: Call, n: int) -> float:
    """Return the seconds of one run, averaged over n runs."""
    start = perf_counter()
    for _ in range(n):
        call()
    return (perf_counter() - start) / n


def _middle(rows: Sequence[Sequence[float]]) -> float:
    return median(seconds for row in rows for seconds in row)


def _levels(rows: Sequence[Sequence[float]], n: int) -> tuple[list[float], list[float]]:
    """Return the log times of the copies relative to the block means: the first n, then the others.

    The mean of a block is subtracted, so slow changes of the machine's speed have no effect.
    """
    logs = [[log(seconds) for seconds in row] for row in rows]
    means = [fmean(block) for block in zip(*logs, strict=True)]
    levels = [median(x - m for x, m in zip(row, means, strict=True)) for row in logs]
    return levels[:n], levels[n:]


@cache
def _outside_of_gaps(n: int, m: int) -> int:
    """Return the number of differences below the interval of the shift between two samples.

    Source: Hodges and Lehmann 1963, from the distribution of the Mann-Whitney statistic.
    """
    counts = _rank_sums(n, m)
    total, below = sum(counts), 0
    for u, count in enumerate(counts):
        below += count
        if 2 * below > SIGNIFICANCE * total:
            return u
    raise AssertionError("the whole distribution exceeds the significance")


@cache
def _rank_sums(n: int, m: int) -> tuple[int, ...]:
    """Return the number of orders of two samples for each value of the Mann-Whitney statistic."""
    if n == 0 or m == 0:
        return (1,)
    found = [0] * (n * m + 1)
    for u, count in enumerate(_rank_sums(n - 1, m)):
        found[u + m] += count
    for u, count in enumerate(_rank_sums(n, m - 1)):
        found[u] += count
    return tuple(found)


@cache
def _outside_of_median(n: int) -> int:
    """Return the number of values below the interval of the median of n values (sign test)."""
    below, count = 0.0, 0.5**n
    for k in range(n):
        below += count
        if 2 * below > SIGNIFICANCE:
            return k
        count *= (n - k) / (k + 1)
    return 0
