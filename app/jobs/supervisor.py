"""A supervisor: it takes jobs from the table, runs them in child processes, and renews its leases.

There is one supervisor per machine, by default in a process of its own (supervisor_process.py). It
shares with web servers and other supervisors only the database and the data folder. Threads:

    claims   takes jobs for free workers, and reads the requests of clients about running jobs
    leases   renews the leases, takes jobs away from silent supervisors, and reports to operators
    relay    writes the events of running jobs, several in one transaction
    job      one for each running job, until its end is written
"""

from __future__ import annotations

import logging
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic

from sqlalchemy.exc import SQLAlchemyError

from app.blob_store import blobs_of
from app.config import Settings
from app.disk import full_disk
from app.jobs.eviction import StoredJobs
from app.jobs.inputs import COPIES
from app.jobs.limits import SHORTAGES, ChildKilledError, ChildLostError, ShortageError
from app.jobs.machines import SEEN_S, absent, this_machine
from app.jobs.owner import OwnerLock, is_dead, remove_dead
from app.jobs.runner import Runner
from app.jobs.running import Running
from app.jobs.silence import Silence
from app.jobs.stored import adopt_files, make_folder, remove_earlier, remove_strays
from app.jobs.stored_results import prune_copies
from app.jobs.waiting import Estimates
from app.jobs.writer import Writer
from app.quotas import tree_bytes
from app.store.database import Database
from app.store.dialects import lock_queue
from app.store.jobs import leases, queueing, reading, supervisors
from app.store.jobs.claiming import Attempt, Owner, claim, has_work
from app.store.jobs.leases import Held, Lease
from app.store.jobs.record import JOBS, Job, State, failed_state
from compiler.errors import CompileError

log = logging.getLogger("compilarium.jobs")

BEATS = 7.5
"""Heartbeats in the time of a lease."""
_REPORTS = 2.5
"""Reports to operators in the time of a lease."""
_LOOK_S = 1.0
_LOST_S = 10.0
_REST_S = 2.0
"""The pause of claims after a shortage; otherwise one machine would fail all jobs of the queue."""
_MOST_RETURNS = 20
"""Maximum number of attempts that end by a shortage that is considered temporary."""
_RELAY_S = 0.05
"""Interval between two writes of events; most small jobs end within it, and need a single write."""
_RELAY_SHARE = 0.25
"""The largest share of the time in which the relay writes, so that other writes find a gap."""


class _StoppingError(Exception):
    """The supervisor ends, so it takes no more jobs: its transaction is reverted."""


