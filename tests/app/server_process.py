"""The server of `compilarium serve` as a separate process, with settings from its environment."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.app.conftest import PATIENCE_S, until

REPOSITORY = Path(__file__).resolve().parents[2]
SLEEPING_WORKER = "tests.app.sleeping_worker"
JOB = {"kind": "compile", "model": {"sample": "digits_mlp"}}


@dataclass(frozen=True, slots=True)
class Running:
    """A running server."""

    process: subprocess.Popen[str]
    port: int
    first_line: str
    log: Path

    @property
    def worker(self) -> int:
        """The process that answers requests."""
        return self._child(is_supervisor=False)

    @property
    def supervisor(self) -> int:
        """The process that runs jobs."""
        return self._child(is_supervisor=True)

    def _child(self, *, is_supervisor: bool) -> int:
        found: list[int] = []

        def is_unique() -> bool:
            children = children_of(self.process.pid)
            found[:] = [
                each
                for each in children
                if runs(each, "app.jobs.supervisor_process") is is_supervisor
            ]
            return len(found) == 1

        until(is_unique)
        return found[0]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return the status of an answer and its JSON content."""
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = self.connect()
        try:
            connection.request(method, path, sent, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@contextmanager
def running(folder: Path, arguments: Sequence[str] = (), **settings: Any) -> Generator[Running]:
    """Run a server with these settings until the block ends."""
    variables = {f"COMPILARIUM_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "compiler", "serve", "--port", "0"]
    log = folder / "server-log.txt"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*command, "--data-folder", str(folder / "data"), *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), **variables},
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            found = re.search(r"://[\w.\[\]:]+:(\d+)/", first)
            assert found, log.read_text()
            yield Running(process, int(found[1]), first, log)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


def runs(pid: int, module: str) -> bool:
    """Return whether a process runs this module as its program."""
    try:
        return module in Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:  # it has ended
        return False


def children_of(pid: int) -> list[int]:
    """Wait until a process has children, and return them."""
    children: list[int] = []

    def has_some() -> bool:
        of_threads = Path(f"/proc/{pid}/task").glob("*/children")
        children[:] = [int(each) for file in of_threads for each in file.read_text().split()]
        return bool(children)

    until(has_some)
    return children


def descendants_of(pid: int) -> set[int]:
    """Return all processes below a process, by the parents of all processes."""
    parents: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                stat = (each / "stat").read_text()
            except OSError:
                continue
            parents[int(each.name)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in {pid, *found}} - found:
        found |= more
    return found
