"""Tests of the disturbance of measurements, with counters of the system and of this process."""

from __future__ import annotations

import time

import pytest

from compiler.bench import disturbance as module
from compiler.bench.disturbance import Disturbance, Watch, watched


class Clock:
    """Counters that a test advances."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall = self.own = self.busy = self.steal = 100.0
        monkeypatch.setattr(module, "perf_counter", lambda: self.wall)
        monkeypatch.setattr(module, "process_time", lambda: self.own)
        monkeypatch.setattr(module, "_system_seconds", lambda: (self.busy, self.steal))
        monkeypatch.setattr(module.os, "cpu_count", lambda: 4)

    def pass_time(self, seconds: float, own: float, others: float, steal: float = 0.0) -> None:
        self.wall += seconds
        self.own += own
        self.busy += own + others
        self.steal += steal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_an_undisturbed_measurement_has_no_cause(clock: Clock) -> None:
    with watched(1) as watch:
        clock.pass_time(2.0, own=1.98, others=1.0)
    found = watch.disturbance()
    assert found.busy_processors == pytest.approx(0.5)
    assert found.waiting_share == pytest.approx(0.01)
    assert found.causes == ()


@pytest.mark.parametrize(
    ("own", "others", "steal", "threads", "causes"),
    [
        (1.5, 1.0, 0.0, 1, ("waiting",)),
        (2.0, 0.0, 0.4, 1, ("steal",)),
        (2.0, 7.0, 0.0, 1, ("busy",)),
        (8.0, 1.0, 0.0, 4, ("busy",)),
        (4.0, 1.0, 0.0, 4, ("busy",)),
        (4.0, 0.0, 0.0, 4, ()),
    ],
)
def test_causes_are_named(
    clock: Clock, own: float, others: float, steal: float, threads: int, causes: tuple[str, ...]
) -> None:
    with watched(threads) as watch:
        clock.pass_time(2.0, own, others, steal)
    assert watch.disturbance().causes == causes


def test_intervals_are_added_and_pauses_do_not_count(clock: Clock) -> None:
    watch = Watch(1)
    for _ in range(2):
        watch.begin()
        clock.pass_time(1.0, own=1.0, others=0.0)
        watch.end()
        clock.pass_time(9.0, own=0.0, others=30.0)
    found = watch.disturbance()
    assert (found.seconds, found.busy_processors, found.waiting_share) == (2.0, 0.0, 0.0)


def test_another_measurement_is_a_cause() -> None:
    assert Disturbance(1.0, 1, 4, 0.0, 0.0, 0.0, is_exclusive=False).causes == ("shared",)


def test_a_short_measurement_and_another_system_give_unknown_figures(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(1) as short:
        clock.pass_time(0.01, own=0.0, others=1.0)
    assert short.disturbance().busy_processors is None
    monkeypatch.setattr(module, "_system_seconds", lambda: (None, None))
    with watched(2) as other:
        clock.pass_time(2.0, own=0.0, others=1.0)
    found = other.disturbance()
    assert (found.busy_processors, found.steal_share, found.waiting_share) == (None, None, None)
    assert found.causes == ()


def test_sleeping_is_waiting() -> None:
    with watched(1) as watch:
        time.sleep(0.15)
    share = watch.disturbance().waiting_share
    assert share is not None
    assert share > 0.5
