"""The jobs of a data folder, from its database and from the files of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.jobs.stored import state_in_files
from app.store import maintenance
from app.store.database import Database
from app.store.jobs import reading
from app.store.jobs.record import UNFINISHED, State, attempt_folder


@dataclass(frozen=True, slots=True)
class KnownJob:
    """The facts about a job that determine its files."""

    id: str
    state: State
    attempt: int = 0

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.state not in UNFINISHED

    def results(self, folder: Path) -> Path:
        """Return the folder of its results, below the folder of all jobs."""
        return attempt_folder(folder, self.id, self.attempt)


def known_jobs(database: Database, folder: Path) -> Mapping[str, KnownJob]:
    """Return the jobs by id; `folder` is the folder of all jobs.

    A SQLite file is only read, so its tables may be of another version.
    Errors: sqlite3.Error for a damaged file.
    """
    found: dict[str, KnownJob] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if state := state_in_files(path):
            found[path.name] = KnownJob(path.name, state)
    file = maintenance.database_file(database)
    if file is not None:
        rows = maintenance.jobs_in(file)
    else:
        with database.looking() as connection:
            rows = reading.attempts(connection) if maintenance.has_table(connection, "jobs") else []
    return found | {job_id: KnownJob(job_id, state, attempt) for job_id, state, attempt in rows}
