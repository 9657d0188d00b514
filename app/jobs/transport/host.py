"""The supervisor inside the process of a Dask worker; the process has one.

It is the supervisor of `compilarium work`, but it takes only the jobs that Dask delivers. Its
settings come from the environment of the worker, so that no secret passes through Dask.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from contextlib import suppress
from typing import Any

from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from app.config import Settings
from app.configuration import DEFAULT, read_configuration
from app.jobs.supervisor import Supervisor
from app.jobs.supervisor_process import opened, supervisor_of
from app.jobs.transport.tasks import OWNER, PROBLEM, RAN, REFUSED
from app.wire import form as own_form
from compiler.errors import CompileError

log = logging.getLogger("compilarium.jobs")

_PLUGIN = "compilarium-jobs"
_lock = threading.Lock()
_supervisor: Supervisor | None = None


def enlist(form: str) -> dict[str, str]:
    """Return the name of this worker's supervisor, which starts at the first call."""
    try:
        if form != own_form():
            raise CompileError("E-OPTION-VALUE", "it has another version of the program")
        name = _started().owner.name
    except CompileError as e:
        return {PROBLEM: e.message}
    except Exception as e:
        log.exception("jobs cannot run here")
        return {PROBLEM: type(e).__name__}
    worker = get_worker()
    if _PLUGIN not in worker.plugins:
        worker.loop.add_callback(worker.plugin_add, _Plugin(), _PLUGIN)
    return {OWNER: name}


def run(job_id: str, attempt: int) -> str:
    """Run an attempt of a job to its end."""
    try:
        return RAN if _started().run_sent(job_id, attempt) else REFUSED
    except Exception as e:  # such as a database that is away
        log.exception("the job %s cannot be claimed", job_id)
        return type(e).__name__


def _started() -> Supervisor:
    global _supervisor
    with _lock:
        if _supervisor is None:
            settings = _settings()
            made = supervisor_of(settings, opened(settings), takes_next=False)
            made.start()
            made.runner.fork_server.warm_up()
            _supervisor = made
        return _supervisor


def _settings() -> Settings:
    """Return the settings of the environment. Errors: E-OPTION-VALUE if it names no server: the
    worker may belong to other programs."""
    found = read_configuration({}, os.environ)
    if all(found.sources[name] == DEFAULT for name in ("data_folder", "database_url")):
        message = "its environment has neither COMPILARIUM_DATABASE_URL nor COMPILARIUM_DATA_FOLDER"
        raise CompileError("E-OPTION-VALUE", message)
    return found.settings


def _stop() -> None:
    """Let the running job finish for a moment; then it returns to the queue."""
    with _lock:
        if _supervisor is not None and not _supervisor.stopping.is_set():
            _supervisor.stop(_supervisor.settings.stop_grace_s)
            with suppress(Exception):
                _supervisor.database.close()


class _Plugin(WorkerPlugin):
    """Ends the supervisor with the Dask worker."""

    async def teardown(self, worker: Any) -> None:
        """Return the running job to the queue, without blocking the worker's other work."""
        await asyncio.to_thread(_stop)
