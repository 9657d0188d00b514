"""The clients that await each job: requests, event streams, and questions about the state.

Equal requests share one job. The job is cancelled when all of its clients have cancelled it. It is
also cancelled when all of its clients have left: each client has opened an event stream, all
streams are closed, and nobody asks about the job. A client that never opens a stream keeps its job.

The row of a job has the number of its clients, and of clients that have opened a stream. It also
has the time of the last sign of interest. Each web server writes the signs that it receives, at
most once a second (`Interests.take`).
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of interest since the last call of `take`: new followers by job, and jobs of other
    signs."""

    followers: dict[str, int]
    seen: set[str]


class Interests:
    """The event streams of this process, and the signs of interest that no row has yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: Counter[str] = Counter()
        self._followers: Counter[str] = Counter()
        self._seen: set[str] = set()

    def opened(self, job_id: str, *, again: bool) -> None:
        """Record a new event stream; `again` marks the reconnection of a client."""
        with self._lock:
            self._streams[job_id] += 1
            self._followers[job_id] += not again

    def closed(self, job_id: str) -> None:
        """Record the end of an event stream."""
        with self._lock:
            self._streams[job_id] -= 1
            self._seen.add(job_id)

    def seen(self, job_id: str) -> None:
        """Record that a client asked about the job."""
        with self._lock:
            self._seen.add(job_id)

    def take(self) -> Signs:
        """Return the signs of interest to write now. Each open stream is a sign at each call."""
        with self._lock:
            self._streams = +self._streams
            signs = Signs(dict(+self._followers), self._seen | set(self._streams))
            self._followers.clear()
            self._seen = set()
            return signs

    def put_back(self, signs: Signs) -> None:
        """Keep signs that could not be written."""
        with self._lock:
            self._followers.update(signs.followers)
            self._seen |= signs.seen
