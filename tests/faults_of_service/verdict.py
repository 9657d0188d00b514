"""What must hold after all faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from sqlalchemy import select

from app.jobs.parts import Parts
from app.store.database import Database
from app.store.jobs.reading import EVENTS, JOBS
from app.store.jobs.record import UNFINISHED, attempt_folder
from tests.faults_of_service.worker import N_PARTS

_TERMINAL = ("finished", "failed", "cancelled")
_ALWAYS_POSSIBLE = ("succeeded", "cancelled", "crashed", "oom")
"""The states after kills; SIGKILL may be a lack of memory."""


def states(database: Database) -> dict[str, str]:
    """Return the state of each job in the table."""
    with database.looking() as connection:
        return {row.id: row.state for row in connection.execute(select(JOBS.c.id, JOBS.c.state))}


def unfinished(database: Database, accepted: Collection[str]) -> list[str]:
    """Return the accepted jobs that have not ended."""
    found = states(database)
    return [job_id for job_id in accepted if found.get(job_id, "queued") in UNFINISHED]


def wrongs(
    database: Database, folder: Path, accepted: Mapping[str, int], *, may_fail: bool
) -> list[str]:
    """Return what is wrong in the table and the folders of jobs.

    With `may_fail`, jobs may have failed for lack of something, such as space on the disk.
    """
    found = states(database)
    lost = [f"{job_id} is lost" for job_id in accepted if job_id not in found]
    open_jobs = [f"{i} is {state}" for i, state in found.items() if state in UNFINISHED]
    failed = [] if may_fail else list(_failed(database))
    wrong = [*lost, *open_jobs, *failed, *_wrong_events(database)]
    return [*wrong, *_wrong_results(database, folder, accepted)]


def _failed(database: Database) -> Iterator[str]:
    wanted = select(JOBS.c.id, JOBS.c.state, JOBS.c.error)
    with database.looking() as connection:
        for job_id, state, error in connection.execute(wanted):
            if state not in (*_ALWAYS_POSSIBLE, *UNFINISHED):
                yield f"{job_id} is {state}: {error}"


def _wrong_events(database: Database) -> Iterator[str]:
    of: dict[str, list[tuple[int, str, int]]] = {}
    wanted = select(EVENTS.c.job_id, EVENTS.c.number, EVENTS.c.name, JOBS.c.n_events).join_from(
        EVENTS, JOBS
    )
    with database.looking() as connection:
        for job_id, *event in connection.execute(wanted.order_by(EVENTS.c.job_id, EVENTS.c.number)):
            of.setdefault(job_id, []).append(tuple(event))
    for job_id, events in of.items():
        if [number for number, *_ in events] != list(range(1, events[0][2] + 1)):
            yield f"{job_id}: the events have gaps"
        ends = [number for number, name, _ in events if name in _TERMINAL]
        if ends != [len(events)]:
            yield f"{job_id}: terminal events {ends} of {len(events)}"
        last = max((n for n, name, _ in events if name == "started"), default=0)
        ready = Counter(name for number, name, _ in events if number > last)["ready"]
        if events[-1][1] == "finished" and ready != N_PARTS:
            yield f"{job_id}: the last attempt has {ready} parts"


def _wrong_results(database: Database, folder: Path, accepted: Mapping[str, int]) -> Iterator[str]:
    wanted = select(JOBS.c.id, JOBS.c.attempt, JOBS.c.request).where(JOBS.c.state == "succeeded")
    with database.looking() as connection:
        rows = connection.execute(wanted).all()
    for job_id, attempt, request in rows:
        seed = json.loads(request)["options"]["seed"]
        if accepted.get(job_id, seed) != seed:
            yield f"{job_id}: another request"
        parts = Parts(attempt_folder(folder / "jobs", job_id, attempt))
        for number in range(N_PARTS):
            if parts.read(f"part-{number}") != {"seed": seed, "number": number}:
                yield f"{job_id}: part {number} is of another job"
        if list(parts.folder.rglob("*.partial")):
            yield f"{job_id}: an incomplete part"
