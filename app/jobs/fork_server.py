"""Where the children for jobs come from: one process that has all in memory, and forks.

To import the compiler takes most of a second of the processor, to fork a process that has done so
some milliseconds. Requests and answers are JSON lines on a socket, a request at a time:
`{"do": "fork"}` with three open files, `{"do": "ended", "pid": n}`, `{"do": "release", "pid": n}`.
See fork_server_process.py for the other side.
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
from pathlib import Path
from typing import Any, BinaryIO

from compiler.errors import CompileError

_LOOK_EVERY_S = 0.01


class ForkServer:
    """Forks of `python -m module`, which is started with the first of them, or by `warm_up`."""

    def __init__(self, module: str, log_folder: Path) -> None:
        self.module, self.log_folder = module, log_folder
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.door: Door | None = None

    def warm_up(self) -> None:
        """Have the process import everything, so that the first fork does not wait for it."""
        with self.lock:
            self._living()

    def fork(self, log_file: Path) -> Forked:
        """A process that waits for its job; what it says on the side goes into the log.

        Errors: E-SERVER-BUG when there can be none.
        """
        log_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.lock, log_file.open("wb") as log:
            try:
                try:
                    return Forked(self._living(), log)
                except ConnectionError:
                    self._end()  # it was killed since: a new one can do it
                    return Forked(self._living(), log)
            except OSError as e:
                message = f"no process can be started for the job: {e}"
                raise CompileError("E-SERVER-BUG", message) from None

    def stop(self) -> None:
        """End the process. What it has forked ends as it loses its standard input."""
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
        with theirs, (self.log_folder / "fork-server.txt").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module],
                stdin=theirs.fileno(),
                stdout=log,
                stderr=log,
                start_new_session=True,
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
    """The server's end of the socket."""

    def __init__(self, ours: socket.socket) -> None:
        self.socket = ours
        self.lock = threading.Lock()

    def ask(self, what: str, pid: int = 0, files: tuple[int, ...] = ()) -> Any:
        """What the other side answers.

        Errors: ConnectionError when nobody answers any more, else OSError with what failed there.
        """
        request = json.dumps({"do": what, "pid": pid}).encode() + b"\n"
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
            raise OSError(found["failed"])
        return found["answer"]

    def close(self) -> None:
        """Nobody asks any more."""
        self.socket.close()


class Forked:
    """A process of the fork server, leader of a group of its own, with pipes to and from it.

    Its number is nobody else's until it is released, also when it has ended.
    """

    def __init__(self, door: Door, log: BinaryIO) -> None:
        task_out, task_in = os.pipe()
        said_out, said_in = os.pipe()
        self.door = door
        self.stdin, self.stdout = os.fdopen(task_in, "wb"), os.fdopen(said_out, "rb")
        try:
            self.pid: int = door.ask("fork", files=(task_out, said_in, log.fileno()))
        except BaseException:
            self._close()
            raise
        finally:
            os.close(task_out)
            os.close(said_in)
        self.is_released = False

    def wait(self, timeout_s: float) -> int | None:
        """How it ended, a signal as a negative number; None if it has not within the time.

        Errors: E-LIMIT-CRASH when nobody knows.
        """
        end_s = time.monotonic() + timeout_s
        try:
            while (code := self.door.ask("ended", self.pid)) is None and time.monotonic() < end_s:
                time.sleep(_LOOK_EVERY_S)
        except OSError as e:
            raise CompileError("E-LIMIT-CRASH", f"the child process was lost: {e}") from None
        return code

    def stop(self) -> None:
        """Kill it and everything it started, and release what it held."""
        if not self.is_released:
            self.is_released = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                self.door.ask("release", self.pid)
        self._close()

    def _close(self) -> None:
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
