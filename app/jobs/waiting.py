"""Estimates of the time that queued jobs wait, from the durations of recent jobs of their kinds."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from statistics import median

_N_RECENT = 20
"""The number of recent jobs of a kind that determine the estimate."""


class Durations:
    """The running times of recent jobs by kind. Units: seconds."""

    def __init__(self) -> None:
        self._of: dict[str, deque[float]] = {}

    def add(self, kind: str, seconds: float) -> None:
        """Record the running time of a job that ended by itself."""
        self._of.setdefault(kind, deque(maxlen=_N_RECENT)).append(seconds)

    def usual(self, kind: str) -> float | None:
        """Return the median of the recent running times of a kind; None without such jobs."""
        known = self._of.get(kind)
        return median(known) if known else None

    def waits(
        self, running: Sequence[tuple[str, float]], queued: Sequence[str], n_workers: int
    ) -> list[float | None]:
        """Return the expected waiting time of each queued job, in order.

        `running` has the kind and the elapsed time of each running job, `queued` the kinds of the
        queued jobs. The time is None if it depends on a kind without recent jobs.

        >>> durations = Durations()
        >>> durations.add("compile", 10.0)
        >>> durations.waits([("compile", 4.0)], ["compile", "compile"], 1)
        [6.0, 16.0]
        """
        free: list[float] = [0.0] * max(0, n_workers - len(running))
        for kind, elapsed in running:
            usual = self.usual(kind)
            free.append(float("inf") if usual is None else max(0.0, usual - elapsed))
        heapq.heapify(free)
        found: list[float | None] = []
        for kind in queued:
            start = heapq.heappop(free)
            found.append(None if start == float("inf") else start)
            usual = self.usual(kind)
            heapq.heappush(free, float("inf") if usual is None else start + usual)
        return found


class Estimates:
    """Estimates waiting times for a number of workers, from the rows of the table of jobs."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def __call__(
        self,
        recent: Sequence[tuple[str, float]],
        running: Sequence[tuple[str, float]],
        queued: Sequence[str],
    ) -> list[float | None]:
        """Return the expected waiting time of each queued job, in order.

        `recent` and `running` have the kinds of jobs and their seconds, `recent` the oldest first.
        """
        durations = Durations()
        for kind, seconds in recent:
            durations.add(kind, seconds)
        return durations.waits(running, queued, self.n_workers)
