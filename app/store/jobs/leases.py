"""The lease of a supervisor on a job, and the writes that need it.

Each write is one `UPDATE ... WHERE id = ? AND state = ? AND attempt = ? AND owner = ?`. If it
changes no row, then the lease was lost: the writer must stop, and its later writes have no effect.
So a late owner cannot change the job of another owner.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, insert, select, update

from app.store.dialects import lock_jobs, now
from app.store.jobs.reading import EVENTS, JOBS
from app.store.jobs.record import HELD, State
from compiler.errors import CompileError

_J = JOBS.c
Told = tuple[str, Mapping[str, Any]]
"""An event that has no number yet: its name and its data."""


@dataclass(slots=True)
class Lease:
    """The right of an owner to an attempt of a job.

    `state` and `n_events` are those of the row, as the owner wrote them.
    """

    job_id: str
    attempt: int
    owner: str
    state: State = "leased"
    n_events: int = 0

    def fence(self) -> ColumnElement[bool]:
        """Return the condition that the lease still exists."""
        return (
            (_J.id == self.job_id)
            & (_J.state == self.state)
            & (_J.attempt == self.attempt)
            & (_J.owner == self.owner)
        )


@dataclass(frozen=True, slots=True)
class Held:
    """A lease in the table, as other supervisors see it."""

    lease: Lease
    max_attempts: int
    machine: str
    heartbeat_s: float
    is_cancelled: bool


@dataclass(frozen=True, slots=True)
class Wish:
    """The requests of clients about a running job."""

    is_cancelled: bool
    is_stopped: bool


def recall(connection: Connection, lease: Lease) -> int:
    """Read a lease again after a write with an unconfirmed commit; return the number of events that
    the write has added. A lost lease does not change.
    """
    lock_jobs(connection, [lease.job_id])
    own = (_J.id == lease.job_id) & (_J.attempt == lease.attempt) & (_J.owner == lease.owner)
    found = select(_J.state, _J.n_events).where(own, _J.state.in_(HELD))
    row = connection.execute(found).one_or_none()
    if row is None:
        return 0
    n_more = row.n_events - lease.n_events
    lease.state, lease.n_events = row.state, row.n_events
    return n_more


def record(
    connection: Connection, lease: Lease, told: Sequence[Told], phase: str, n_stages: int
) -> bool:
    """Add events of a running job; return False if the lease was lost.

    A transaction with several jobs must lock them first (`lock_jobs`).
    """
    changed = update(JOBS).where(lease.fence())
    n = connection.scalar(
        changed.values(
            state="running", phase=phase, n_stages=n_stages, n_events=_J.n_events + len(told)
        ).returning(_J.n_events)
    )
    if n is None:
        return False
    write_events(connection, lease.job_id, n - len(told), told)
    return True


def end(
    connection: Connection,
    lease: Lease,
    state: State,
    error: CompileError | None,
    told: Sequence[Told],
    n_stages: int,
    n_bytes: int = 0,
) -> bool:
    """End the job with its last events; return False if the lease was lost.

    `n_bytes` is the size of its results.
    """
    more = {"n_stages": n_stages, "n_bytes": n_bytes}
    return _end(connection, lease.fence(), lease.job_id, state, error, told, **more)


Cause = Literal["crashed", "lost", "returned"]
"""Why a job returns to the queue: a signal ended its child, the child ended with the fork server,
or the supervisor ends. A returned attempt does not count."""


def queue_again(connection: Connection, lease: Lease, told: Sequence[Told], cause: Cause) -> bool:
    """Return the job to the queue; return False if the lease was lost."""
    more = {
        "crashed": {"crashes": _J.crashes + 1},
        "lost": {},
        "returned": {"max_attempts": _J.max_attempts + 1},
    }[cause]
    changed = update(JOBS).where(lease.fence())
    n = connection.scalar(
        changed.values(**_FREE, **more, n_events=_J.n_events + len(told)).returning(_J.n_events)
    )
    if n is None:
        return False
    write_events(connection, lease.job_id, n - len(told), told)
    return True


def take_away(connection: Connection, held: Held, error: CompileError) -> bool:
    """Queue a job of a silent owner again; after its last attempt, end it with this error instead.

    Return False if the owner is back, or if another supervisor was faster.
    """
    fence = held.lease.fence() & (_J.heartbeat_s == held.heartbeat_s)
    job_id = held.lease.job_id
    if held.is_cancelled:
        return _end(connection, fence, job_id, "cancelled", None)
    if held.lease.attempt >= held.max_attempts:
        return _end(connection, fence, job_id, "crashed", error)
    return connection.execute(update(JOBS).where(fence).values(**_FREE)).rowcount == 1


_FREE: Mapping[str, Any] = {"state": "queued", "owner": "", "position": 0, "wait_s": None}


def end_unowned(
    connection: Connection, job_id: str, state: State, error: CompileError | None = None
) -> bool:
    """End a queued job; return False if it is not queued."""
    fence = (_J.id == job_id) & (_J.state == "queued") & (_J.owner == "")
    return _end(connection, fence, job_id, state, error)


def _end(
    connection: Connection,
    fence: ColumnElement[bool],
    job_id: str,
    state: State,
    error: CompileError | None,
    told: Sequence[Told] = (),
    **more: Any,
) -> bool:
    """End a job with its last events and the terminal event."""
    changed = update(JOBS).where(fence)
    row = connection.execute(
        changed.values(
            state=state,
            owner="",
            position=0,
            wait_s=None,
            error=json.dumps(error.to_json()) if error else "",
            ended_s=now(connection),
            n_events=_J.n_events + len(told) + 1,
            **more,
        ).returning(_J.n_stages, _J.n_events, _J.started_s, _J.ended_s)
    ).one_or_none()
    if row is None:
        return False
    seconds = max(0.0, row.ended_s - row.started_s) if row.started_s else 0.0
    data: dict[str, Any] = {"n_stages": row.n_stages, "seconds": seconds}
    if error:
        data["error"] = error.to_json()
    last = (_TERMINAL.get(state, "failed"), data)
    write_events(connection, job_id, row.n_events - len(told) - 1, [*told, last])
    return True


_TERMINAL: Mapping[State, str] = {"succeeded": "finished", "cancelled": "cancelled"}


def heartbeat(connection: Connection, leases: Sequence[Lease], lease_s: float) -> list[Lease]:
    """Renew leases; return those that were lost."""
    lock_jobs(connection, [lease.job_id for lease in leases])
    clock = now(connection)
    lost: list[Lease] = []
    for lease in leases:
        renewed = update(JOBS).where(lease.fence())
        renewed = renewed.values(heartbeat_s=clock, lease_until_s=clock + lease_s)
        if connection.execute(renewed).rowcount != 1:
            lost.append(lease)
    return lost


def wishes(connection: Connection, owner: str) -> dict[tuple[str, int], Wish]:
    """Return the requests of clients by job and attempt, for all leases of an owner."""
    rows = connection.execute(
        select(_J.id, _J.attempt, _J.is_cancelled, _J.is_stopped).where(
            _J.state.in_(HELD), _J.owner == owner
        )
    )
    return {(row.id, row.attempt): Wish(row.is_cancelled, row.is_stopped) for row in rows}


def all_held(connection: Connection) -> list[Held]:
    """Return the leases of all owners."""
    rows = connection.execute(
        select(
            _J.id, _J.attempt, _J.owner, _J.state, _J.max_attempts, _J.machine, _J.heartbeat_s,
            _J.is_cancelled,
        ).where(_J.state.in_(HELD))
    )  # fmt: skip
    return [
        Held(
            Lease(row.id, row.attempt, row.owner, row.state),
            row.max_attempts,
            row.machine,
            row.heartbeat_s,
            row.is_cancelled,
        )
        for row in rows
    ]


def write_event(
    connection: Connection, job_id: str, name: str, data: Mapping[str, Any], **values: Any
) -> None:
    """Add an event of a job, and change these columns of the job."""
    changed = update(JOBS).where(_J.id == job_id).values(n_events=_J.n_events + 1, **values)
    n = connection.scalar(changed.returning(_J.n_events))
    assert n is not None, f"the job {job_id} has vanished"
    write_events(connection, job_id, n - 1, [(name, data)])


def write_events(connection: Connection, job_id: str, last: int, told: Sequence[Told]) -> None:
    """Insert events after the number `last`."""
    if told:
        connection.execute(insert(EVENTS), list(_event_rows(job_id, last, told)))


def _event_rows(job_id: str, last: int, told: Sequence[Told]) -> Iterator[dict[str, Any]]:
    for number, (name, data) in enumerate(told, last + 1):
        yield {"job_id": job_id, "number": number, "name": name, "data": json.dumps(data)}
