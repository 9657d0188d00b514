"""The writes of web servers: submissions, cancellations, and the interest of clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from app.store.dialects import lock_jobs, lock_queue, now
from app.store.jobs import reading
from app.store.jobs.leases import end_unowned, write_event, write_events
from app.store.jobs.order import fair_order
from app.store.jobs.reading import JOBS, Line, Live
from app.store.jobs.record import HELD, UNFINISHED, Event, Job, digest_of, new_id
from compiler.errors import CompileError

_J = JOBS.c
_FIRST = 20
"""Jobs up to this position get an event for each change of position, later jobs at multiples of
ten."""

Waits = Callable[
    [Sequence[tuple[str, float]], Sequence[tuple[str, float]], Sequence[str]],
    Sequence["float | None"],
]
"""Estimates the waiting times of queued kinds, from recent and running kinds with their seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the queue, in jobs, and the estimate of waiting times."""

    n_queued: int
    n_queued_of_client: int
    waits: Waits


@dataclass(frozen=True, slots=True)
class Wanted:
    """A submission. `client` and `pane` are "" if unknown.

    The newest submission of a pane replaces the client's queued job of the same pane.
    """

    request: Mapping[str, Any]
    model_name: str
    form: str
    private: Mapping[str, Any]
    queue: str = "interactive"
    max_attempts: int = 3
    client: str = ""
    pane: str = ""
    needs: str = ""
    """The only kind of machine that may run the job; "" for any."""
    processors: Collection[str] = ()
    """The kinds of machines whose earlier results may answer the request; () for all."""


def submit(connection: Connection, wanted: Wanted, limits: Limits) -> str:
    """Queue a job and return its id. Errors: E-LIMIT-QUEUE."""
    lock_queue(connection)
    _replace(connection, wanted)
    line = reading.line(connection)
    waiting = line.queued
    if len(waiting) >= limits.n_queued:
        raise CompileError(
            "E-LIMIT-QUEUE", f"jobs waiting: {len(waiting)}, which is the limit of this server"
        )
    own = sum(job.client == wanted.client for job in waiting) if wanted.client else 0
    if own >= limits.n_queued_of_client:
        raise CompileError(
            "E-LIMIT-QUEUE", f"your jobs waiting: {own}, which is the limit for one client"
        )
    row = _row(connection, new_id(), wanted)
    connection.execute(insert(JOBS).values(**row))
    facts = (row[name] for name in ("id", "serial", "client", "queue", "priority", "kind"))
    renumber(connection, Line([*line.jobs, Live(*facts, needs=wanted.needs)]), limits.waits)
    return row["id"]


def _row(connection: Connection, job_id: str, wanted: Wanted) -> dict[str, Any]:
    last = connection.scalar(select(func.max(_J.serial))) or 0
    return {
        "id": job_id,
        "serial": last + 1,
        "kind": str(wanted.request["kind"]),
        "request": json.dumps(wanted.request),
        "digest": digest_of(wanted.request),
        "private": json.dumps(wanted.private),
        "examined": str(wanted.request.get("job", "")),
        "model_name": wanted.model_name,
        "form": wanted.form,
        "created_s": now(connection),
        "queue": wanted.queue,
        "priority": 0,
        "client": wanted.client,
        "pane": wanted.pane,
        "max_attempts": wanted.max_attempts,
        "seen_s": now(connection),
        **EMPTY,
        "needs": wanted.needs,
        "n_clients": 1,
    }


EMPTY: Mapping[str, Any] = {
    "position": 0,
    "wait_s": None,
    "state": "queued",
    "attempt": 0,
    "crashes": 0,
    "owner": "",
    "machine": "",
    "processor": "",
    "needs": "",
    "n_bytes": 0,
    "heartbeat_s": 0.0,
    "lease_until_s": 0.0,
    "is_cancelled": False,
    "is_stopped": False,
    "phase": "",
    "n_stages": 0,
    "n_events": 0,
    "error": "",
    "started_s": 0.0,
    "ended_s": 0.0,
    "n_clients": 0,
    "n_followed": 0,
}
"""The columns of a job that nobody has claimed."""


def _replace(connection: Connection, wanted: Wanted) -> None:
    """Cancel the client's queued job of the same pane, unless other clients await it."""
    if not (wanted.client and wanted.pane):
        return
    older = (_J.client == wanted.client) & (_J.pane == wanted.pane) & (_J.n_clients <= 1)
    for job_id in connection.scalars(select(_J.id).where(older, _J.state == "queued")).all():
        end_unowned(connection, job_id, "cancelled")


