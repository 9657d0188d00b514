"""Reads what a child sends until the child ends or exceeds a limit."""

from __future__ import annotations

import os
import selectors
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

from app.jobs import student_code
from app.jobs.fork_server import Forked
from app.jobs.frames import WITH_BODY, Body, Frames
from app.jobs.inside import SCRATCH_BYTES
from app.jobs.limits import (
    ChildKilledError,
    Limits,
    invalid_message,
    memory_limit,
    scratch_limit,
    seconds_limit,
)
from app.jobs.measuring_slot import MeasuringSlot, Member
from app.jobs.messages import check_event
from app.jobs.result_store import ResultStore
from app.jobs.student_code import CodeRuns
from compiler.errors import CODES, CompileError, Where

_READ_BYTES = 256 * 1024
_LOG_BYTES = 64 * 1024
_ENDING_S = 30.0
"""Time limit in seconds for a child's exit after closing its pipe; ample on a busy machine."""

OnEvent = Callable[[str, Mapping[str, Any]], None]


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Supervision:
    """The supervision of a child: limits, the receivers of results and events, and requests to
    stop.

    `cancelled` ends the child at once; `is_stopped` asks it to end with its results so far.
    """

    limits: Limits
    store: ResultStore
    on_event: OnEvent
    cancelled: threading.Event
    is_stopped: Callable[[], bool] = _never
    runs_code: bool = False
    """Whether the child may ask for processes that run the code of an answer."""


class Listener:
    """Reads the messages of a child until the child ends or exceeds a limit."""

    def __init__(
        self, process: Forked, slot: MeasuringSlot, member: Member, how: Supervision
    ) -> None:
        self.process, self.slot, self.member, self.how = process, slot, member, how
        self.frames = Frames(self._line)
        self.code_runs = CodeRuns(member, how.cancelled)
        self.end_s = monotonic() + how.limits.seconds
        self.doing = ""
        self.log = b""
        self.is_told_to_stop = False

    def listen(self) -> None:
        """Read until the job is done or cancelled.

        Errors: those of `Child.run`; OSError if the results cannot be stored.
        """
        out, log = self.process.stdout, self.process.stderr
        try:
            with selectors.DefaultSelector() as selector:
                for pipe in (out, log):
                    selector.register(pipe, selectors.EVENT_READ)
                while not self.frames.is_ended and not self.how.cancelled.is_set():
                    self._look()
                    ready = [key.fileobj for key, _ in selector.select(self.slot.look_every_s)]
                    if log in ready and not self._read_log():
                        selector.unregister(log)
                    if out in ready and not self._read_messages():
                        return self._ended()
        finally:
            self.how.store.close()

    def _look(self) -> None:
        """Check the limits, the slot, and whether the job shall end early."""
        self.slot.look()
        now, seconds = monotonic(), self.how.limits.seconds
        if now > self.end_s + self.member.idle_seconds(now):
            raise seconds_limit(seconds, self.doing)
        exceeded = self.process.exceeded()
        if exceeded == "memory":
            raise memory_limit(self.how.limits.memory_bytes)
        if exceeded is not None:
            raise scratch_limit(SCRATCH_BYTES)
        if not self.is_told_to_stop and self.how.is_stopped():
            self.is_told_to_stop = True
            self.member.tell({"stop": True})

    def _read_messages(self) -> bool:
        """Read the next bytes; return False at the end of the pipe."""
        data = os.read(self.process.stdout.fileno(), _READ_BYTES)
        self.frames.take(data)
        return bool(data)

    def _read_log(self) -> bool:
        """Read the next bytes of the child's other output; return False at its end."""
        data = os.read(self.process.stderr.fileno(), _LOG_BYTES)
        self.log = (self.log + data)[-_LOG_BYTES:]
        return bool(data)

    def _line(self, event: str, data: dict[str, Any]) -> Body | None:
        """Handle an event; return the receiver of the bytes that follow."""
        if event in WITH_BODY:
            return self.how.store.receive(event, data)
        if event == "done":
            self.frames.end()
        elif event == "error":
            raise rebuilt_error(data)
        elif event == student_code.EVENT and self._may_run_code:
            return self.code_runs.receive(data)
        elif event == "slot" and data.get("wanted") is True:
            self.how.store.settle()
            self.slot.ask(self.member)
        elif event == "slot":
            self.slot.give_back(self.member)
        else:
            check_event(event, data)
            if event == "phase":
                self.doing = data["words"]
            self.how.on_event(event, data)
        return None

    @property
    def _may_run_code(self) -> bool:
        """Whether the child judges an answer, in a sandbox."""
        return self.how.runs_code and self.process.enclosure.holder is not None

    def _ended(self) -> None:
        """Raise the error of a child that closed its pipe before the job was done."""
        code = self.process.wait(timeout_s=_ENDING_S)
        if code is None:
            raise CompileError(
                "E-LIMIT-CRASH", "the child process closed its pipe before the job was done"
            )
        self._drain_log()
        words = self.log.decode("utf-8", "replace")
        limits = self.how.limits
        if code == -signal.SIGXCPU:
            raise seconds_limit(limits.seconds, self.doing)
        if code == -signal.SIGXFSZ:
            raise scratch_limit(SCRATCH_BYTES)
        is_memory = self.process.enclosure.ran_out_of_memory()
        if is_memory or any(w in words for w in _OUT_OF_MEMORY):
            raise memory_limit(limits.memory_bytes)
        if code == -signal.SIGKILL:
            raise ChildKilledError(memory_limit(limits.memory_bytes))
        error = CompileError(
            "E-LIMIT-CRASH",
            f"the child process ended with {_ending(code)} before the job was done",
            notes=[words.strip().splitlines()[-1][:200]] if words.strip() else [],
        )
        raise ChildKilledError(error) if code < 0 else error

    def _drain_log(self) -> None:
        """Read the rest of the log; a descendant of the child may still hold the pipe open."""
        os.set_blocking(self.process.stderr.fileno(), False)
        try:
            while self._read_log():
                pass
        except BlockingIOError:
            pass


# Messages of Python, C++ and LLVM when out of memory.
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "out of memory", "Cannot allocate memory")


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def rebuilt_error(data: Mapping[str, Any]) -> CompileError:
    """Rebuild an error that a child reported as JSON. Errors: E-LIMIT-CRASH if the data are no
    error."""
    code, place = data.get("code", ""), asdict(Where())
    try:
        given = {name: data.get("where", {}).get(name, default) for name, default in place.items()}
        if any(type(given[name]) is not type(default) for name, default in place.items()):
            raise TypeError
        return CompileError(
            code if code in CODES else "E-LIMIT-CRASH",
            str(data.get("message", "")),
            where=Where(**given),
            notes=[str(n) for n in data.get("notes", ())],
            hint=str(data.get("hint", "")),
        )
    except (TypeError, AttributeError):
        raise invalid_message(b"error") from None
