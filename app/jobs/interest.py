"""The clients that await each job: requests, event streams, and questions about the state.

Equal requests share one job. The job is cancelled when all of its clients have cancelled it. It is
also cancelled when all of its clients have left: each client has opened an event stream, all
streams are closed, and nobody asks about the job. A client that never opens a stream keeps its job.

The lock of the queue guards all changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic


@dataclass(slots=True)
class _Interest:
    """The clients that await one job; `n_followed` counts those that have opened a stream."""

    n_clients: int = 0
    n_followed: int = 0
    n_streams: int = 0
    seen_s: float = 0.0


class Interests:
    """Counts the clients that await each job, for all jobs that have not ended."""

    def __init__(self) -> None:
        self._of: dict[str, _Interest] = {}

    def requested(self, job_id: str) -> None:
        """Record that a request was answered with this job."""
        self._of.setdefault(job_id, _Interest()).n_clients += 1

    def released(self, job_id: str) -> bool:
        """Record that one client cancelled its request; return whether no client remains."""
        found = self._of.get(job_id)
        if found is None:
            return True
        found.n_clients -= 1
        return found.n_clients <= 0

    def opened(self, job_id: str, *, again: bool) -> None:
        """Record a new event stream; `again` marks the reconnection of a client."""
        if found := self._of.get(job_id):
            found.n_streams += 1
            found.n_followed += not again

    def closed(self, job_id: str) -> None:
        """Record the end of an event stream."""
        if found := self._of.get(job_id):
            found.n_streams -= 1
            found.seen_s = monotonic()

    def seen(self, job_id: str) -> None:
        """Record that a client asked about the job."""
        if found := self._of.get(job_id):
            found.seen_s = monotonic()

    def ended(self, job_id: str) -> None:
        """Forget a job."""
        self._of.pop(job_id, None)

    def abandoned(self, after_s: float) -> list[str]:
        """Return the jobs whose clients have all left more than `after_s` seconds ago."""
        now = monotonic()
        return [
            job_id
            for job_id, each in self._of.items()
            if each.n_followed
            and each.n_followed >= each.n_clients
            and each.n_streams <= 0
            and now - each.seen_s > after_s
        ]
