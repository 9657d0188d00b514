"""Measures for how long values have not changed, by the clock of this process.

Times in the database would not suffice: the clock of a machine may jump, and clocks of machines
differ. A renewed value, such as a heartbeat, only needs to differ from the previous value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Silence(Generic[K]):
    """Observes values by key. After a pause of `gap_s` seconds without an observation, all values
    count as new, because the observer was stopped or without a database."""

    def __init__(self, gap_s: float, clock: Callable[[], float] = monotonic) -> None:
        self.gap_s, self.clock = gap_s, clock
        self._known: dict[K, tuple[object, float]] = {}
        self._last_s = 0.0

    def look(self, values: Mapping[K, object]) -> dict[K, float]:
        """Return for each key the seconds since its value was first observed."""
        now = self.clock()
        if now - self._last_s > self.gap_s:
            self._known.clear()
        self._last_s = now
        old = self._known
        self._known = {
            key: old[key] if key in old and old[key][0] == value else (value, now)
            for key, value in values.items()
        }
        return {key: now - since for key, (_, since) in self._known.items()}
