"""Disturbance of a measurement: processor time that other processes and the hypervisor took."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Literal

from compiler.dataclass import dataclass
from compiler.machine.name import machine_name

Cause = Literal["waiting", "steal", "busy", "shared"]
"""The reasons to distrust a time: the measuring thread waited for a processor, the hypervisor took
processor time, too few processors were free, or another measurement ran."""

WAITING_LIMIT = 0.05
STEAL_LIMIT = 0.02
BUSY_SLACK = 0.25
"""Number of processors by which the load may exceed the machine without a disturbance."""
LEAST_SECONDS = 0.1
"""Minimum duration in seconds of a measurement whose disturbance is known; a shorter one has too
few ticks of the system's clock."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The use of the processors during a measurement of `seconds`.

    `busy_processors` is the mean number of processors that other processes used, of `n_processors`.
    `waiting_share` is the share of the time in which the measuring thread had no processor.
    `steal_share` is the share of all processor time that the hypervisor took. Unknown figures are
    None. `is_exclusive` is False if another measurement of this user ran. `machine` is the name of
    the machine.
    """

    seconds: float
    threads: int
    n_processors: int
    busy_processors: float | None
    waiting_share: float | None
    steal_share: float | None
    is_exclusive: bool = True
    machine: str = ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Return the reasons to distrust the times; () for an undisturbed measurement."""
        free = self.n_processors - self.threads + BUSY_SLACK
        found: dict[Cause, bool] = {
            "waiting": (self.waiting_share or 0.0) > WAITING_LIMIT,
            "steal": (self.steal_share or 0.0) > STEAL_LIMIT,
            "busy": (self.busy_processors or 0.0) > free,
            "shared": not self.is_exclusive,
        }
        return tuple(cause for cause, holds in found.items() if holds)

    @property
    def words(self) -> str:
        """Return a sentence about the use of the processors."""
        used, n = self.busy_processors or 0.0, self.n_processors
        busy = f"other processes used {used:.1f} of {n} processors"
        reasons: dict[Cause, str] = {
            "waiting": "the measuring thread waited "
            f"{100 * (self.waiting_share or 0.0):.1f} % of the time for a processor",
            "steal": "the hypervisor took "
            f"{100 * (self.steal_share or 0.0):.1f} % of the processor time",
            "busy": busy,
            "shared": "another measurement ran at the same time",
        }
        if self.causes:
            return f"Disturbed: {'; '.join(reasons[cause] for cause in self.causes)}."
        if self.busy_processors is None:
            return "The load of the processors is unknown."
        return f"Undisturbed: {busy}."


class Watch:
    """An observation of the processors, in one or more intervals."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.is_exclusive = True
        self._begun: _Counters | None = None
        self._sum = _Counters(0.0, 0.0, 0.0, 0.0)

    def begin(self) -> None:
        """Begin an interval."""
        self._begun = _Counters.now()

    def end(self) -> None:
        """End the interval."""
        if self._begun is not None:
            self._sum = self._sum.plus(_Counters.now().minus(self._begun))
            self._begun = None

    def disturbance(self) -> Disturbance:
        """Return the disturbance during all intervals that have ended."""
        s, n = self._sum, os.cpu_count() or 1
        busy = steal = waiting = None
        if s.wall >= LEAST_SECONDS:
            if s.busy is not None:
                busy = min(max(s.busy - s.own, 0.0) / s.wall, float(n))
            if s.steal is not None:
                steal = min(max(s.steal, 0.0) / s.wall / n, 1.0)
            if self.threads == 1:  # idle threads of a pool are not waiting for a processor
                waiting = min(max(1.0 - s.own / s.wall, 0.0), 1.0)
        used = (busy, waiting, steal)
        return Disturbance(s.wall, self.threads, n, *used, self.is_exclusive, machine_name())


@contextmanager
def watched(threads: int) -> Generator[Watch]:
    """Observe the processors during the block, which measures with this number of threads."""
    watch = Watch(threads)
    watch.begin()
    try:
        yield watch
    finally:
        watch.end()


@dataclass(frozen=True, slots=True)
class _Counters:
    """Wall-clock seconds, CPU seconds of this process, busy and stolen seconds of all processors.

    The busy and the stolen seconds are None if the system does not count them.
    """

    wall: float
    own: float
    busy: float | None
    steal: float | None

    @staticmethod
    def now() -> _Counters:
        busy, steal = _system_seconds()
        return _Counters(perf_counter(), process_time(), busy, steal)

    def plus(self, other: _Counters) -> _Counters:
        return self._combined(other, 1)

    def minus(self, other: _Counters) -> _Counters:
        return self._combined(other, -1)

    def _combined(self, other: _Counters, sign: int) -> _Counters:
        def sum_of(a: float | None, b: float | None) -> float | None:
            return None if a is None or b is None else a + sign * b

        return _Counters(
            self.wall + sign * other.wall,
            self.own + sign * other.own,
            sum_of(self.busy, other.busy),
            sum_of(self.steal, other.steal),
        )


def _system_seconds() -> tuple[float | None, float | None]:
    """Return the busy and the stolen seconds of all processors, from Linux's /proc/stat."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        user, nice, system, _, _, irq, softirq, steal = (int(x) for x in first[1:9])
        ticks = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None, None
    return (user + nice + system + irq + softirq) / ticks, steal / ticks
