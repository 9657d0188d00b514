"""Tests of figures of measured times, on invented measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.figures.times import (
    kernel_times,
    outside_kernels,
    run_bound,
    run_times,
    separate_call,
    totals,
)
from compiler.machine.machine import estimated
from compiler.machine.roofline import Prediction
from compiler.runtime.profile import Profile
from compiler.targets.target import by_name

MACHINE = replace(estimated(by_name("host")), launch_seconds=0.5, call_seconds=1.0)


def bound(seconds: float, roof: float) -> Prediction:
    return Prediction(seconds, "compute", True, roof, "f32", {})


def profile() -> Profile:
    made = Profile(("a", "b", "c"), [[6.0, 1.0, 3.0]])
    made.predicted = {"a": bound(4.0, 3.0), "c": bound(3.5, 2.5)}
    return made


def test_totals_are_the_sums_of_the_kernels() -> None:
    found = totals(profile(), MACHINE)
    assert found["kernels_s"] == 10.0
    assert found["predicted_s"] == 7.5
    assert found["potential_s"] == 2.0
    assert outside_kernels(9.0, found["kernels_s"]) == -1.0


def test_no_more_is_worth_optimising_than_a_run_takes_above_its_bound() -> None:
    # The bound of the run is 7.
    assert totals(profile(), MACHINE, 9.5)["potential_s"] == 2.0
    assert totals(profile(), MACHINE, 8.5)["potential_s"] == 1.5
    assert totals(profile(), MACHINE, 6.0)["potential_s"] == 0.0


def test_a_separate_call_costs_what_separate_kernels_take_longer_together() -> None:
    assert separate_call([4.0, 5.0, 6.0], 9.0) == 2.0
    assert separate_call([1.0, 9.0, 9.0], 4.0) == 1.0, "at most the shortest kernel"
    assert separate_call([4.0, 5.0], 10.0) == 0.0
    assert separate_call([], 10.0) == 0.0


def test_a_potential_contains_no_call_as_measured() -> None:
    made = profile()
    made.call_s = 2.5
    assert kernel_times(made, "a")["potential_s"] == 0.5
    assert kernel_times(made, "c")["potential_s"] == 0.0
    assert kernel_times(made, "a")["ratio"] == 1.5


def test_the_bound_of_a_run_has_a_single_call() -> None:
    assert run_bound(list(profile().predicted.values()), MACHINE) == 3.0 + 2.5 + 0.5 + 1.0
    assert run_bound([], MACHINE) == 1.0


def test_a_kernel_below_its_bound_has_no_potential_and_one_without_bound_no_ratio() -> None:
    a, b, c = (kernel_times(profile(), name) for name in "abc")
    assert (a["ratio"], a["potential_s"]) == (1.5, 2.0)
    assert (b["ratio"], b["potential_s"], b["bound"]) == (None, None, "")
    assert c["potential_s"] == 0.0
    assert c["ratio"] == pytest.approx(3 / 3.5)
    assert [x["share"] for x in (a, b, c)] == [0.6, 0.1, 0.3]


def test_a_tenth_of_the_runs_is_slower_than_the_slow_run() -> None:
    found = run_times([float(n) for n in range(1, 21)])
    assert (found["min_s"], found["median_s"], found["slow_s"]) == (1.0, 10.5, 19.0)
    assert found["low_s"] < found["median_s"] < found["high_s"]
    assert found["repeats"] == 20
