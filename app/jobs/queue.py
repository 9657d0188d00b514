"""The web servers' side of the queue: submission, following and cancellation of jobs.

All facts are rows of the table of jobs, which a supervisor reads too; see docs/jobs.md. With the
setting `supervisor` "inside", the supervisor runs in threads of this process.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from app.blob_store import blobs_of
from app.config import Settings
from app.jobs.eviction import Needed, StoredJobs
from app.jobs.interest import Interests
from app.jobs.kinds import KINDS
from app.jobs.machines import SEEN_S, needed_kind, this_machine
from app.jobs.runner import Runner
from app.jobs.silence import Silence
from app.jobs.stored import adopt_files, forget_lost
from app.jobs.supervisor import Supervisor
from app.jobs.waiting import Estimates
from app.store.database import Database
from app.store.jobs import queueing, reading, supervisors
from app.store.jobs.queueing import Limits, Wanted
from app.store.jobs.record import JOBS, Event, Job, is_id
from app.store.jobs.supervisors import Machine
from app.wire import form
from compiler.errors import CompileError

log = logging.getLogger("compilarium.jobs")

CANCEL_S = 5.0
"""Maximum time in seconds that a cancelling request waits for the end of a running job."""
_INTEREST_S = 1.0


class JobQueue:
    """Submits jobs to the table, and reports their states."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.settings, self.database = settings, database
        self.blobs = blobs_of(settings)
        self.folder = self.blobs.path(JOBS)
        self.estimates = Estimates(settings.n_workers)
        self.limits = Limits(settings.queue_limit, settings.queued_per_client, self.estimates)
        logs, has_supervisor = settings.data_folder / "logs", settings.has_supervisor
        self.runner = Runner(settings, logs, self.peek, runs_jobs=has_supervisor)
        self.supervisor: Supervisor | None = None
        self.stored = StoredJobs.of(settings, database)
        self.interests = Interests()
        self.streams = threading.Semaphore(settings.n_streams)
        self.stopped = threading.Event()
        self.tails = _Tails(database)
        self._watcher: threading.Thread | None = None
        self._starting = threading.Lock()
        self._has_adopted = False

    # Submissions.

    def obtain(
        self,
        request: Mapping[str, Any],
        model_name: str,
        private: Mapping[str, Any] | None = None,
        *,
        done: bool = False,
        client: str = "",
        pane: str = "",
    ) -> Job:
        """Return the queued or running job with the same request, or queue a new job.

        With `done`, a finished job with a stored result is also returned. `client` and `pane` are
        those of `Wanted`; only the child process receives `private`.
        Errors: E-LIMIT-QUEUE, E-SANDBOX-ABSENT, and those of `needed_kind`.
        """
        self._require_isolation(request)
        wanted = self._wanted(request, model_name, private, client, pane)
        self._adopt()
        if done and (found := self.find_done(request, wanted.processors)):
            return found
        with self.database.changing() as connection:
            found_id = queueing.obtain(connection, self.folder, wanted, self.limits, done=done)
            job = reading.find(connection, self.folder, found_id)
        self._start()
        assert job is not None
        return job

    def submit(
        self,
        request: Mapping[str, Any],
        model_name: str,
        private: Mapping[str, Any] | None = None,
        client: str = "",
    ) -> Job:
        """Queue a job, even if an equal one exists. Errors: E-LIMIT-QUEUE, E-SANDBOX-ABSENT."""
        self._require_isolation(request)
        wanted = self._wanted(request, model_name, private, client, "")
        with self.database.changing() as connection:
            job_id = queueing.submit(connection, wanted, self.limits)
            job = reading.find(connection, self.folder, job_id)
        self._start()
        assert job is not None
        return job

    def _wanted(
        self,
        request: Mapping[str, Any],
        model_name: str,
        private: Mapping[str, Any] | None,
        client: str,
        pane: str,
    ) -> Wanted:
        kind, at_work = KINDS[request["kind"]], self.machines()
        needs = needed_kind(self._examined(request, ("job", "other", "tuned")), at_work)
        return Wanted(
            request,
            model_name,
            form(),
            private or {},
            kind.queue,
            kind.max_attempts,
            client,
            pane,
            needs,
            [needs] if needs else [each.processor for each in at_work],
        )

    def machines(self) -> list[Machine]:
        """Return the machines that run jobs."""
        with self.database.looking() as connection:
            found = supervisors.machines(connection, max(SEEN_S, self.settings.lease_s))
        own = this_machine(self.settings) if self.settings.has_supervisor else None
        is_new = own is not None and own.name not in {each.name for each in found}
        return [own, *found] if own is not None and is_new else found

    def _examined(self, request: Mapping[str, Any], names: Sequence[str]) -> Iterator[Job]:
        """Yield the jobs that a request names, without absent jobs: the request fails later."""
        for name in names:
            if request.get(name):
                with suppress(CompileError):
                    yield self.peek(request[name])

    def _require_isolation(self, request: Mapping[str, Any]) -> None:
        """Refuse a job that needs a sandbox if there is none. Errors: E-SANDBOX-ABSENT."""
        examined = self._examined(request, ("job", "other"))
        self.runner.isolation.require([request, *(job.request for job in examined)])

    # Searches.

    def find(self, job_id: str) -> Job:
        """Find a job by id, which is a sign of interest. Errors: E-REQUEST-UNKNOWN."""
        job = self.peek(job_id)
        if not job.is_over:
            self.interests.seen(job_id)
        return job

    def peek(self, job_id: str) -> Job:
        """Find a job by id. Errors: E-REQUEST-UNKNOWN."""
        job = None
        if is_id(job_id):
            self._adopt()
            with self.database.looking() as connection:
                job = reading.find(connection, self.folder, job_id)
        if job is None:
            raise CompileError("E-REQUEST-UNKNOWN", f"there is no job {job_id[:60]!r}")
        if job.form != form():
            raise CompileError(
                "E-REQUEST-UNKNOWN",
                f"the job {job_id} is from another version of the program, and this "
                "version cannot read its result",
                hint="compile the model again",
            )
        return job

    def find_done(self, request: Mapping[str, Any], processors: Collection[str] = ()) -> Job | None:
        """Find a finished job with the same request and a stored result.

        `processors` are the kinds of machines whose results are of use; () for all.
        """
        digest = queueing.digest_of(request)
        with self.database.looking() as connection:
            return reading.find_done(connection, self.folder, digest, form(), processors)

    def beside(self, job_id: str) -> list[Job]:
        """Return the stored jobs that have examined this job's result, newest first.

        This includes the jobs about an equal earlier job, because equal requests have equal
        results.
        """
        self._adopt()
        with self.database.looking() as connection:
            return reading.examining(connection, self.folder, job_id, form())

    def needed(self) -> Needed:
        """Return the jobs and uploads that unfinished jobs need."""
        return self.stored.needed()

    def prune(self) -> int:
        """Evict the jobs beyond the quota that no unfinished job needs, and return their number."""
        return self.stored.prune()

    # Clients that cancel, stop or follow jobs.

    def release(self, job_id: str) -> Job:
        """Cancel a job for one of its clients: the job continues while other clients await it.

        Errors: E-REQUEST-UNKNOWN.
        """
        job = self.find(job_id)
        if job.is_over:
            return job
        with self.database.changing() as connection:
            is_last = queueing.release(connection, job_id, self.estimates)
        return self._awaited_end(job_id) if is_last else self.find(job_id)

    def cancel(self, job_id: str) -> Job:
        """Cancel a job unless it has finished. Errors: E-REQUEST-UNKNOWN."""
        job = self.peek(job_id)
        if job.is_over:
            return job
        with self.database.changing() as connection:
            queueing.cancel(connection, job_id, self.estimates)
        return self._awaited_end(job_id)

    def _awaited_end(self, job_id: str) -> Job:
        self.database.watch.wait_for(lambda: self.peek(job_id).is_over, CANCEL_S)
        return self.peek(job_id)

    def ask_to_stop(self, job_id: str) -> None:
        """Ask a job to end early, with its results so far."""
        with self.database.changing() as connection:
            queueing.ask_to_stop(connection, job_id)

    def follow(self, job_id: str, *, again: bool) -> bool:
        """Count a new event stream of a job; return False if too many streams are open.

        `again` marks the reconnection of a client.
        """
        if not self.streams.acquire(blocking=False):
            return False
        self.interests.opened(job_id, again=again)
        self._start_watcher()
        return True

    def unfollow(self, job_id: str) -> None:
        """Count the end of an event stream."""
        self.streams.release()
        self.interests.closed(job_id)

    def events_after(self, job: Job, number: int, timeout_s: float) -> tuple[Sequence[Event], bool]:
        """Return the events after `number`, and whether the stream ends with them.

        If there are none, wait at most `timeout_s` for an event, the job's end or the server's
        stop.
        """
        watch = self.database.watch
        end_s = monotonic() + timeout_s
        while True:
            seen = watch.n
            n_events, is_over = self.tails.of(job.id, seen)
            left_s = end_s - monotonic()
            is_last = is_over or self.stopped.is_set()
            if n_events > number or is_last or left_s <= 0:
                break
            watch.wait(seen, left_s)
        if n_events <= number:
            return (), is_last
        with self.database.looking() as connection:
            return reading.events_after(connection, job.id, number), is_last

    def has_ended(self, job: Job, number: int) -> bool:
        """Return whether the job has ended without events after `number`."""
        return job.is_over and number >= job.n_events

    # Start and end.

    def warm_up(self) -> None:
        """Open the database, test the sandbox, and import the compiler, so that the first job and
        the first text start at once."""
        self.runner.isolation.begin_self_test()
        self.runner.fork_server.warm_up()
        _ = self.database.engine  # migrates its tables
        self._adopt()
        self._start()

    def stop(self) -> None:
        """End the event streams, and the supervisor of this process, when a server or test ends."""
        self.stopped.set()
        self.database.watch.poke()
        with self._starting:
            if self.supervisor is not None:
                self.supervisor.stop()
        if self._watcher is not None:
            self._watcher.join(timeout=5.0)
        self.runner.fork_server.stop()
        self.database.watch.close()

    def _adopt(self) -> None:
        """Adopt the jobs of earlier versions, and forget those without results, once."""
        if not self._has_adopted:
            with self._starting:
                if not self._has_adopted:
                    adopt_files(self.database, self.folder)
                    if self.blobs.is_folder:
                        forget_lost(self.database, self.folder)
                    self._has_adopted = True

    def _start(self) -> None:
        self._start_watcher()
        with self._starting:
            if (
                self.settings.has_supervisor
                and self.supervisor is None
                and not self.stopped.is_set()
            ):
                self.supervisor = Supervisor(self.database, self.settings, self.runner)
                self.supervisor.start()

    def _start_watcher(self) -> None:
        with self._starting:
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="jobs-left", daemon=True)
                self._watcher.start()

    def _watch(self) -> None:
        """Write the signs of interest, and cancel the jobs that all clients have left."""
        after_s = self.settings.abandoned_after_s
        every_s = min(_INTEREST_S, after_s / 4)
        silence: Silence[str] = Silence(gap_s=max(10 * every_s, _INTEREST_S))
        while not self.stopped.wait(every_s):
            try:
                self._write_signs()
                for job_id in self._left(silence, after_s):
                    log.info("job %s is cancelled: its clients have left", job_id)
                    with self.database.changing() as connection:
                        queueing.cancel(connection, job_id, self.estimates)
            except (SQLAlchemyError, OSError) as e:
                log.warning("the interest of clients cannot be written: %s", e)

    def _write_signs(self) -> None:
        signs = self.interests.take()
        if not signs.followers and not signs.seen:
            return
        try:
            with self.database.changing() as connection:
                queueing.followed(connection, signs.followers, signs.seen)
        except SQLAlchemyError:
            self.interests.put_back(signs)
            raise

    def _left(self, silence: Silence[str], after_s: float) -> list[str]:
        """Return the jobs without a sign of interest for `after_s` seconds."""
        with self.database.looking() as connection:
            seen = dict(reading.interests(connection))
        return [job_id for job_id, seconds in silence.look(seen).items() if seconds > after_s]


class _Tails:
    """The last event numbers of followed jobs, read by one query for all jobs after each change."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock = threading.Lock()
        self._wanted: dict[str, float] = {}
        self._seen = -1
        self._known: dict[str, tuple[int, bool]] = {}

    def of(self, job_id: str, seen: int) -> tuple[int, bool]:
        """Return the number of events of a job and whether it has ended, after the change
        `seen`."""
        with self._lock:
            now = monotonic()
            self._wanted[job_id] = now
            if self._seen != seen or job_id not in self._known:
                self._wanted = {i: t for i, t in self._wanted.items() if now - t < _FORGET_S}
                with self.database.looking() as connection:
                    self._known = reading.heads(connection, self._wanted)
                self._seen = seen
            return self._known.get(job_id, (0, True))  # an evicted job has no more events


_FORGET_S = 60.0