def obtain(
    connection: Connection, folder: Path, wanted: Wanted, limits: Limits, *, done: bool
) -> str:
    """Return the queued or running job with the same request, or queue a new job.

    With `done`, a finished job with a stored result is also returned. Errors: E-LIMIT-QUEUE.
    """
    lock_queue(connection)
    digest = digest_of(wanted.request)
    if done:
        kinds = wanted.processors
        found = reading.find_done(connection, folder, digest, wanted.form, kinds)
        if found is not None:
            return found.id
    shared = reading.find_unfinished(connection, folder, digest, wanted.form)
    if shared is None:
        return submit(connection, wanted, limits)
    connection.execute(update(JOBS).where(_J.id == shared.id).values(n_clients=_J.n_clients + 1))
    return shared.id


def renumber(connection: Connection, line: Line, waits: Waits) -> None:
    """Store the position of each queued job that has changed, and add an event about it."""
    ordered = fair_order(line.queued, line.running_by_client)
    changed = [
        (position, job)
        for position, job in enumerate(ordered, 1)
        if position != job.position
        and (not job.position or position <= _FIRST or position % 10 == 0)
    ]
    if not changed:
        return
    running = [(job.kind, job.seconds) for job in line.running]
    recent = reading.recent_seconds(connection)
    estimates = waits(recent, running, [job.kind for job in ordered])
    for position, job in changed:
        place = {"position": position, "wait_s": estimates[position - 1]}
        write_event(connection, job.id, "queued", place, **place)


def release(connection: Connection, job_id: str, waits: Waits) -> bool:
    """Decrement the number of a job's clients; return whether none is left, so the job is
    cancelled."""
    lock_queue(connection)
    changed = update(JOBS).where(_J.id == job_id, _J.state.in_(UNFINISHED))
    left = connection.scalar(changed.values(n_clients=_J.n_clients - 1).returning(_J.n_clients))
    is_last = left is not None and left <= 0
    if is_last:
        cancel(connection, job_id, waits)
    return is_last


def cancel(connection: Connection, job_id: str, waits: Waits) -> None:
    """Cancel a queued job, or ask the owner of a running job to cancel it."""
    lock_queue(connection)
    if end_unowned(connection, job_id, "cancelled"):
        renumber(connection, reading.line(connection), waits)
        return
    held = update(JOBS).where(_J.id == job_id, _J.state.in_(HELD))
    connection.execute(held.values(is_cancelled=True))


def ask_to_stop(connection: Connection, job_id: str) -> None:
    """Ask the owner of a job, now or later, to end it early with its results so far."""
    changed = update(JOBS).where(_J.id == job_id, _J.state.in_(UNFINISHED))
    connection.execute(changed.values(is_stopped=True))


def followed(connection: Connection, job_ids: Mapping[str, int], seen: Collection[str]) -> None:
    """Count new followers of jobs, and record the time of interest in other jobs."""
    lock_queue(connection)
    lock_jobs(connection, {*job_ids, *seen})
    for job_id, n in job_ids.items():
        changed = update(JOBS).where(_J.id == job_id, _J.state.in_(UNFINISHED))
        connection.execute(changed.values(n_followed=_J.n_followed + n, seen_s=now(connection)))
    if seen:
        changed = update(JOBS).where(_J.id.in_(list(seen)), _J.state.in_(UNFINISHED))
        connection.execute(changed.values(seen_s=now(connection)))


def forget(connection: Connection, job_ids: Sequence[str]) -> None:
    """Remove finished jobs from the table."""
    for job_id in job_ids:
        connection.execute(delete(JOBS).where(_J.id == job_id, _J.state.not_in(UNFINISHED)))


def adopt(connection: Connection, job: Job, ended_s: float, events: Sequence[Event]) -> None:
    """Insert a finished job that an earlier version of the program stored in files."""
    lock_queue(connection)
    wanted = Wanted(job.request, job.model_name, job.form, {})
    row = {
        **_row(connection, job.id, wanted),
        "state": job.status,
        "phase": job.phase,
        "n_stages": job.n_stages,
        "n_events": len(events),
        "error": json.dumps(job.error) if job.error else "",
        "created_s": job.created_s,
        "started_s": ended_s - job.seconds,
        "ended_s": ended_s,
        "seen_s": ended_s,
    }
    connection.execute(insert(JOBS).values(**row))
    write_events(connection, job.id, 0, [(event.name, event.data) for event in events])
