"""Tests of profiles, and of the interval of a median by the order of times alone."""

from __future__ import annotations

from random import Random
from statistics import median

from compiler.runtime.profile import Profile, median_interval


def test_few_times_give_an_interval_from_the_least_to_the_greatest():
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_the_interval_holds_the_median_of_the_law_about_as_often_as_it_says():
    random = Random(7)
    held = 0
    for _ in range(400):
        times = [random.expovariate(1.0) for _ in range(50)]
        low, high = median_interval(times)
        assert low <= median(times) <= high
        held += low <= 0.6931 <= high
    assert 0.92 <= held / 400 <= 0.995


def test_more_times_make_it_narrower():
    random = Random(3)
    times = [random.gauss(5.0, 1.0) for _ in range(1000)]
    widths = [high - low for low, high in (median_interval(times[:n]) for n in (20, 1000))]
    assert widths[1] < widths[0] / 3


def test_a_profile_has_the_least_the_median_and_its_interval_of_each_kernel():
    found = Profile(("a", "b"), [[3.0, 10.0], [1.0, 30.0], [2.0, 20.0]])
    assert dict(found) == {"a": 1.0, "b": 10.0}
    assert found.medians == {"a": 2.0, "b": 20.0}
    assert found.intervals == {"a": (1.0, 3.0), "b": (10.0, 30.0)}
