"""A connection to a Dask cluster, without knowledge of the table of jobs."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from app.config import Settings
from app.jobs.transport.scheduler import security_of
from app.jobs.transport.tasks import enlist, run_job

RESOURCE = "bench"
"""The resource of a worker that measures."""
_CONNECT_S = 5.0
_CLOSE_S = 2.0


@dataclass(frozen=True, slots=True)
class DaskWorker:
    """A worker as the scheduler describes it."""

    n_threads: int
    measures: bool


@dataclass(frozen=True, slots=True)
class Ticket:
    """A task that was sent. Dask forgets the task when no reference to its ticket remains."""

    future: Any

    @property
    def is_done(self) -> bool:
        """Whether the task has ended, or is lost."""
        return self.future.done()

    def answer(self) -> Any:
        """Return the result of a task that has ended; None if it is lost."""
        if self.future.status != "finished":
            return None
        with suppress(Exception):  # the worker with the result has just ended
            return self.future.result(timeout=_CLOSE_S)
        return None

    def failure(self) -> str:
        """Return why a task is lost."""
        if self.future.status != "error":
            return str(self.future.status)
        with suppress(Exception):
            return type(self.future.exception(timeout=_CLOSE_S)).__name__
        return "error"


@contextmanager
def event_loop() -> Generator[Any]:
    """Run an event loop for connections in a thread during the block.

    If Dask started a loop for each connection, a failure to connect would leave its thread behind.
    """
    from distributed.utils import LoopRunner

    runner = LoopRunner()
    runner.start()
    try:
        yield runner.loop
    finally:
        runner.stop()


class Cluster:
    """An open connection. Errors: OSError and others if the scheduler does not answer."""

    def __init__(self, settings: Settings, loop: Any) -> None:
        from distributed import Client

        self.client = Client(
            settings.scheduler,
            loop=loop,
            timeout=_CONNECT_S,
            security=security_of(settings),
            set_as_default=False,
            name="compilarium",
        )

    @property
    def is_connected(self) -> bool:
        """Whether the connection to the scheduler is up, as far as Dask knows."""
        return self.client.status == "running"

    def workers(self) -> Mapping[str, DaskWorker]:
        """Return the workers of the cluster by their addresses. Errors: ConnectionError."""
        found = self.client.scheduler_info(n_workers=-1).get("workers")
        if found is None or not self.is_connected:
            raise ConnectionError("the connection to the Dask scheduler is lost")
        return {
            address: DaskWorker(facts["nthreads"], facts.get("resources", {}).get(RESOURCE, 0) >= 1)
            for address, facts in found.items()
        }

    def enlist(self, address: str, form: str) -> Ticket:
        """Let a worker start its supervisor, ahead of other tasks."""
        return Ticket(
            self.client.submit(enlist, form, workers=[address], retries=0, pure=False, priority=10)
        )

    def send(
        self, job_id: str, attempt: int, addresses: Collection[str], *, measures: bool
    ) -> Ticket:
        """Let Dask start an attempt of a job on one of these workers.

        Dask does not repeat it: the table of jobs decides about repetitions. If two processes send
        the same attempt, then Dask sees one task.
        """
        return Ticket(
            self.client.submit(
                run_job,
                job_id,
                attempt,
                key=f"job-{job_id}-{attempt}",
                workers=sorted(addresses),
                resources={RESOURCE: 1} if measures else None,
                retries=0,
                pure=False,
            )
        )

    def close(self) -> None:
        """Close the connection; tasks that run continue."""
        with suppress(Exception):
            self.client.close(timeout=_CLOSE_S)
