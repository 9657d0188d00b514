"""The supervisor as a process of its own, and the keeper that restarts it.

`serve` starts `python -m app.jobs.supervisor_process`, and sends the settings as a line of JSON to
its standard input. The supervisor ends when this input ends, that is, when the server ends.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic

from app.blob_store import blobs_of
from app.config import Settings
from app.configuration import read_configuration
from app.jobs.runner import Runner
from app.jobs.supervisor import Supervisor
from app.jobs.transport.scheduler import SCHEDULER_FILES, require_scheduler
from app.logs import configure_logs
from app.store.database import Database, absolute
from app.store.jobs import reading
from app.store.jobs.record import JOBS, Job
from compiler.errors import CompileError

log = logging.getLogger("compilarium.jobs")

STOP_S = 30.0
"""Maximum time in seconds of an orderly end."""
_AGAIN_S = (0.2, 5.0)
"""The pause before a dead supervisor is restarted: the first, and the longest after repetitions."""
_LIVED_S = 3.0
_LOOK_S = 0.05


def work(settings: Settings, stopping: threading.Event) -> None:
    """Run a supervisor in this process until `stopping` is set, or send jobs to a Dask cluster.

    Errors: E-OPTION-VALUE if a package of the blob store is absent; those of `require_scheduler`.
    """
    require_scheduler(settings)
    database = opened(settings)
    (_send if settings.engine == "dask" else _supervise)(settings, database, stopping)
    database.close()


def opened(settings: Settings) -> Database:
    """Open the database of an installation, and check that its blob store can be used.

    Errors: E-OPTION-VALUE.
    """
    blobs_of(settings).require()
    database = Database(settings.used_database_url)
    database.prepare()
    return database


def _send(settings: Settings, database: Database, stopping: threading.Event) -> None:
    from app.jobs.transport.sender import Sender

    sender = Sender(database, settings)
    sender.start()
    stopping.wait()
    sender.stop()


def _supervise(settings: Settings, database: Database, stopping: threading.Event) -> None:
    supervisor = supervisor_of(settings, database)
    supervisor.start()
    supervisor.runner.fork_server.warm_up()
    stopping.wait()
    supervisor.stop(settings.stop_grace_s)


def supervisor_of(settings: Settings, database: Database, *, takes_next: bool = True) -> Supervisor:
    """Return a supervisor with a runner of its own, whose sandbox is being tested."""

    def find(job_id: str) -> Job:
        with database.looking() as connection:
            job = reading.find(connection, settings.stored_folder / JOBS, job_id)
        if job is None:
            raise CompileError("E-REQUEST-UNKNOWN", f"there is no job {job_id[:60]!r}")
        return job

    runner = Runner(settings, settings.data_folder / "logs", find)
    runner.isolation.begin_self_test()
    return Supervisor(database, settings, runner, takes_next=takes_next)


def set_at_signals(stopping: threading.Event) -> None:
    """Let SIGTERM and Ctrl+C set the event."""

    def stop(*_: object) -> None:
        # In a thread, because the signal may have interrupted the owner of the event's lock.
        threading.Thread(target=stopping.set).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


@contextmanager
def kept_supervisor(settings: Settings) -> Generator[Keeper]:
    """Run a supervisor process during the block. Only the process that entered the block stops the
    supervisor."""
    owner = os.getpid()
    keeper = Keeper(settings)
    keeper.start()
    try:
        yield keeper
    finally:
        if os.getpid() == owner:
            keeper.stop()


class Keeper:
    """Keeps a supervisor process running: restarts it when it dies, until `stop`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the process, and the thread that restarts it."""
        self.process = self._started()
        self._thread.start()

    def stop(self) -> None:
        """End the process in an orderly way, within `STOP_S` seconds."""
        self._stopping.set()
        self._thread.join(timeout=STOP_S + 5.0)

    def forget(self) -> None:
        """Close the input in a forked process, which would keep it open after the server's end."""
        self._close_input()

    def _keep(self) -> None:
        pause_s = _AGAIN_S[0]
        while True:
            start_s = monotonic()
            while self._lives() and not self._stopping.wait(_LOOK_S):
                pass
            if self._stopping.is_set():
                return self._end()
            lived_s = monotonic() - start_s
            pause_s = _AGAIN_S[0] if lived_s > _LIVED_S else min(2 * pause_s, _AGAIN_S[1])
            log.warning("the supervisor of jobs has died, and is restarted")
            self._close_input()
            if self._stopping.wait(pause_s):
                return
            try:
                self.process = self._started()
            except OSError as e:
                log.warning("the supervisor of jobs cannot be started: %s", e)

    def _lives(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def _end(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._close_input()

    def _close_input(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.jobs.supervisor_process"],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[2],
            start_new_session=True,  # Ctrl+C in a terminal concerns the server alone
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(to_line(self.settings))
            process.stdin.flush()
        return process


def to_line(settings: Settings) -> bytes:
    """Return settings as a line of JSON."""
    whole = replace(
        settings,
        data_folder=settings.data_folder.resolve(),
        blob_store=str(settings.stored_folder.resolve())
        if settings.blob_store and settings.has_folder
        else settings.blob_store,
        database_url=absolute(settings.database_url),
        **{name: _whole(getattr(settings, name)) for name in SCHEDULER_FILES},
    )
    return json.dumps(asdict(whole), default=str).encode() + b"\n"


def _whole(file: Path | None) -> Path | None:
    return file and file.resolve()


def from_line(line: bytes) -> Settings:
    """Rebuild settings from `to_line`."""
    return read_configuration(json.loads(line), environment={}).settings


def main() -> None:
    """Run the supervisor of a server, which sends the settings and keeps the input open."""
    settings = from_line(sys.stdin.buffer.readline())
    configure_logs(settings.log_format)
    stopping = threading.Event()
    set_at_signals(stopping)

    def await_end() -> None:
        while os.read(0, 4096):
            pass
        stopping.set()

    threading.Thread(target=await_end, name="server", daemon=True).start()
    try:
        work(settings, stopping)
    except CompileError as e:  # the worker of the server reports it to users
        log.error("jobs cannot run: %s", e.message)
        sys.exit(1)


if __name__ == "__main__":
    main()
