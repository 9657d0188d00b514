"""A supervisor takes the next job of the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, update

from app.store.dialects import lock_queue, now
from app.store.jobs import reading
from app.store.jobs.leases import Lease, write_events
from app.store.jobs.order import fair_order, startable
from app.store.jobs.queueing import Waits, renumber
from app.store.jobs.reading import JOBS, Line, Live

_J = JOBS.c


@dataclass(frozen=True, slots=True)
class Owner:
    """A supervisor on a machine. Units: `lease_s` is the time in seconds after which its silence
    ends a lease."""

    name: str
    machine: str
    lease_s: float
    per_client: int
    """Maximum number of running jobs of a client."""
    processor: str = ""
    """The kind of the machine."""
    queues: Sequence[str] = ("interactive", "grade", "bench")


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of a job that was sent to a supervisor."""

    job_id: str
    number: int


def has_work(connection: Connection, owner: Owner) -> bool:
    """Return whether `claim` would find a job now."""
    return _next(reading.line(connection), owner) is not None


def claim(
    connection: Connection, owner: Owner, waits: Waits, sent: Attempt | None = None
) -> Lease | None:
    """Take the next job that may start on the owner's machine; None if there is none.

    With `sent`, take only this attempt of this job: a second delivery of the same attempt takes
    nothing. The event `started` belongs to this transaction, which is the beginning of an attempt.
    """
    lock_queue(connection)
    line = reading.line(connection)
    found = _next(line, owner, sent)
    if found is None:
        return None
    clock = now(connection)
    taken = update(JOBS).where(_J.id == found.id, _J.state == "queued", _J.owner == "")
    row = connection.execute(
        taken.values(
            state="leased",
            attempt=_J.attempt + 1,
            owner=owner.name,
            machine=owner.machine,
            processor=owner.processor,
            heartbeat_s=clock,
            lease_until_s=clock + owner.lease_s,
            started_s=clock,
            position=0,
            wait_s=None,
            phase="",
            n_stages=0,
            n_events=_J.n_events + 1,
        ).returning(_J.attempt, _J.n_events)
    ).one_or_none()
    if row is None:
        return None
    write_events(connection, found.id, row.n_events - 1, [("started", {})])
    started = replace(found, state="leased", seconds=0.0)
    now_live = [started if job.id == found.id else job for job in line.jobs]
    renumber(connection, Line(now_live), waits)
    return Lease(found.id, row.attempt, owner.name, n_events=row.n_events)


def _next(line: Line, owner: Owner, sent: Attempt | None = None) -> Live | None:
    suits = ("", owner.processor)
    queued = [job for job in line.queued if job.queue in owner.queues and job.needs in suits]
    if sent is not None:
        queued = [job for job in queued if Attempt(job.id, job.attempt + 1) == sent]
    running = line.running_by_client
    return startable(
        fair_order(queued, running),
        running,
        per_client=owner.per_client,
        is_measuring=line.is_measuring(owner.machine),
    )
