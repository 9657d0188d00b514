"""A job that a supervisor runs: its lease, and the events that are not in the table yet."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.store.jobs.leases import Lease, Told, Wish
from app.store.jobs.record import PHASE_CHARACTERS, Job


@dataclass(frozen=True, slots=True)
class News:
    """The reports of a child since the last write to the table."""

    told: list[Told]
    phase: str
    n_stages: int


class Running:
    """A running job. `cancelled` ends its child at once: a client has cancelled the job, the lease
    was lost, or the supervisor ends."""

    def __init__(self, job: Job, lease: Lease) -> None:
        self.job, self.lease = job, lease
        self.cancelled = threading.Event()
        self.is_confirmed = threading.Event()
        """Set when the claim is in the table, or has failed. The child starts before."""
        self.is_stopped = False
        """Whether a client has asked for an early end with the results so far."""
        self.is_unsure = False
        """Whether the last write may have been committed, although it failed."""
        self.is_lost = False
        """Whether another supervisor may have the job: nothing more is written."""
        self.is_returned = False
        """Whether the supervisor ends, so the job returns to the queue."""
        self._lock = threading.Lock()
        self._told: list[Told] = []
        self._phase, self._n_stages = "", 0

    def hear(self, name: str, data: Mapping[str, Any]) -> None:
        """Note an event of the child."""
        with self._lock:
            if name == "phase":
                self._phase = str(data.get("phase", ""))[:PHASE_CHARACTERS].replace("\0", "")
            if name in ("imported", "pass"):
                self._n_stages = int(data["stage"]) + 1
            self._told.append((name, data))

    def news(self) -> News | None:
        """Take the news that are not in the table yet; None without new events."""
        with self._lock:
            if not self._told:
                return None
            return self._take()

    def last_news(self) -> News:
        """Take the news that are not in the table yet, at the end of the job."""
        with self._lock:
            return self._take()

    def _take(self) -> News:
        told, self._told = self._told, []
        return News(told, self._phase, self._n_stages)

    def put_back(self, news: News) -> None:
        """Keep news that could not be written."""
        with self._lock:
            self._told[:0] = news.told

    def wish(self, wish: Wish) -> None:
        """Carry out a request of clients: cancel the job, or end it early."""
        self.is_stopped = self.is_stopped or wish.is_stopped
        if wish.is_cancelled:
            self.cancelled.set()

    def lose(self) -> None:
        """End the child, because the lease was lost."""
        self.is_lost = True
        self.cancelled.set()
        self.is_confirmed.set()

    def give_back(self) -> None:
        """End the child, and return the job to the queue."""
        self.is_returned = True
        self.cancelled.set()
