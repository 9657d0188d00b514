"""Searches for jobs and events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, select, true

from app.store.dialects import now
from app.store.jobs.order import BENCH, Waiting
from app.store.jobs.record import UNFINISHED, Event, Job, State, attempt_folder
from app.store.models import JobEventRow, JobRow

JOBS, EVENTS = cast(Table, JobRow.__table__), cast(Table, JobEventRow.__table__)
_J, _E = JOBS.c, EVENTS.c
_N_RECENT = 200
_SUCCEEDED = func.lower(_J.state) == "succeeded"
"""A condition that uses no index: with the index of states, SQLite would read the rows of thousands
of succeeded jobs. Another condition of the query must use an index."""


def find(connection: Connection, folder: Path, job_id: str) -> Job | None:
    """Find a job by id; `folder` has the folders of all jobs."""
    found = _jobs(connection, folder, _J.id == job_id)
    return found[0] if found else None


def find_done(
    connection: Connection,
    folder: Path,
    digest: str,
    form: str,
    processors: Collection[str] = (),
) -> Job | None:
    """Find the newest finished job with a request of this digest, and a result of this form.

    `processors` are the kinds of machines whose results are of use; () for all.
    """
    equal = (_J.digest == digest) & (_J.form == form) & _SUCCEEDED
    if processors:
        equal &= _J.processor.in_(["", *processors])
    found = _jobs(connection, folder, equal, limit=1)
    return found[0] if found else None


def find_unfinished(connection: Connection, folder: Path, digest: str, form: str) -> Job | None:
    """Find a queued or running job of this digest, unless it is being cancelled."""
    equal = (_J.digest == digest) & (_J.form == form) & ~_J.is_cancelled
    found = _jobs(connection, folder, equal & _J.state.in_(UNFINISHED), limit=1)
    return found[0] if found else None


def examining(connection: Connection, folder: Path, job_id: str, form: str) -> list[Job]:
    """Return the finished jobs that have examined a job's result, newest first.

    This includes the jobs about an equal earlier job on the same kind of machine, because equal
    requests have equal results there.
    """
    own = connection.execute(select(_J.digest, _J.processor).where(_J.id == job_id)).one_or_none()
    if own is None:
        return []
    same = select(_J.id).where(_J.digest == own.digest, _of_kind(own.processor))
    done = _J.examined.in_(same) & _SUCCEEDED & (_J.form == form)
    return _jobs(connection, folder, done & _of_kind(own.processor))


def _of_kind(processor: str) -> ColumnElement[bool]:
    """Return the condition that a job ran on this kind of machine, or on an unknown kind."""
    return _J.processor.in_(["", processor]) if processor else true()


def events_after(connection: Connection, job_id: str, number: int) -> list[Event]:
    """Return the events of a job after this number."""
    rows = connection.execute(
        select(_E.number, _E.name, _E.data)
        .where(_E.job_id == job_id, _E.number > number)
        .order_by(_E.number)
    )
    return [Event(row.number, row.name, json.loads(row.data)) for row in rows]


def heads(connection: Connection, job_ids: Collection[str]) -> dict[str, tuple[int, bool]]:
    """Return for each job the number of its events, and whether it has ended."""
    rows = connection.execute(select(_J.id, _J.n_events, _J.state).where(_J.id.in_(list(job_ids))))
    return {row.id: (row.n_events, row.state not in UNFINISHED) for row in rows}


@dataclass(frozen=True, slots=True)
class Live(Waiting):
    """A queued or running job. `seconds` is the running time so far."""

    kind: str = ""
    state: State = "queued"
    position: int = 0
    machine: str = ""
    needs: str = ""
    attempt: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """All queued and running jobs, read at once: each statement costs time."""

    jobs: Sequence[Live]

    @property
    def queued(self) -> list[Live]:
        """The queued jobs in the order of their submission."""
        return [job for job in self.jobs if job.state == "queued"]

    @property
    def running(self) -> list[Live]:
        """The running jobs."""
        return [job for job in self.jobs if job.state != "queued"]

    @property
    def running_by_client(self) -> Counter[str]:
        """The number of running jobs of each client."""
        return Counter(job.client for job in self.running)

    def is_measuring(self, machine: str) -> bool:
        """Return whether a job of the queue `bench` runs on a machine."""
        return any(job.queue == BENCH and job.machine == machine for job in self.running)


def line(connection: Connection) -> Line:
    """Read the queued and running jobs."""
    seconds = (now(connection) - _J.started_s).label("seconds")
    rows = connection.execute(
        select(
            _J.id, _J.serial, _J.client, _J.queue, _J.priority, _J.kind, _J.state, _J.position,
            _J.machine, _J.needs, _J.attempt, seconds,
        ).where(_J.state.in_(UNFINISHED)).order_by(_J.serial)
    )  # fmt: skip
    return Line([Live(*row[:11], seconds=max(0.0, row.seconds)) for row in rows])


def recent_seconds(connection: Connection) -> list[tuple[str, float]]:
    """Return the kind and the running time in seconds of recent succeeded jobs, oldest first.

    The order is that of submission, which has an index: the table may have thousands of jobs.
    """
    rows = connection.execute(
        select(_J.kind, _J.ended_s - _J.started_s)
        .where(_J.state == "succeeded")
        .order_by(_J.serial.desc())
        .limit(_N_RECENT)
    )
    return [(kind, seconds) for kind, seconds in reversed(rows.all())]


class Finished(NamedTuple):
    """A job that has ended, at `ended_s` in Unix seconds, with `n_bytes` of results.

    `n_bytes` is only set with a network blob store.
    """

    id: str
    state: State
    attempt: int
    ended_s: float
    n_bytes: int

    def results(self, folder: Path) -> Path:
        """Return the folder of its results, below the folder of all jobs."""
        return attempt_folder(folder, self.id, self.attempt)


def finished(connection: Connection) -> list[Finished]:
    """Return the jobs that have ended."""
    columns = (_J.id, _J.state, _J.attempt, _J.ended_s, _J.n_bytes)
    wanted = select(*columns).where(_J.state.not_in(UNFINISHED))
    return [Finished(*row) for row in connection.execute(wanted)]


def unfinished_requests(connection: Connection) -> dict[str, str]:
    """Return the requests of queued and running jobs as JSON, by id."""
    wanted = select(_J.id, _J.request).where(_J.state.in_(UNFINISHED))
    return {row.id: row.request for row in connection.execute(wanted)}


def requests(connection: Connection, job_ids: Collection[str]) -> dict[str, str]:
    """Return the requests of these jobs as JSON, by id, if the table has them."""
    if not job_ids:
        return {}
    wanted = select(_J.id, _J.request).where(_J.id.in_(list(job_ids)))
    return {row.id: row.request for row in connection.execute(wanted)}


def attempts(connection: Connection) -> list[tuple[str, State, int]]:
    """Return id, state and latest attempt of all jobs."""
    rows = connection.execute(select(_J.id, _J.state, _J.attempt))
    return [(row[0], row[1], row[2]) for row in rows]


def with_lost_events(connection: Connection) -> list[str]:
    """Return the ids of jobs whose number of events differs from the number in their rows."""
    n_events = select(func.count()).where(_E.job_id == _J.id).scalar_subquery()
    return list(connection.scalars(select(_J.id).where(_J.n_events != n_events)))


def numbers(connection: Connection) -> list[tuple[str, State, int]]:
    """Return the number of jobs of each kind in each state."""
    counted = select(_J.kind, _J.state, func.count()).group_by(_J.kind, _J.state)
    return [(row[0], row[1], row[2]) for row in connection.execute(counted)]


def interests(connection: Connection) -> list[tuple[str, float]]:
    """Return id and last sign of interest of each job whose clients have all opened a stream."""
    rows = connection.execute(
        select(_J.id, _J.seen_s).where(
            _J.state.in_(UNFINISHED),
            ~_J.is_cancelled,
            _J.n_followed > 0,
            _J.n_followed >= _J.n_clients,
        )
    )
    return [(row.id, row.seen_s) for row in rows]


def known(connection: Connection, job_ids: Sequence[str]) -> set[str]:
    """Return those of the ids that the table has."""
    return set(connection.scalars(select(_J.id).where(_J.id.in_(job_ids))))


def _jobs(
    connection: Connection, folder: Path, where: ColumnElement[bool], limit: int | None = None
) -> list[Job]:
    """Return jobs, newest first."""
    wanted: Select[Any] = select(JOBS, now(connection).label("now_s")).where(where)
    rows = connection.execute(wanted.order_by(_J.serial.desc()).limit(limit))
    return [_job(row, folder) for row in rows]


def _job(row: Row[Any], folder: Path) -> Job:
    return Job(
        row.id,
        attempt_folder(folder, row.id, row.attempt),
        json.loads(row.request),
        row.model_name,
        row.state,
        phase=row.phase,
        position=row.position,
        wait_s=row.wait_s,
        n_stages=row.n_stages,
        n_events=row.n_events,
        error=_or_none(row.error),
        created_s=row.created_s,
        seconds=max(0.0, (row.ended_s or row.now_s) - row.started_s) if row.started_s else 0.0,
        form=row.form,
        private=json.loads(row.private),
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        crashes=row.crashes,
        machine=row.machine,
        processor=row.processor,
    )


def _or_none(text: str) -> Mapping[str, Any] | None:
    return json.loads(text) if text else None
