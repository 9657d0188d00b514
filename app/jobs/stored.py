"""The folders of jobs: their creation and removal, and the jobs of earlier versions in them.

The row of a job is written before its folder, and removed before its folder (eviction.py). So a
folder without a row is a leftover, and may be removed. Earlier versions of the program kept the
facts of a job in its folder (`job.json`, `events.jsonl`); these jobs are adopted once.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from app.jobs.stored_results import OWN
from app.store.blobs.interface import Blobs
from app.store.database import Database
from app.store.jobs import queueing, reading
from app.store.jobs.record import JOBS, Event, Job, State, attempt_key, failed_state, is_id
from compiler.errors import CompileError

_FACTS, _EVENTS = "job.json", "events.jsonl"
_STRAY_S = 3600.0
"""Folders without a row are removed after this time in seconds: their jobs were evicted while the
server died."""
_OLD_STATES: dict[str, State] = {
    "queued": "queued",
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
}


def make_folder(job: Job, blobs: Blobs) -> None:
    """Create the folder of an attempt, empty. Errors: OSError."""
    shutil.rmtree(job.folder, ignore_errors=True)
    job.folder.mkdir(parents=True, mode=0o700)
    if not blobs.is_folder:
        (job.folder / OWN).touch(mode=0o600)


def remove_earlier(job: Job, blobs: Blobs) -> None:
    """Remove the results of earlier attempts. Errors: OSError."""
    for attempt in range(1, job.attempt):
        blobs.delete_below(attempt_key(job.id, attempt))


def remove_strays(database: Database, blobs: Blobs) -> None:
    """Remove old results of jobs that are not in the table. Errors: OSError."""
    ids = [name for name in blobs.children(JOBS) if is_id(name)]
    with database.looking() as connection:
        strays = set(ids) - reading.known(connection, ids)
    for job_id in strays:
        with suppress(OSError):
            if time.time() - _changed_s(blobs, job_id) > _STRAY_S:
                blobs.delete_below(f"{JOBS}/{job_id}")


def _changed_s(blobs: Blobs, job_id: str) -> float:
    """Return the time of the last change of results in Unix seconds. Errors: OSError."""
    key = f"{JOBS}/{job_id}"
    if blobs.is_folder:
        return blobs.path(key).stat().st_mtime
    return max((each.used_s for each in blobs.below(key)), default=time.time())


def forget_lost(database: Database, folder: Path) -> None:
    """Remove the rows of succeeded jobs whose folders an operator has removed."""
    with database.looking() as connection:
        finished = reading.finished(connection)
    done = [job for job in finished if job.state == "succeeded"]
    lost = [job.id for job in done if not job.results(folder).is_dir()]
    if lost:
        with database.changing() as connection:
            queueing.forget(connection, lost)


def adopt_files(database: Database, folder: Path) -> None:
    """Insert the jobs of earlier versions into the table; then remove their files of facts.

    A job that was running when its server died has failed with E-LIMIT-CRASH. Jobs of a server that
    still runs, and unreadable jobs, are not changed. Errors: OSError, SQLAlchemyError.
    """
    found = [path for path in _folders(folder) if (path / _FACTS).is_file()]
    if not found:
        return
    with database.changing() as connection:
        done = [path for path in found if _adopt(connection, path)]
    for path in done:
        for name in (_EVENTS, "stop", _FACTS):
            (path / name).unlink(missing_ok=True)


def state_in_files(folder: Path) -> State | None:
    """Return the state of a job that an earlier version kept in this folder; None for others."""
    try:
        state = json.loads((folder / _FACTS).read_text(encoding="utf-8"))["state"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return _OLD_STATES.get(state) if is_id(folder.name) else None


def _adopt(connection: Connection, folder: Path) -> bool:
    """Insert a job unless the table has it; return False if nothing was changed."""
    if reading.known(connection, [folder.name]):
        return True
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        if facts["state"] in ("queued", "running") and _is_alive(int(facts["server_pid"])):
            return False
        events = list(_events(folder / _EVENTS))
        job, ended_s = _job(folder, facts, events)
    except (OSError, ValueError, TypeError, KeyError):
        return False
    queueing.adopt(connection, job, ended_s, events)
    return True


def _job(folder: Path, facts: dict[str, Any], events: list[Event]) -> tuple[Job, float]:
    """Return a job and the time of its end; the terminal event of a dead server's job is added."""
    state, error = facts["state"], facts["error"]
    started_s, ended_s = float(facts["started_s"]), float(facts["ended_s"])
    if state in ("queued", "running"):
        ended_s = time.time()
        error = CompileError("E-LIMIT-CRASH", "the server stopped during the job").to_json()
        data = {"n_stages": facts["n_stages"], "seconds": 0.0, "error": error}
        events.append(Event(len(events) + 1, "failed", data))
    job = Job(
        folder.name,
        folder,
        dict(facts["request"]),
        str(facts["model_name"]),
        failed_state(error["code"]) if error else _OLD_STATES[state],
        phase=facts["phase"],
        n_stages=facts["n_stages"],
        error=error,
        created_s=facts["created_s"],
        seconds=max(0.0, ended_s - started_s) if started_s else 0.0,
        form=facts.get("form", ""),
    )
    return job, ended_s


def _events(path: Path) -> Iterator[Event]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for number, line in enumerate(lines, 1):
        try:
            _, name, data = json.loads(line)
        except (ValueError, TypeError):
            return  # a line that was incomplete when the server died
        yield Event(number, str(name), data)


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError):
        return [path for path in folder.iterdir() if is_id(path.name)]
    return []


def _is_alive(pid: int) -> bool:
    """Return whether this id belongs to another running server, which may own the job."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
