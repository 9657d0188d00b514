"""The bounded queue of jobs, which run in child processes and are stored on disk."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.config import Settings
from app.disk import full_disk
from app.jobs.eviction import Needed, StoredJobs
from app.jobs.interest import Interests
from app.jobs.records import Event, Job, is_id, load, new_id, request_in
from app.jobs.runner import Runner
from app.jobs.waiting import Durations
from app.quotas import excess, quotas
from app.wire import form
from compiler.errors import CompileError

log = logging.getLogger("compilarium.jobs")

CANCEL_S = 5.0
"""Maximum time in seconds that a cancelling request waits for the end of a running job."""


class JobQueue:
    """Accepts jobs, runs `n_workers` of them at a time, and reports their states.

    Threads start when the first job is queued. One lock guards all jobs; subscribers wait on its
    condition variable.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.changed = threading.Condition()
        self.jobs: dict[str, Job] = {}
        self.waiting: deque[str] = deque()
        self.cancels: dict[str, threading.Event] = {}
        self.threads: list[threading.Thread] = []
        self.watcher: threading.Thread | None = None
        self.stopped = threading.Event()
        self.private: dict[str, Mapping[str, Any]] = {}
        self.runner = Runner(settings, folder.parent / "logs", self.find)
        self.is_stopping = False
        self.stored = StoredJobs(folder)
        self.interests = Interests()
        self.durations = Durations()
        self.streams = threading.Semaphore(settings.n_streams)

    # Methods that requests call.

    def obtain(
        self,
        request: Mapping[str, Any],
        model_name: str,
        private: Mapping[str, Any] | None = None,
        *,
        done: bool = False,
    ) -> Job:
        """Return the queued or running job with the same request, or queue a new job.

        With `done`, a finished job with a stored result is also returned.
        Errors: E-LIMIT-QUEUE, E-SANDBOX-ABSENT.
        """
        self._require_isolation(request)
        with self.changed:
            found = self.find_done(request) if done else None
            found = found or self._find_unfinished(request)
            if found is None:
                return self.submit(request, model_name, private)
            if not found.is_over:
                self.interests.requested(found.id)
            return found

    def submit(
        self, request: Mapping[str, Any], model_name: str, private: Mapping[str, Any] | None = None
    ) -> Job:
        """Queue a job; only the child process receives `private`.

        Errors: E-LIMIT-QUEUE when too many jobs wait, E-SANDBOX-ABSENT.
        """
        self._require_isolation(request)
        with self.changed:
            if len(self.waiting) >= self.settings.queue_limit:
                raise CompileError(
                    "E-LIMIT-QUEUE",
                    f"jobs waiting: {len(self.waiting)}, which is the limit of this server",
                )
            job = self._make(request, model_name)
            self.jobs[job.id], self.private[job.id] = job, private or {}
            self.cancels[job.id] = threading.Event()
            self.waiting.append(job.id)
            self.interests.requested(job.id)
            self._renumber()
            self._start_threads()
            self.changed.notify_all()
            return job

    def _require_isolation(self, request: Mapping[str, Any]) -> None:
        """Refuse a job that needs a sandbox where there is none. Errors: E-SANDBOX-ABSENT."""
        requests = [request]
        for name in ("job", "other"):
            if name in request:
                with contextlib.suppress(CompileError):  # the job itself fails if one is absent
                    requests.append(self.find(request[name]).request)
        self.runner.isolation.require(requests)

    def find(self, job_id: str) -> Job:
        """Find a job by id, in memory or on disk. Errors: E-REQUEST-UNKNOWN."""
        with self.changed:
            self.interests.seen(job_id)
            job = self.jobs.get(job_id)
            if job is None and is_id(job_id):
                job = load(self.folder / job_id)
                if job is not None and job.form != form():
                    raise CompileError(
                        "E-REQUEST-UNKNOWN",
                        f"the job {job_id} is from another version of the program, and this "
                        "version cannot read its result",
                        hint="compile the model again",
                    )
            if job is None:
                raise CompileError("E-REQUEST-UNKNOWN", f"there is no job {job_id[:60]!r}")
            return job

    def find_done(self, request: Mapping[str, Any]) -> Job | None:
        """Find a finished job with the same request and a stored result."""
        with self.changed:
            done = (j for j in self.jobs.values() if j.state == "succeeded")
            return next((j for j in done if j.request == request), None)

    def _find_unfinished(self, request: Mapping[str, Any]) -> Job | None:
        """Find a queued or running job with the same request, unless it is being cancelled."""
        for job_id, cancel in self.cancels.items():
            job = self.jobs[job_id]
            if not job.is_over and not cancel.is_set() and job.request == request:
                return job
        return None

    def release(self, job_id: str) -> Job:
        """Cancel a job for one of its clients: the job continues while other clients await it.

        Errors: E-REQUEST-UNKNOWN.
        """
        with self.changed:
            is_last = self.interests.released(job_id)
        return self.cancel(job_id) if is_last else self.find(job_id)

    def follow(self, job_id: str, *, again: bool) -> bool:
        """Count a new event stream of a job; return False if too many streams are open.

        `again` marks the reconnection of a client.
        """
        if not self.streams.acquire(blocking=False):
            return False
        with self.changed:
            self.interests.opened(job_id, again=again)
        return True

    def unfollow(self, job_id: str) -> None:
        """Count the end of an event stream."""
        self.streams.release()
        with self.changed:
            self.interests.closed(job_id)

    def beside(self, job_id: str) -> list[Job]:
        """Return the stored jobs that have examined this job's result, newest first.

        This includes the jobs about an equal earlier job, because equal requests have equal
        results.
        """
        with self.changed:
            asked = {i: job.request for i, job in self.jobs.items()}
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        for folder in folders:  # jobs of earlier or other servers
            if is_id(folder.name) and folder.name not in asked:
                asked[folder.name] = request_in(folder)
        same = {i for i, request in asked.items() if i == job_id or request == asked.get(job_id)}
        about: list[Job] = []
        for i, request in asked.items():
            if request.get("job") in same:
                with contextlib.suppress(CompileError):  # another process may have removed the job
                    about.append(self.find(i))
        done = [job for job in about if job.state == "succeeded"]
        return sorted(done, key=lambda job: job.created_s, reverse=True)

    def cancel(self, job_id: str) -> Job:
        """Cancel a job unless it has finished. Errors: E-REQUEST-UNKNOWN."""
        job = self.find(job_id)
        with self.changed:
            if job.state == "queued" and job_id in self.waiting:
                self.waiting.remove(job_id)
                self._end(job, "cancelled")
                self._renumber()
            elif job_id in self.cancels:
                self.cancels[job_id].set()
                self.changed.wait_for(lambda: job.is_over, timeout=CANCEL_S)
            return job

    def events_after(self, job: Job, number: int, timeout_s: float) -> tuple[Sequence[Event], bool]:
        """Return the events after `number`, and whether the stream ends with them.

        If there are none, wait at most `timeout_s` for an event, the job's end or the server's
        stop.
        """
        with self.changed:
            self.changed.wait_for(
                lambda: len(job.events) > number or job.is_over or self.is_stopping, timeout_s
            )
            return tuple(job.events[number:]), job.is_over or self.is_stopping

    def has_ended(self, job: Job, number: int) -> bool:
        """Return whether the job has ended without events after `number`."""
        with self.changed:
            return job.is_over and number >= len(job.events)

    def warm_up(self) -> None:
        """Import the compiler and test the sandbox in advance, so that the first job starts at
        once."""
        self.runner.isolation.begin_self_test()
        self.runner.fork_server.warm_up()

    def stop(self) -> None:
        """Cancel all jobs and end the child processes, when the server or a test ends."""
        self.stopped.set()
        with self.changed:
            self.is_stopping = True
            self.waiting.clear()
            for cancel in self.cancels.values():
                cancel.set()
            self.changed.notify_all()
        for thread in self.threads:
            thread.join(timeout=10.0)
        self._write_ends()
        self.runner.fork_server.stop()

    # Methods that the threads of the queue call.

    def _make(self, request: Mapping[str, Any], model_name: str) -> Job:
        job_id = new_id()
        folder = self.folder / job_id
        folder.mkdir(parents=True, mode=0o700)
        job = Job(job_id, folder, request, model_name, form=form())
        try:
            job.save()
        except OSError:  # a full disk: the client gets an error, and no half job stays
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return job

    def _renumber(self) -> None:
        """Record an event for each waiting job whose position in the queue has changed."""
        waits = self._waits()
        for position, job_id in enumerate(self.waiting, 1):
            job = self.jobs[job_id]
            if job.position != position:
                job.position, job.wait_s = position, waits[job_id]
                with contextlib.suppress(OSError):  # after a restart, no position is shown
                    job.add("queued", {"position": position, "wait_s": job.wait_s})

    def _waits(self) -> dict[str, float | None]:
        """Return the estimated waiting time of each queued job in seconds."""
        running = [
            (str(job.request["kind"]), job.seconds)
            for job in (self.jobs[i] for i in self.cancels)
            if job.state == "running"
        ]
        kinds = [str(self.jobs[i].request["kind"]) for i in self.waiting]
        waits = self.durations.waits(running, kinds, self.settings.n_workers)
        return dict(zip(self.waiting, waits, strict=True))

    def _start_threads(self) -> None:
        while len(self.threads) < self.settings.n_workers:
            name = f"jobs-{len(self.threads)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            self.threads.append(thread)
            thread.start()
        if self.watcher is None:
            self.watcher = threading.Thread(target=self._watch, name="jobs-left", daemon=True)
            self.watcher.start()

    def _watch(self) -> None:
        """Cancel the jobs that all clients have left."""
        after_s = self.settings.abandoned_after_s
        while not self.stopped.wait(min(1.0, after_s / 4)):
            with self.changed:
                left = self.interests.abandoned(after_s)
            for job_id in left:
                log.info("job %s is cancelled: its clients have left", job_id)
                self.cancel(job_id)

    def _work(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: bool(self.waiting) or self.is_stopping)
                if self.is_stopping:
                    return
                job = self.jobs[self.waiting.popleft()]
                job.state, job.position, job.wait_s = "running", 0, None
                job.started_s = time.time()
            self._run(job)
            with contextlib.suppress(OSError):
                self.prune()

    def _run(self, job: Job) -> None:
        cancelled = self.cancels[job.id]
        error = self._failure(job, cancelled)
        with self.changed:
            if error is not None:
                log.info("job %s failed: %s", job.id, error.code)
                self._end(job, "failed", error)
            else:
                self._end(job, "cancelled" if cancelled.is_set() else "succeeded")
        with contextlib.suppress(OSError):  # logged by `_end`
            job.sync()

    def _failure(self, job: Job, cancelled: threading.Event) -> CompileError | None:
        """Run a job to its end, and return its error if it fails."""
        try:
            with self.changed:
                job.save()
                job.add("started", {})
                self._renumber()
                self.changed.notify_all()
            private = self.private[job.id]
            self.runner.run(job, private, lambda *event: self._heard(job, *event), cancelled)
        except CompileError as e:
            return e
        except OSError as e:
            log.exception("job %s failed in the server", job.id)
            return full_disk(e) or _bug()
        except Exception:
            log.exception("job %s failed in the server", job.id)
            return _bug()
        return None

    def _end(self, job: Job, state: Any, error: CompileError | None = None) -> None:
        """End a job, even if a full disk prevents its storage."""
        try:
            job.end(state, error)
        except OSError:
            log.exception("job %s could not be written", job.id)
        if state == "succeeded":
            self.durations.add(str(job.request["kind"]), job.seconds)
        self.interests.ended(job.id)
        self.cancels.pop(job.id, None)
        self.private.pop(job.id, None)
        self.changed.notify_all()

    def _write_ends(self) -> None:
        """Write the ends of jobs that a full disk has refused."""
        with self.changed:
            for job in self.jobs.values():
                if job.is_end_unwritten:
                    with contextlib.suppress(OSError):
                        job.write_end()

    def _heard(self, job: Job, name: str, data: Mapping[str, Any]) -> None:
        """Handle a message of a child."""
        with self.changed:
            if name == "phase":
                job.phase = str(data.get("phase", ""))
            if name in ("imported", "pass"):
                job.n_stages = int(data["stage"]) + 1
            job.add(name, data)
            self.changed.notify_all()

    def needed(self) -> Needed:
        """Return the jobs and uploads that unfinished jobs need."""
        with self.changed:
            unfinished = {i: job.request for i, job in self.jobs.items() if not job.is_over}
        return self.stored.needed(unfinished)

    def prune(self) -> int:
        """Evict the jobs beyond the quota that no unfinished job needs, and return their number."""
        self._write_ends()
        items = self.stored.items(self.needed())
        gone = excess(items, quotas(self.settings)["jobs"], time.time())
        with self.changed:  # a request may have named a job meanwhile
            needed = self.needed()
            gone = [item for item in gone if item.path.name not in needed.jobs]
            for item in gone:
                self.jobs.pop(item.path.name, None)
        for item in gone:
            shutil.rmtree(item.path, ignore_errors=True)
        return len(gone)


def _bug() -> CompileError:
    return CompileError("E-SERVER-BUG", "the server failed to run the job")
