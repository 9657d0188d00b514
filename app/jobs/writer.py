"""All writes of a supervisor about its running jobs, one at a time.

If a write fails because the database is unreachable, the write is repeated. So a job that has ended
waits for the database, unless the supervisor itself ends.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.jobs.running import News, Running
from app.jobs.waiting import Estimates
from app.store.database import Database
from app.store.dialects import lock_jobs, lock_queue
from app.store.jobs import leases, queueing, reading
from app.store.jobs.leases import Cause
from app.store.jobs.record import State
from compiler.errors import CompileError

log = logging.getLogger("compilarium.jobs")

_AGAIN_S = 0.5


class Writer:
    """Writes about running jobs; one lock guards the leases, because each write must know the state
    after the previous write."""

    def __init__(self, database: Database, estimates: Estimates, lease_s: float) -> None:
        self.database, self.estimates, self.lease_s = database, estimates, lease_s
        self.is_giving_up = threading.Event()
        """Set at the end of the supervisor: a write is tried only once more."""
        self._lock = threading.Lock()

    def record(self, running: Sequence[Running]) -> float:
        """Write the news of running jobs in one transaction; return its seconds."""
        with self._lock:
            known = [each for each in running if each.is_confirmed.is_set()]
            pairs = [(each, news) for each in known if (news := each.news())]
            if not pairs:
                return 0.0
            start_s = monotonic()
            try:
                with self.database.changing() as connection:
                    lock_jobs(connection, [each.lease.job_id for each, _ in pairs])
                    for each, news in pairs:
                        _skip_written(connection, each, news)
                    kept = [
                        leases.record(connection, each.lease, news.told, news.phase, news.n_stages)
                        for each, news in pairs
                    ]
            except (SQLAlchemyError, OSError) as e:
                log.warning("events of jobs cannot be written: %s", e)
                for each, news in pairs:
                    each.is_unsure = True
                    each.put_back(news)
                return _AGAIN_S
            for (each, news), is_kept in zip(pairs, kept, strict=True):
                each.is_unsure = False
                if is_kept:
                    each.lease.state = "running"
                    each.lease.n_events += len(news.told)
                else:
                    each.lose()
            return monotonic() - start_s

    def heartbeat(self, running: Sequence[Running]) -> None:
        """Renew the leases of running jobs. Errors: SQLAlchemyError.

        After an unsure write, the state of the row is unknown until the write is repeated.
        """
        with self._lock:
            known = [e for e in running if e.is_confirmed.is_set() and not e.is_unsure]
            of = {each.lease.job_id: each for each in known if not each.is_lost}
            held = [each.lease for each in of.values()]
            if not held:
                return
            with self.database.changing() as connection:
                lost = leases.heartbeat(connection, held, self.lease_s)
        for lease in lost:
            log.warning("job %s: the lease was lost", lease.job_id)
            of[lease.job_id].lose()

    def end(
        self, running: Running, state: State, error: CompileError | None, n_bytes: int = 0
    ) -> None:
        """End a job with results of this size; without effect if the lease was lost."""
        news = self._last_news(running)

        def write(connection: Connection) -> bool:
            _skip_written(connection, running, news)
            told, n_stages = news.told, news.n_stages
            return leases.end(connection, running.lease, state, error, told, n_stages, n_bytes)

        self._insist(running, write)

    def queue_again(self, running: Running, cause: Cause) -> None:
        """Return a job to the queue; without effect if the lease was lost."""
        news = self._last_news(running)

        def write(connection: Connection) -> bool:
            lock_queue(connection)
            _skip_written(connection, running, news)
            is_kept = leases.queue_again(connection, running.lease, news.told, cause)
            queueing.renumber(connection, reading.line(connection), self.estimates)
            return is_kept

        self._insist(running, write)

    def _last_news(self, running: Running) -> News:
        """Take the last news, also those of a write that is about to fail."""
        with self._lock:
            return running.last_news()

    def _insist(self, running: Running, write: Callable[[Connection], bool]) -> None:
        running.is_confirmed.wait()
        while not running.is_lost:
            try:
                with self._lock, self.database.changing() as connection:
                    is_kept = write(connection)
            except (SQLAlchemyError, OSError) as e:
                log.warning("job %s: its end cannot be written: %s", running.job.id, e)
                running.is_unsure = True
                if self.is_giving_up.wait(_AGAIN_S):
                    return  # another supervisor repeats the job after the end of the lease
            else:
                if not is_kept:
                    log.warning("job %s: the lease was lost before the job ended", running.job.id)
                running.is_lost = True  # nothing more is written about this attempt


def _skip_written(connection: Connection, running: Running, news: News) -> None:
    """Remove events from `news` that an earlier write with an unconfirmed commit has stored."""
    if running.is_unsure:
        del news.told[: leases.recall(connection, running.lease)]
