"""The state of the queue in numbers, for operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from app.jobs.queue import JobQueue
from app.store.jobs import reading, supervisors
from app.store.jobs.record import shown


class Census(NamedTuple):
    """The stored jobs by kind and state, the length of the queue, and the supervisors at work."""

    jobs: Mapping[tuple[str, str], int]
    n_waiting: int
    n_supervisors: int


def census(queue: JobQueue) -> Census:
    """Count the jobs in the table, and the supervisors that run them."""
    with queue.database.looking() as connection:
        found: Counter[tuple[str, str]] = Counter()
        for kind, state, n in reading.numbers(connection):
            found[kind, shown(state)] += n
        n_supervisors = supervisors.n_at_work(connection, queue.settings.lease_s)
    n_waiting = sum(n for (_, state), n in found.items() if state == "queued")
    return Census(found, n_waiting, n_supervisors)


def trouble(queue: JobQueue) -> str:
    """Return why no job can run; "" if jobs can run."""
    if queue.stopped.is_set():
        return "the server is stopping"
    if queue.settings.has_supervisor and queue.supervisor is None:
        return ""  # it starts with the first job
    lease_s = queue.settings.lease_s
    with queue.database.looking() as connection:
        n = supervisors.n_at_work(connection, lease_s)
        problems = supervisors.senders(connection, lease_s)
    if queue.settings.engine == "dask":
        # One sender that has a cluster is enough.
        silence = f"no process that sends jobs to Dask has reported within {lease_s:g} s"
        return min(problems, default=silence)
    return "" if n else f"no supervisor of jobs has reported within {lease_s:g} s"
