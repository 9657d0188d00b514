"""The eviction of finished jobs, and the jobs and uploads that unfinished jobs need.

A row is removed before its results, so nobody finds a job without its results.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import PurePath

from sqlalchemy import Connection

from app.blob_store import blobs_of
from app.config import Settings
from app.quotas import Growth, Item, Quota, excess, quotas, tree_bytes
from app.store.blobs.interface import Blobs
from app.store.database import Database
from app.store.dialects import lock_queue
from app.store.jobs import queueing, reading
from app.store.jobs.reading import Finished
from app.store.jobs.record import JOBS, ids_in
from app.uploads import uploads_in


@dataclass(frozen=True, slots=True)
class Needed:
    """The ids of unfinished jobs, and of all jobs and uploads that their requests name."""

    jobs: set[str] = field(default_factory=set)
    uploads: set[str] = field(default_factory=set)


class StoredJobs:
    """The jobs in the table, of all servers that share it, and their results."""

    def __init__(self, database: Database, blobs: Blobs, quota: Quota) -> None:
        self.database, self.blobs, self.quota = database, blobs, quota
        self._growth = Growth(quota)
        self._facts: dict[str, tuple[float, int]] = {}
        """For each job the time of the last change of its results, and its size at that time."""

    @staticmethod
    def of(settings: Settings, database: Database) -> StoredJobs:
        """Return the stored jobs of an installation."""
        return StoredJobs(database, blobs_of(settings), quotas(settings)["jobs"])

    def needed(self) -> Needed:
        """Return the jobs and uploads that unfinished jobs need, directly or through examined
        jobs."""
        if not self.database.exists():
            return Needed()
        with self.database.looking() as connection:
            return _needed(connection)

    def add(self, job_id: str) -> None:
        """Count a job that has ended, and evict jobs if they may exceed the quota.

        A scan of all jobs after each job would take longer than a small job.
        """
        if self._growth.is_much_with(tree_bytes(self.blobs.path(f"{JOBS}/{job_id}"))):
            self.prune()

    def prune(self) -> int:
        """Evict the jobs beyond the quota that no unfinished job needs, and return their number."""
        self._growth.reset()
        if not self.database.exists():
            return 0
        with self.database.looking() as connection:
            needed = _needed(connection)
            finished = [job for job in reading.finished(connection) if job.id not in needed.jobs]
        self._forget_sizes(finished)
        gone = [i.path.name for i in excess(map(self._item, finished), self.quota, time.time())]
        if not gone:
            return 0
        with self.database.changing() as connection:
            lock_queue(connection)  # a request may have named a job meanwhile
            needed = _needed(connection)
            gone = [job_id for job_id in gone if job_id not in needed.jobs]
            queueing.forget(connection, gone)
        for job_id in gone:
            self.blobs.delete_below(f"{JOBS}/{job_id}")
        return len(gone)

    def _item(self, job: Finished) -> Item:
        return Item(PurePath(job.id), job.ended_s, self._n_bytes(job))

    def _n_bytes(self, job: Finished) -> int:
        if not self.blobs.is_folder:
            return job.n_bytes  # a listing of all results would take long
        folder = self.blobs.path(JOBS)
        try:
            changed_s = job.results(folder).stat().st_mtime
        except OSError:  # there are no results
            return 0
        known = self._facts.get(job.id)
        if known is None or known[0] != changed_s:
            self._facts[job.id] = known = (changed_s, tree_bytes(folder / job.id))
        return known[1]

    def _forget_sizes(self, finished: list[Finished]) -> None:
        ids = {job.id for job in finished}
        self._facts = {i: facts for i, facts in self._facts.items() if i in ids}


def _needed(connection: Connection) -> Needed:
    needed = Needed()
    requests = reading.unfinished_requests(connection)
    while requests:
        needed.jobs.update(requests)
        needed.uploads.update(*map(uploads_in, requests.values()))
        examined = set().union(*map(ids_in, requests.values()))
        requests = reading.requests(connection, examined - needed.jobs)
    return needed
