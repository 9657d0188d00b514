"""A Dask cluster of processes on this machine: a scheduler, and workers with one thread each.

All connections have TLS.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.app.conftest import PATIENCE_S, until
from tests.app.server_process import REPOSITORY, descendants_of
from tests.app.test_kills import start_time

CERTIFICATE, KEY = (
    Path(__file__).parent / "tls" / f"{name}.pem" for name in ("certificate", "key")
)
FILES = {
    "scheduler_authority": CERTIFICATE,
    "scheduler_certificate": CERTIFICATE,
    "scheduler_key": KEY,
}
"""The settings of a server that uses the cluster: its certificate is its own authority."""
_TLS = ("--tls-ca-file", str(CERTIFICATE), "--tls-cert", str(CERTIFICATE), "--tls-key", str(KEY))
_QUIET = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    "DASK_LOGGING__DISTRIBUTED": "error",
}


class DaskProcesses:
    """The processes of a cluster, which starts without any. `variables` are those of workers."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.folder, self.variables = folder, variables
        self.port = free_port()
        self.address = f"tls://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, n_workers: int, **variables: str) -> None:
        """Start what is missing: the scheduler, and workers up to this number."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            local = ("--host", "tls://127.0.0.1", "--port", str(self.port), "--no-dashboard")
            self.scheduler = self._started({}, "scheduler", *local)
        self.workers = [each for each in self.workers if each.poll() is None]
        place = ("--local-directory", str(self.folder / "dask"))
        alone = ("--no-nanny", "--no-dashboard", "--nthreads", "1", "--memory-limit", "0")
        while len(self.workers) < n_workers:
            options = (*place, *alone, "--resources", "bench=1")
            given = {**self.variables, **variables}
            self.workers.append(self._started(given, "worker", self.address, *options))

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        self.scheduler.kill()
        self.scheduler.wait(PATIENCE_S)

    def kill_worker(self, pid: int) -> None:
        """Kill a worker, and wait for the end of all processes below it."""
        (worker,) = (each for each in self.workers if each.pid == pid)
        below = {each: start_time(each) for each in descendants_of(pid)}
        worker.kill()
        worker.wait(PATIENCE_S)
        until(lambda: all(start_time(each) != since for each, since in below.items()))

    def end(self) -> None:
        """End the cluster; nothing may be left of it."""
        for worker in self.workers:
            if worker.poll() is None:
                self.kill_worker(worker.pid)
        if self.scheduler is not None:
            self.kill_scheduler()

    def log(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("dask-*.txt")))

    def _started(
        self, variables: Mapping[str, str], role: str, *arguments: str
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"dask-{role}.txt").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", role, *arguments, *_TLS],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY), **_QUIET, **variables},
                start_new_session=True,
            )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]
