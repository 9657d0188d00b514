"""Runs the tasks of a job in child processes, and stores their results."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from app.blob_store import blobs_of
from app.config import Settings
from app.jobs.child import Child
from app.jobs.fork_server import ForkServer
from app.jobs.inputs import Places, TaskMaker
from app.jobs.isolation import Isolation
from app.jobs.kinds import KINDS
from app.jobs.limits import Limits
from app.jobs.listener import OnEvent, Supervision
from app.jobs.measuring_slot import MeasuringSlot
from app.jobs.outbox import Outbox
from app.jobs.preparations import Preparation, preparations
from app.jobs.result_store import ResultStore
from app.jobs.task import Task
from app.store.jobs.record import Job
from compiler.bench.machine_slot import MachineSlot
from compiler.errors import CompileError

log = logging.getLogger("compilarium.jobs")

_N_LOGS = 50


class Runner:
    """Runs jobs; `find` returns a job by its id.

    Without `runs_jobs`, its fork server only forks the processes that check texts.
    """

    def __init__(
        self,
        settings: Settings,
        logs: Path,
        find: Callable[[str], Job],
        *,
        runs_jobs: bool = True,
    ) -> None:
        self.logs = logs
        self.limits = Limits(
            settings.job_limit_s, settings.memory_limit_bytes, settings.output_limit_bytes
        )
        self.blobs = blobs_of(settings)
        self.maker = TaskMaker(Places.of(settings, find))
        self.fork_server = ForkServer(settings.worker_module, logs, runs_jobs=runs_jobs)
        self.slot = MeasuringSlot(machine=MachineSlot())
        self.isolation = Isolation(is_waived=settings.unsandboxed_local)
        self.numbers = itertools.count()

    def run(
        self,
        job: Job,
        on_event: OnEvent,
        cancelled: threading.Event,
        is_stopped: Callable[[], bool],
    ) -> None:
        """Run the preparations of a job and then the job; return early if it is cancelled.

        `is_stopped` tells whether the job shall end early with its results so far.
        The results of a job that succeeds are on the disk, or in the blob store. Errors: those of
        `Child.run`, and those of finding the inputs.
        """
        if self.blobs.is_folder:
            return self._run(job, None, on_event, cancelled, is_stopped)
        with Outbox(self.blobs, job.key, job.folder, on_event, cancelled) as outbox:
            self._run(job, outbox, outbox.tell, cancelled, is_stopped)

    def _run(
        self,
        job: Job,
        outbox: Outbox | None,
        on_event: OnEvent,
        cancelled: threading.Event,
        is_stopped: Callable[[], bool],
    ) -> None:
        for each in preparations(job, self.maker, self.limits):
            self._prepare(each, on_event, cancelled)
        if cancelled.is_set():
            return
        task = self.maker.task(job, job.private or {}, self.limits)
        kind = KINDS[job.request["kind"]]
        store = ResultStore(job.folder, self.limits.output_bytes, kind.files, outbox)
        how = Supervision(self.limits, store, on_event, cancelled, is_stopped, kind.runs_code)
        self._child(task, how)
        if not cancelled.is_set():
            store.sync(job.folder.parent, job.folder.parent.parent)

    def _prepare(self, each: Preparation, on_event: OnEvent, cancelled: threading.Event) -> None:
        if cancelled.is_set():
            return
        try:
            self._child(each.task, Supervision(each.task.limits, each.store, on_event, cancelled))
            if not cancelled.is_set():
                each.keep()
        except (CompileError, OSError) as e:
            if not each.is_optional:
                raise
            log.warning("%s: %s", each.task.request["kind"], e)

    def _child(self, task: Task, how: Supervision) -> None:
        log_file = self.logs / f"child-{next(self.numbers) % _N_LOGS}.txt"
        Child(task, self.isolation, self.fork_server, log_file, self.slot).run(how)