class Supervisor:
    """Runs the jobs of a table with `settings.n_workers` workers, until `stop`.

    Without `takes_next`, it runs only the jobs that were sent to it (`run_sent`).
    """

    def __init__(
        self, database: Database, settings: Settings, runner: Runner, *, takes_next: bool = True
    ) -> None:
        self.database, self.settings, self.runner = database, settings, runner
        self.takes_next = takes_next
        self.blobs = blobs_of(settings)
        self.folder: Path = self.blobs.path(JOBS)
        self.stopping = threading.Event()
        self.running: dict[str, Running] = {}
        self.estimates = Estimates(settings.n_workers)
        self.stored = StoredJobs.of(settings, database)
        self.writer = Writer(database, self.estimates, settings.lease_s)
        self.silence: Silence[tuple[str, int]] = Silence(gap_s=settings.lease_s / 2)
        self.homeless: Silence[str] = Silence(gap_s=10 * SEEN_S)
        self.lock: OwnerLock | None = None
        self.threads: list[threading.Thread] = []
        self._report_s = self._rest_until_s = 0.0
        self._pruning = threading.Lock()
        self._changed = threading.Condition()
        """Guards `running`."""

    # Methods for other threads.

    def start(self) -> None:
        """Start the threads."""
        self.machine = this_machine(self.settings)
        self.lock = OwnerLock(self.settings.data_folder, self.machine.name)
        self.owner = Owner(
            self.lock.name,
            self.machine.name,
            self.settings.lease_s,
            self.settings.running_per_client,
            self.machine.processor,
        )
        for work in (self._claims, self._leases, self._relay):
            thread = threading.Thread(target=work, name=f"jobs{work.__name__}", daemon=True)
            self.threads.append(thread)
            thread.start()

    def stop(self, grace_s: float = 0.0) -> None:
        """Take no more jobs; after `grace_s` seconds, return unfinished jobs to the queue."""
        with self._changed:
            self.stopping.set()
        self.database.watch.poke()
        with self._changed:
            self._changed.wait_for(lambda: not self.running, grace_s)
            for each in self.running.values():
                each.give_back()
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self.running, 10.0)
            self.writer.is_giving_up.set()
            self._changed.wait_for(lambda: not self.running, 5.0)
            self._changed.notify_all()
        for thread in self.threads:
            thread.join(timeout=5.0)
        self.runner.fork_server.stop()
        with self._pruning:
            pass  # nobody uses the database after this supervisor
        if self.lock is not None:
            with suppress(SQLAlchemyError, OSError), self.database.changing() as connection:
                supervisors.leave(connection, self.lock.name)
            self.lock.release()

    def run_sent(self, job_id: str, attempt: int) -> bool:
        """Run this attempt of a job to its end; return False if it cannot be claimed."""
        if self.stopping.is_set() or monotonic() < self._rest_until_s:
            return False
        running = self._take(Attempt(job_id, attempt))
        if running is None:
            return False
        with self._changed:
            self._changed.wait_for(lambda: running not in self.running.values())
        return True

    # Claims.

    def _claims(self) -> None:
        with suppress(SQLAlchemyError, OSError):
            adopt_files(self.database, self.folder)
            remove_strays(self.database, self.blobs)
        watch = self.database.watch
        while not self.stopping.is_set():
            seen = watch.n
            try:
                self._hear_wishes()
                if self.takes_next and self._take_next():
                    continue
            except Exception as e:
                _warn("the table of jobs cannot be read", e)
                self.stopping.wait(_LOOK_S)
            watch.wait(seen, _LOOK_S)

    def _hear_wishes(self) -> None:
        running = self._all_running()
        if not running:
            return
        with self.database.looking() as connection:
            wishes = leases.wishes(connection, self.owner.name)
        for each in running:
            if wish := wishes.get((each.lease.job_id, each.lease.attempt)):
                each.wish(wish)

    def _take_next(self) -> bool:
        """Start the next job, if a worker is free; return False if none was started."""
        if len(self._all_running()) >= self.settings.n_workers or monotonic() < self._rest_until_s:
            return False
        with self.database.looking() as connection:  # most changes bring no new job
            if not has_work(connection, self.owner):
                return False
        return self._take() is not None

    def _take(self, sent: Attempt | None = None) -> Running | None:
        """Claim a job and start it; None if there is none."""
        running: Running | None = None
        try:
            with self.database.changing() as connection:
                lease = claim(connection, self.owner, self.estimates, sent)
                job = lease and reading.find(connection, self.folder, lease.job_id)
                if lease is None or job is None:
                    return None
                # The commit waits for the disk for longer than a child needs to start.
                running = self._begin(job, lease)
            running.is_confirmed.set()
        except _StoppingError:
            return None
        except BaseException:
            if running is not None:
                running.lose()
                self._await_end(running)  # the next claim has the same folder
            raise
        return running

    def _begin(self, job: Job, lease: Lease) -> Running:
        """Start the thread of a job. Errors: _StoppingError, because `stop` would not await it."""
        running = Running(job, lease)
        thread = threading.Thread(
            target=self._run, args=(running,), name=f"job-{job.id}", daemon=True
        )
        with self._changed:
            if self.stopping.is_set():
                raise _StoppingError
            self.running[job.id] = running
            self._changed.notify_all()
        try:
            thread.start()
        except RuntimeError:  # the system permits no further thread
            self._forget(running)
            raise
        return running

    def _await_end(self, running: Running) -> None:
        with self._changed:
            self._changed.wait_for(lambda: running not in self.running.values(), _LOST_S)

    def _all_running(self) -> list[Running]:
        with self._changed:
            return list(self.running.values())

    # Leases.

    def _leases(self) -> None:
        every_s = self.settings.lease_s / BEATS
        while True:
            try:
                self.writer.heartbeat(self._all_running())
                self._report()
                if not self.stopping.is_set():
                    self._take_from_silent()
            except Exception as e:
                _warn("leases cannot be renewed", e)
            if not self._pause(every_s):
                return

    def _report(self) -> None:
        """Report to operators, less often than leases are renewed, so an idle disk may sleep."""
        if monotonic() < self._report_s:
            return
        with self.database.changing() as connection:
            supervisors.report(connection, self.owner.name, self.machine)
        self._end_homeless()
        self._report_s = monotonic() + self.settings.lease_s / _REPORTS

    def _end_homeless(self) -> None:
        """End the queued jobs whose kind of machine has not been at work for long."""
        with self.database.looking() as connection:
            found = supervisors.machines(connection, max(SEEN_S, self.settings.lease_s))
            kinds = {"", *(each.processor for each in found)}
            queued = reading.line(connection).queued
        silent_s = self.homeless.look({j.id: True for j in queued if j.needs not in kinds})
        homeless = [job_id for job_id, seconds in silent_s.items() if seconds > SEEN_S]
        if not homeless:
            return
        with self.database.changing() as connection:
            lock_queue(connection)
            for job_id in homeless:
                leases.end_unowned(connection, job_id, "failed", absent())
            queueing.renumber(connection, reading.line(connection), self.estimates)

    def _take_from_silent(self) -> None:
        """Queue again the jobs of supervisors that are dead or silent.

        This supervisor itself is silent about a job if it claimed the job without knowing: the
        connection was lost during the commit.
        """
        with self.database.looking() as connection:
            all_held = leases.all_held(connection)
        others = [held for held in all_held if not self._runs(held.lease)]
        silent_s = self.silence.look(
            {(h.lease.job_id, h.lease.attempt): (h.lease.owner, h.heartbeat_s) for h in others}
        )
        for each in others:
            is_silent = silent_s[each.lease.job_id, each.lease.attempt] >= self.settings.lease_s
            if is_silent or self._is_dead(each):
                self._take_away(each)
        if not others:
            remove_dead(self.settings.data_folder)

    def _is_dead(self, held: Held) -> bool:
        folder, own = self.settings.data_folder, self.machine.name
        return is_dead(folder, held.lease.owner, held.machine, own)

    def _runs(self, lease: Lease) -> bool:
        """Return whether this supervisor runs an attempt of a job."""
        with self._changed:
            own = self.running.get(lease.job_id)
        return own is not None and (own.lease.owner, own.lease.attempt) == (
            lease.owner,
            lease.attempt,
        )

    def _take_away(self, held: Held) -> None:
        log.warning("job %s: its supervisor has died", held.lease.job_id)
        with self.database.changing() as connection:
            lock_queue(connection)
            if leases.take_away(connection, held, _dead_supervisor(held.lease)):
                queueing.renumber(connection, reading.line(connection), self.estimates)

    # Events.

    def _relay(self) -> None:
        pause_s = _RELAY_S
        while self._pause(pause_s):
            with self._changed:
                self._changed.wait_for(lambda: bool(self.running) or self.stopping.is_set())
            try:
                seconds = self.writer.record(self._all_running())
            except Exception as e:
                _warn("events of jobs cannot be written", e)
                seconds = 0.0
            pause_s = max(_RELAY_S, seconds / _RELAY_SHARE)

    def _pause(self, seconds: float) -> bool:
        """Pause; return False at the end, when nothing is left to do."""
        with self._changed:
            return not self._changed.wait_for(self._is_ended, seconds)

    def _is_ended(self) -> bool:
        return self.stopping.is_set() and not self.running

    # A job.

    def _run(self, running: Running) -> None:
        try:
            self._finish(running, self._failure(running))
        finally:
            self._forget(running)
            self.database.watch.poke()
        with suppress(SQLAlchemyError, OSError), self._pruning:
            if not self.stopping.is_set():
                self.stored.add(running.job.id)
            if not self.blobs.is_folder:
                shutil.rmtree(running.job.folder / COPIES, ignore_errors=True)
                prune_copies(self.settings.stored_folder, self.settings.copies_kept_bytes)

    def _forget(self, running: Running) -> None:
        with self._changed:
            self.running.pop(running.job.id, None)
            self._changed.notify_all()

    def _failure(self, running: Running) -> CompileError | None:
        """Run a job to its end, and return its error if it fails."""
        job = running.job
        try:
            make_folder(job, self.blobs)
            self.runner.run(job, running.hear, running.cancelled, lambda: running.is_stopped)
        except CompileError as e:
            return e
        except OSError as e:
            log.exception("job %s failed in the server", job.id)
            if e.errno in SHORTAGES:
                return ShortageError(_bug(), counts=False)
            return full_disk(e) or _bug()
        except Exception:
            log.exception("job %s failed in the server", job.id)
            return _bug()
        return None

    def _finish(self, running: Running, error: CompileError | None) -> None:
        """Write the end of a job or of its attempt."""
        is_ended_by_us = running.cancelled.is_set()
        if isinstance(error, ChildKilledError) and is_ended_by_us:
            error = None
        is_full = error is not None and error.code == "E-UPLOAD-DISK"
        if is_full or isinstance(error, ShortageError):
            self._rest_until_s = monotonic() + _REST_S
        if _is_returned(running.job, error):
            log.warning("job %s returns to the queue: %s", running.job.id, error)
            self.writer.queue_again(running, "returned")
        elif isinstance(error, ChildKilledError) and _may_repeat(running.job, error):
            log.info("job %s is run once more: %s", running.job.id, error.message)
            lost = isinstance(error, ChildLostError)
            self.writer.queue_again(running, "lost" if lost else "crashed")
        elif error is None and running.is_returned:
            self.writer.queue_again(running, "returned")
        else:
            ended: State = "cancelled" if is_ended_by_us else "succeeded"
            state = failed_state(error.code) if error else ended
            n_bytes = 0 if self.blobs.is_folder else tree_bytes(running.job.folder)
            self.writer.end(running, state, error, n_bytes)
            with suppress(OSError):
                remove_earlier(running.job, self.blobs)


def _is_returned(job: Job, error: CompileError | None) -> bool:
    """Return whether a job returns to the queue because of a temporary shortage."""
    is_shortage = isinstance(error, ShortageError) and not error.counts
    return is_shortage and job.attempt < _MOST_RETURNS


def _may_repeat(job: Job, error: ChildKilledError) -> bool:
    """Return whether a job with a killed child is run again: after a signal, only once."""
    return job.attempt < job.max_attempts and (isinstance(error, ChildLostError) or not job.crashes)


def _dead_supervisor(lease: Lease) -> CompileError:
    message = f"the server stopped during the job, in each of {lease.attempt} attempts"
    return CompileError("E-LIMIT-CRASH", message)


def _warn(words: str, error: Exception) -> None:
    """Log why a thread has to repeat its work; the cause may be a bug, or a lack of threads."""
    is_usual = isinstance(error, (SQLAlchemyError, OSError))
    log.warning("%s: %s", words, error, exc_info=None if is_usual else error)


def _bug() -> CompileError:
    return CompileError("E-SERVER-BUG", "the server failed to run the job")
