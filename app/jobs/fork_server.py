"""Interface to the fork server, a process that has imported the compiler and forks on request.

Importing the compiler takes most of a second. Forking a process that has imported the compiler
takes a few milliseconds. Requests and answers are JSON lines on a socket, one request at a time:
`{"do": "fork", "role": ..., "ticket": ...}` with three pipes and the sandbox,
`{"do": "ended", "pid": n}`, `{"do": "release", "pid": n}`. See fork_server_process.py for
the code of the fork server.

The memory of a child contains no secrets. The fork server starts with a fixed environment, opens
only files of the program, and receives no data about jobs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.jobs.enclosure import NOTHING_CACHED, Enclosure
from app.jobs.limits import SHORTAGES, ChildLostError, ShortageError
from compiler.errors import CompileError
from sandbox.result import State

_LOOK_EVERY_S = 0.01
_PIPE_BYTES = 1024 * 1024
"""Size of the pipes, large enough that child and server rarely wait for each other."""


WORKER, READER = "worker", "reader"
"""The roles of children: a worker runs one task, a reader reads texts until its end."""

RUNS_JOBS = "runs-jobs"
"""The argument of a fork server whose children run jobs."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    **NOTHING_CACHED,
}
"""The whole environment of the fork server, and of its children outside a sandbox."""


class ForkServer:
    """Creates forks of a process `python -m module`, started at the first `fork` or `warm_up`.

    If the forks run jobs, the process first compiles some samples, which takes about a second.
    """

    def __init__(
        self,
        module: str,
        log_folder: Path,
        environment: Mapping[str, str] = ENVIRONMENT,
        *,
        runs_jobs: bool = True,
    ) -> None:
        self.module, self.log_folder = module, log_folder
        self.environment = environment
        self.arguments = (RUNS_JOBS,) if runs_jobs else ()
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.door: Door | None = None

    def warm_up(self) -> None:
        """Start the fork server and its imports, so that the first fork does not wait."""
        with self.lock:
            self._living()

    def fork(self, enclosure: Enclosure, role: str = WORKER) -> Forked:
        """Fork a process that waits in this enclosure: for a task, or for texts (`READER`).

        Errors: E-SERVER-BUG if no process can be started.
        """
        with self.lock:
            try:
                try:
                    return Forked(self._living(), enclosure, role)
                except ConnectionError:
                    self._end()  # the process was killed: start a new one
                    return Forked(self._living(), enclosure, role)
            except OSError as e:
                message = f"no process can be started for the job: {e}"
                error = CompileError("E-SERVER-BUG", message)
                raise ShortageError(error, counts=e.errno not in SHORTAGES) from None

    def stop(self) -> None:
        """End the process, and with it the processes that it has forked."""
        with self.lock:
            self._end()

    def _living(self) -> Door:
        if self.process is None or self.door is None or self.process.poll() is not None:
            self._end()
            self._start()
        assert self.door is not None
        return self.door

    def _start(self) -> None:
        self.log_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        ours, theirs = socket.socketpair()
        with theirs, (self.log_folder / "fork-server.txt").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, *self.arguments],
                stdin=theirs.fileno(),
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self.environment,
                cwd=Path(__file__).resolve().parents[2],
            )
        self.door = Door(ours)

    def _end(self) -> None:
        if self.door is not None:
            self.door.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = self.door = None


class Door:
    """The socket through which the server sends requests to the fork server."""

    def __init__(self, ours: socket.socket) -> None:
        self.socket = ours
        self.lock = threading.Lock()

    def ask(self, what: str, files: tuple[int, ...] = (), **facts: Any) -> Any:
        """Send a request and return the answer.

        Errors: ConnectionError if the fork server has ended, OSError if it reports a failure.
        """
        request = json.dumps({"do": what, **facts}).encode() + b"\n"
        with self.lock:
            if files:
                socket.send_fds(self.socket, [request], files)
            else:
                self.socket.sendall(request)
            answer = b""
            while not answer.endswith(b"\n"):
                piece = self.socket.recv(4096)
                if not piece:
                    raise ConnectionError("the process that starts jobs has ended")
                answer += piece
        found = json.loads(answer)
        if "failed" in found:
            raise OSError(found["number"], found["failed"])
        return found["answer"]

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


class Forked:
    """A forked process in its enclosure, leader of its own group, with pipes to and from it.

    Messages come on `stdout`, all other output on `stderr`. The process id is not reused before
    `stop`, even if the process has ended.
    """

    def __init__(self, door: Door, enclosure: Enclosure, role: str) -> None:
        task_out, task_in = _pipe()
        said_out, said_in = _pipe()
        log_out, log_in = os.pipe()
        self.door, self.enclosure = door, enclosure
        self.stdin, self.stdout = os.fdopen(task_in, "wb"), os.fdopen(said_out, "rb")
        self.stderr = os.fdopen(log_out, "rb")
        try:
            files = (task_out, said_in, log_in, *enclosure.files())
            self.pid: int = door.ask("fork", files, role=role, **enclosure.to_json())
        except BaseException:
            self._close()
            raise
        finally:
            for end in (task_out, said_in, log_in):
                os.close(end)
        self.is_released = False

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the process to end and return its exit status, negative for a signal.

        Returns None after a timeout. Errors: E-LIMIT-CRASH if the status is unknown.
        """
        end_s = time.monotonic() + timeout_s
        try:
            code = self.door.ask("ended", pid=self.pid)
            while code is None and time.monotonic() < end_s:
                time.sleep(_LOOK_EVERY_S)
                code = self.door.ask("ended", pid=self.pid)
        except OSError as e:
            lost = CompileError("E-LIMIT-CRASH", f"the child process was lost: {e}")
            raise ChildLostError(lost) from None
        return code

    def exceeded(self) -> State | None:
        """Return the limit of its sandbox that the process exceeds now, if any."""
        return self.enclosure.exceeded(self.pid)

    def stop(self) -> None:
        """Kill the process and its descendants, and release its resources."""
        if not self.is_released:
            self.is_released = True
            # The sandbox ends before the process that waits outside for the one inside.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGCONT)
            self.enclosure.close()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                self.door.ask("release", pid=self.pid)
        self._close()

    def _close(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                pipe.close()


def _pipe() -> tuple[int, int]:
    """Return the ends of a pipe of `_PIPE_BYTES`, if the system permits this size."""
    out, into = os.pipe()
    with contextlib.suppress(OSError, AttributeError):
        import fcntl

        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return out, into
