"""The order of the queue: round robin over clients, with a limit on the running jobs of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

BENCH = "bench"
"""The queue of jobs that measure; a machine runs at most one of them at a time."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued job with the facts that determine the order: client, queue, priority, submission."""

    id: str
    serial: int
    client: str
    queue: str = "interactive"
    priority: int = 0


W = TypeVar("W", bound=Waiting)


def fair_order(queued: Iterable[W], running: Mapping[str, int] | None = None) -> list[W]:
    """Return the queued jobs in the order of their starts; `running` counts jobs by client.

    Jobs of a higher priority are first. Then the first jobs of all clients precede their second
    jobs; running jobs count too. A tie is resolved by the order of submission.

    >>> jobs = [Waiting("a1", 1, "a"), Waiting("a2", 2, "a"), Waiting("b1", 3, "b")]
    >>> [job.id for job in fair_order(jobs)]
    ['a1', 'b1', 'a2']
    >>> [job.id for job in fair_order(jobs, {"a": 1})]
    ['b1', 'a1', 'a2']
    """
    turns = Counter(running or {})
    found: list[tuple[tuple[int, int, int], W]] = []
    for job in sorted(queued, key=lambda job: (-job.priority, job.serial)):
        found.append(((-job.priority, turns[job.client], job.serial), job))
        turns[job.client] += 1
    return [job for _, job in sorted(found, key=lambda pair: pair[0])]


def startable(
    ordered: Sequence[W],
    running: Mapping[str, int],
    *,
    per_client: int,
    is_measuring: bool,
) -> W | None:
    """Return the first job that a machine may start now.

    A client has at most `per_client` running jobs. While a job of the queue `bench` runs on the
    machine (`is_measuring`), no other job of this queue starts there.
    """
    for job in ordered:
        if running.get(job.client, 0) >= per_client:
            continue
        if job.queue != BENCH or not is_measuring:
            return job
    return None
