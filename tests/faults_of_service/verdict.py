"""What must hold after all faults."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from app.jobs.parts import Parts
from app.store.jobs.record import UNFINISHED, attempt_folder
from app.store.maintenance import integrity_check
from tests.faults_of_service.worker import N_PARTS

_TERMINAL = ("finished", "failed", "cancelled")


def states(folder: Path) -> dict[str, str]:
    """Return the state of each job in the table."""
    with closing(sqlite3.connect(folder / "compilarium.db", timeout=30)) as connection:
        return dict(connection.execute("SELECT id, state FROM jobs").fetchall())


def unfinished(folder: Path, accepted: Mapping[str, int]) -> list[str]:
    """Return the accepted jobs that have not ended."""
    found = states(folder)
    return [job_id for job_id in accepted if found.get(job_id, "queued") in UNFINISHED]


def wrongs(folder: Path, accepted: Mapping[str, int]) -> list[str]:
    """Return what is wrong in the table and the folders of jobs."""
    damages = integrity_check(folder / "compilarium.db")
    found = states(folder)
    lost = [f"{job_id} is lost" for job_id in accepted if job_id not in found]
    open_jobs = [f"{i} is {state}" for i, state in found.items() if state in UNFINISHED]
    return [*damages, *lost, *open_jobs, *_wrong_events(folder), *_wrong_results(folder, accepted)]


def _wrong_events(folder: Path) -> Iterator[str]:
    with closing(sqlite3.connect(folder / "compilarium.db", timeout=30)) as connection:
        rows = connection.execute(
            "SELECT job_id, number, name, n_events FROM job_events JOIN jobs ON jobs.id = job_id "
            "ORDER BY job_id, number"
        ).fetchall()
    of: dict[str, list[tuple[int, str, int]]] = {}
    for job_id, number, name, n_events in rows:
        of.setdefault(job_id, []).append((number, name, n_events))
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


def _wrong_results(folder: Path, accepted: Mapping[str, int]) -> Iterator[str]:
    with closing(sqlite3.connect(folder / "compilarium.db", timeout=30)) as connection:
        rows = connection.execute(
            "SELECT id, attempt, request FROM jobs WHERE state = 'succeeded'"
        ).fetchall()
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
