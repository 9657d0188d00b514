"""Tests of A/B comparisons: verdicts, exact intervals, and equal treatment of both programs."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from compiler.bench import versus as module
from compiler.bench.versus import (
    COPIES_OF_LONG_RUNS,
    LEAST_COPIES,
    LONGEST_SECONDS,
    N_COPIES,
    Versus,
    enough_seconds,
    n_copies,
    versus,
)


def drawn(seed: int, ratio: float, n: int = N_COPIES, spread: float = 0.003) -> Versus:
    """Times of copies that differ by their addresses, on a machine whose speed drifts."""
    chance = random.Random(seed)

    def copies(factor: float) -> tuple[tuple[float, ...], ...]:
        levels = [factor * chance.gauss(1, spread) for _ in range(n)]
        return tuple(
            tuple(level * drift * (1 + abs(chance.gauss(0, 0.002))) for drift in drifts)
            for level in levels
        )

    drifts = [1 + 0.3 * chance.random() for _ in range(20)]
    return Versus(copies(3e-6), copies(3e-6 * ratio))


def test_equal_programs_are_called_different_about_once_in_a_hundred() -> None:
    verdicts = Counter(drawn(seed, 1.0).verdict for seed in range(300))
    assert verdicts["same"] >= 290


@pytest.mark.parametrize(("ratio", "verdict"), [(1.02, "slower"), (0.98, "faster")])
def test_a_difference_of_two_percent_is_found_in_every_try(ratio: float, verdict: str) -> None:
    for seed in range(50):
        found = drawn(seed, ratio)
        assert found.verdict == verdict
        value, low, high = found.ratio
        assert low < value < high
        assert value == pytest.approx(ratio, abs=0.006)


def test_a_negligible_difference_counts_as_none() -> None:
    assert drawn(1, 1.001, spread=0.0).verdict == "same"


def test_single_copies_need_a_larger_difference() -> None:
    assert drawn(1, 1.008, n=1, spread=0.0).verdict == "same"
    assert drawn(1, 1.05, n=1, spread=0.0).verdict == "slower"


def test_few_blocks_give_no_verdict() -> None:
    assert Versus(((1.0,) * 7,), ((2.0,) * 7,)).verdict == "unknown"


@pytest.mark.parametrize(("n", "m"), [(1, 3), (4, 3), (5, 5)])
def test_rank_sums_count_all_orders_of_two_samples(n: int, m: int) -> None:
    counts = Counter(
        sum(i - k for k, i in enumerate(places))
        for places in itertools.combinations(range(n + m), n)
    )
    assert module._rank_sums(n, m) == tuple(counts[u] for u in range(n * m + 1))


def test_intervals_exclude_at_most_one_percent() -> None:
    # 252 orders of five and five: only the two extreme orders are outside.
    assert module._outside_of_gaps(5, 5) == 1
    # The sign test: 2 (1 + 8) / 2**8 exceeds 1 %.
    assert module._outside_of_median(8) == 1
    assert module._outside_of_median(7) == 0


def test_copies_fit_into_time_and_memory() -> None:
    assert n_copies(1e-5, 1000, 2.0, 10**9) == N_COPIES
    assert n_copies(1.0, 1000, 2.0, 10**9) == 1
    assert n_copies(0.03, 1000, 2.0, 10**9) == 1
    assert n_copies(0.03, 1000, enough_seconds(0.03, 2.0), 10**9) == COPIES_OF_LONG_RUNS
    assert enough_seconds(1e-5, 2.0) == 2.0
    assert enough_seconds(1.0, 2.0) == LONGEST_SECONDS
    assert n_copies(1e-5, 10**8, 2.0, 7 * 10**8) == 7
    assert n_copies(1e-5, 10**8, 2.0, (LEAST_COPIES - 1) * 10**8) == 1


def test_programs_alternate_and_run_equally_often() -> None:
    calls: Counter[str] = Counter()
    pauses: list[int] = []
    names = ["a0", "a1", "b0", "b1"]
    each = [lambda name=name: calls.update([name]) for name in names]
    found = versus(each[:2], each[2:], 0.02, lambda: pauses.append(1))
    assert len(set(calls.values())) == 1
    assert found.n_blocks == len(pauses) >= module.LEAST_BLOCKS
    assert min(found.seconds) > 0


def _blocks(n: int, width: float) -> list[list[float]]:
    """Times of three copies of A and of B: B is slower by 10 %, within a width."""
    levels = [1 + width * k for k in range(-1, 2)]
    return [[level * factor] * n for factor in (1.0, 1.1) for level in levels]


@pytest.mark.parametrize(
    ("n", "width", "spent", "more"),
    [
        (module.LEAST_BLOCKS - 1, 0.0, 9.0, True),
        (module.LEAST_BLOCKS, 0.0, 0.9, True),
        (module.LEAST_BLOCKS, 0.0, 1.1, False),
        (module.LEAST_BLOCKS, 0.1, 1.1, True),
        (module.LEAST_BLOCKS, 0.1, module.EXTENSION, False),
        (module.BLOCKS, 0.0, 0.5, False),
        (module.BLOCKS, 0.1, 0.5, True),
        (int(module.EXTENSION * module.BLOCKS), 0.1, 0.5, False),
    ],
)
def test_a_wide_interval_extends_a_comparison(
    n: int, width: float, spent: float, more: bool
) -> None:
    times = _blocks(n, width)
    assert module._needs_more(times, 3, spent) is more
    assert module._needs_more(times[3:] + times[:3], 3, spent) is more
