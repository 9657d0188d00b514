"""A child process for a single job: forked, monitored, and killed when it exceeds a limit.

The child answers on its standard output with JSON lines `{"event": name, "data": {...}}`. The child
leads its own process group, so no descendant survives the child. See worker.py for the code that
the child runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from app.jobs.fork_server import ForkServer
from app.jobs.measuring_slot import MeasuringSlot, Member
from compiler.errors import CompileError
from compiler.units import bytes_text

PIPE_LIMIT_BYTES = 16 * 1024 * 1024
_LINE_LIMIT_BYTES = 1024 * 1024
_TICK_S = 0.1
_LOOK_AT_FOLDER_EVERY_S = 0.5
_TAIL_BYTES = 4000
_ENDING_S = 30.0
"""Time limit in seconds for a child's exit after closing its pipe; ample on a busy machine."""

OnMessage = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child: seconds, bytes of address space, and bytes of output.

    The limit counts wall-clock seconds, except those in which the child was stopped or waited for
    the measurement of another job.
    """

    seconds: float
    memory_bytes: int
    output_bytes: int


class Child:
    """A worker process for a single job."""

    def __init__(self, fork_server: ForkServer, log_file: Path, slot: MeasuringSlot) -> None:
        self.log_file = log_file
        self.slot = slot
        self.process = fork_server.fork(log_file)

    def run(
        self,
        folder: Path,
        limits: Limits,
        on_message: OnMessage,
        cancelled: threading.Event,
    ) -> None:
        """Run the job in `folder` and forward the messages of the child until the child ends.

        Errors: the errors that the child reports; E-LIMIT-SECONDS, E-LIMIT-MEMORY, E-LIMIT-OUTPUT
        and E-LIMIT-CRASH, found by monitoring or by the child's exit status. If the job is
        cancelled, the function returns early, without an error.
        """
        try:
            with self.slot.member(self.process) as member:
                self._start(folder, limits)
                _Listener(self, member, folder, limits, on_message, cancelled).listen()
        finally:
            self.process.stop()

    def _start(self, folder: Path, limits: Limits) -> None:
        task = {
            "folder": str(folder),
            "seconds": limits.seconds,
            "memory_bytes": limits.memory_bytes,
            "output_bytes": limits.output_bytes,
        }
        try:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the child has died already: the listener finds the reason

    def last_words(self) -> str:
        """Return the last lines of the child's log."""
        with contextlib.suppress(OSError), self.log_file.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - _TAIL_BYTES))
            return log.read().decode("utf-8", "replace")
        return ""


class _Listener:
    """Reads the messages of a child until the child ends or exceeds a limit."""

    def __init__(
        self,
        child: Child,
        member: Member,
        folder: Path,
        limits: Limits,
        on_message: OnMessage,
        cancelled: threading.Event,
    ) -> None:
        self.slot, self.member = child.slot, member
        self.child, self.folder, self.limits = child, folder, limits
        self.on_message, self.cancelled = on_message, cancelled
        self.end_s = monotonic() + limits.seconds
        self.next_look_s = 0.0
        self.n_bytes = 0
        self.rest = b""
        self.doing = ""
        self.done = False

    def listen(self) -> None:
        pipe = self.child.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while not self.done and not self.cancelled.is_set():
                self._check_limits()
                if not selector.select(_TICK_S):
                    continue
                data = os.read(pipe.fileno(), 65536)
                if not data:
                    return self._ended()
                self._take(data)

    def _check_limits(self) -> None:
        self.slot.look()
        now = monotonic()
        if now > self.end_s + self.member.idle_seconds(now):
            raise seconds_limit(self.limits.seconds, self.doing)
        if now > self.next_look_s:
            self.next_look_s = now + _LOOK_AT_FOLDER_EVERY_S
            if folder_bytes(self.folder) > self.limits.output_bytes:
                raise output_limit(self.limits.output_bytes)

    def _take(self, data: bytes) -> None:
        self.n_bytes += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        if self.n_bytes > PIPE_LIMIT_BYTES or len(self.rest) > _LINE_LIMIT_BYTES:
            raise output_limit(PIPE_LIMIT_BYTES)
        for line in lines:
            self._message(line)

    def _message(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            name, data = message["event"], message["data"]
        except (ValueError, KeyError, TypeError):
            raise CompileError(
                "E-LIMIT-CRASH", f"the child process sent an invalid message: {line[:80]!r}"
            ) from None
        if name == "done":
            self.done = True
        elif name == "error":
            where = data.pop("where", {})
            raise rebuilt_error(data, where)
        elif name == "slot":
            take = self.slot.ask if data.get("wanted") else self.slot.give_back
            take(self.member)
        else:
            if name == "phase":
                self.doing = str(data.get("words", ""))
            self.on_message(name, data)

    def _ended(self) -> None:
        """Raise the error of a child that closed its pipe before the job was done."""
        code = self.child.process.wait(timeout_s=_ENDING_S)
        if code is None:
            raise CompileError(
                "E-LIMIT-CRASH", "the child process closed its pipe before the job was done"
            )
        words = self.child.last_words()
        if code == -signal.SIGXCPU:
            raise seconds_limit(self.limits.seconds, self.doing)
        if code == -signal.SIGXFSZ:
            raise output_limit(self.limits.output_bytes)
        if code == -signal.SIGKILL or any(w in words for w in _OUT_OF_MEMORY):
            raise memory_limit(self.limits.memory_bytes)
        raise CompileError(
            "E-LIMIT-CRASH",
            f"the child process ended with {_ending(code)} before the job was done",
            notes=[words.strip().splitlines()[-1][:200]] if words.strip() else [],
        )


# Messages of Python, C++ and LLVM when out of memory.
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "out of memory", "Cannot allocate memory")


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def rebuilt_error(data: Mapping[str, Any], where: Mapping[str, Any]) -> CompileError:
    """Rebuild an error that a child reported as JSON."""
    from compiler.errors import CODES, Where

    code = data.get("code", "")
    return CompileError(
        code if code in CODES else "E-LIMIT-CRASH",
        str(data.get("message", "")),
        where=Where(**where),
        notes=[str(n) for n in data.get("notes", ())],
        hint=str(data.get("hint", "")),
    )


def seconds_limit(seconds: float, doing: str = "") -> CompileError:
    """Return the error of a job that exceeded its time limit; `doing` is the job's last
    activity."""
    while_doing = f", while {doing}" if doing else ""
    return CompileError(
        "E-LIMIT-SECONDS", f"the job was stopped after its limit of {seconds:g} s{while_doing}"
    )


def memory_limit(n_bytes: int) -> CompileError:
    """Return the error of a job that exceeded its memory limit."""
    return CompileError(
        "E-LIMIT-MEMORY", f"the job needed more memory than its limit of {bytes_text(n_bytes)}"
    )


def output_limit(n_bytes: int) -> CompileError:
    """Return the error of a job that exceeded its output limit."""
    return CompileError(
        "E-LIMIT-OUTPUT", f"the job wrote more than its limit of {bytes_text(n_bytes)}"
    )


def folder_bytes(folder: Path) -> int:
    """Return the total size of a folder in bytes."""
    total = 0
    pending = [folder]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total
