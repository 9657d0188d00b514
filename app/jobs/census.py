"""The state of the queue in numbers, for operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from app.jobs.queue import JobQueue


class Census(NamedTuple):
    """The stored jobs by kind and state, the length of the queue, and the children that exist."""

    jobs: Mapping[tuple[str, str], int]
    n_waiting: int
    n_children: int


def census(queue: JobQueue) -> Census:
    """Count the jobs that this server has accepted and still stores, and its child processes."""
    with queue.changed:
        found = Counter((str(job.request["kind"]), job.state) for job in queue.jobs.values())
        return Census(found, len(queue.waiting), _n_children(queue))


def trouble(queue: JobQueue) -> str:
    """Return why no job can run; "" if jobs can run."""
    if queue.is_stopping:
        return "the server is stopping"
    n_ended = sum(not thread.is_alive() for thread in queue.threads)
    return f"{n_ended} of {len(queue.threads)} threads of the queue have ended" if n_ended else ""


def _n_children(queue: JobQueue) -> int:
    """Return the number of children of the fork server; 0 where the system does not list them."""
    process = queue.runner.fork_server.process
    if process is None:
        return 0
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return len(file.read().split())
    except OSError:
        return 0
