"""Checks texts of models and schedules while the user types, in a persistent child process.

Reading a text runs the compiler's type rules on untrusted input, so a process in a sandbox reads
the text. Unlike a job, a check must answer quickly, so the child process persists.
"""

from __future__ import annotations

import json
import os
import selectors
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from app.jobs.fork_server import READER, Forked
from app.jobs.runner import Runner
from compiler.errors import CompileError
from sandbox.limits import Limits

START_LIMIT_S = 30.0
"""Time limit in seconds for a new child process to start."""

WAITING_LIMIT_S = 10.0
"""Maximum time in seconds that a text waits for earlier texts."""

_N_TEXTS = 500
"""Number of texts per child process; this limit bounds the effect of memory leaks."""


class TextReader:
    """Reads one text at a time, in children of a runner. Units: seconds, and bytes of address
    space."""

    def __init__(self, runner: Runner, *, limit_s: float, memory_bytes: int) -> None:
        self.runner, self.limit_s = runner, limit_s
        self.limits = Limits(cpu_seconds=_N_TEXTS * limit_s, memory_bytes=memory_bytes)
        self.lock = threading.Lock()
        # A sandbox ends with the thread that created it.
        self.starter = ThreadPoolExecutor(1, "texts")
        self.process: Forked | None = None
        self.n_texts = 0
        self.rest = b""

    def read(self, language: str, text: str) -> dict[str, Any]:
        """Check a text: return problems, values by line, and the graph's text form.

        Errors: E-LIMIT-QUEUE when too many texts wait, E-LIMIT-SECONDS and E-LIMIT-CRASH for a
        text that exceeds the limits, E-SANDBOX-ABSENT.
        """
        return self.ask({"language": language, "text": text})

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Check a text; the request has the fields that its language needs. Errors: as for
        `read`."""
        if not self.lock.acquire(timeout=WAITING_LIMIT_S):
            raise CompileError("E-LIMIT-QUEUE", "too many texts are waiting to be checked")
        try:
            return self._asked(request)
        finally:
            self.lock.release()

    def stop(self) -> None:
        """End the child process if it is running."""
        process, self.process, self.rest = self.process, None, b""
        if process is not None:
            process.stop()

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.process is None or self.n_texts >= _N_TEXTS:
            self._start()
        assert self.process is not None
        self.n_texts += 1
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            return json.loads(self._line(self.limit_s))
        except BrokenPipeError:
            raise self._crash() from None
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self.stop()
        self.n_texts = 0
        self.process = self.starter.submit(self._forked).result()
        self._line(START_LIMIT_S)  # the child reports that it is ready

    def _forked(self) -> Forked:
        enclosure = self.runner.isolation.enclose_reader(self.limits)
        try:
            return self.runner.fork_server.fork(enclosure, READER)
        except BaseException:
            enclosure.close()
            raise

    def _line(self, limit_s: float) -> bytes:
        """Read the next line from the child. Errors: E-LIMIT-SECONDS, E-LIMIT-CRASH."""
        assert self.process is not None
        pipe, log = self.process.stdout.fileno(), self.process.stderr.fileno()
        end_s = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            for each in (pipe, log):
                selector.register(each, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                ready = [key.fd for key, _ in selector.select(max(0.0, end_s - time.monotonic()))]
                if log in ready and not os.read(log, 65536):
                    selector.unregister(log)
                if time.monotonic() >= end_s:
                    self.stop()
                    message = f"checking the text was stopped after its limit of {limit_s:g} s"
                    raise CompileError("E-LIMIT-SECONDS", message, hint="shorten the text")
                if pipe not in ready:
                    continue
                data = os.read(pipe, 65536)
                if not data:
                    raise self._crash()
                self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def _crash(self) -> CompileError:
        self.stop()
        return CompileError("E-LIMIT-CRASH", "the process that checks texts ended early")
