"""The choice of the queued jobs that are sent now, and of their workers.

A job is sent only when a worker is free for it. So jobs wait in the table, which keeps their order
fair. Dask cannot, because it does not know the clients.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.store.jobs.order import BENCH, fair_order
from app.store.jobs.reading import Line, Live


@dataclass(frozen=True, slots=True)
class Place:
    """A worker that can receive jobs: its machine, the kind of the machine, and its free threads.

    `measures` tells whether it offers the resource `bench`.
    """

    address: str
    machine: str
    processor: str
    n_free: int
    measures: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A job to be sent, and the addresses of the workers among which Dask may choose."""

    job: Live
    addresses: frozenset[str]


def choices(
    line: Line,
    places: Sequence[Place],
    on_way: Mapping[str, frozenset[str]],
    held_back: Collection[str] = (),
    *,
    per_client: int,
) -> Iterator[Choice]:
    """Yield the jobs to be sent now, in their fair order.

    `on_way` has the jobs that were sent and not claimed yet, with the addresses of their workers.
    If two jobs may go to the same worker, the second waits unless its workers have enough free
    threads for both.
    """
    running = line.running_by_client
    running.update(job.client for job in line.queued if job.id in on_way)
    rivals = list(on_way.values())
    waiting = [job for job in line.queued if job.id not in on_way and job.id not in held_back]
    for job in fair_order(waiting, running):
        if running[job.client] >= per_client:
            continue
        suited = [place for place in places if place.n_free > 0 and _suits(place, job, line)]
        addresses = frozenset(place.address for place in suited)
        n_rivals = sum(not addresses.isdisjoint(each) for each in rivals)
        if sum(place.n_free for place in suited) > n_rivals:
            rivals.append(addresses)
            running[job.client] += 1
            yield Choice(job, addresses)


def _suits(place: Place, job: Live, line: Line) -> bool:
    if job.needs not in ("", place.processor):
        return False
    return job.queue != BENCH or (place.measures and not line.is_measuring(place.machine))
