"""Checks texts of models and schedules while the user types, in a persistent child process.

Reading a text runs the compiler's type rules on untrusted input, so a separate process with limits
reads the text. Unlike a job, a check must answer quickly, so the child process persists.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from compiler.errors import CompileError

START_LIMIT_S = 30.0
"""Time limit in seconds for a new child process to start."""

WAITING_LIMIT_S = 10.0
"""Maximum time in seconds that a text waits for earlier texts."""

_N_TEXTS = 500
"""Number of texts per child process; this limit bounds the effect of memory leaks."""


class TextReader:
    """Reads one text at a time. Units: seconds, and bytes of address space."""

    def __init__(
        self, *, limit_s: float, memory_bytes: int, module: str = "app.written_child"
    ) -> None:
        self.limit_s, self.memory_bytes, self.module = limit_s, memory_bytes, module
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.n_texts = 0
        self.rest = b""

    def read(self, language: str, text: str) -> dict[str, Any]:
        """Check a text: return problems, values by line, and the graph's text form.

        Errors: E-LIMIT-QUEUE when too many texts wait, E-LIMIT-SECONDS and E-LIMIT-CRASH for a
        text that exceeds the limits.
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
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.process is None or self.process.poll() is not None or self.n_texts >= _N_TEXTS:
            self._start()
        assert self.process is not None
        assert self.process.stdin is not None
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
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, str(self.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=Path(__file__).resolve().parents[1],
        )
        self._line(START_LIMIT_S)  # the child reports that it is ready

    def _line(self, limit_s: float) -> bytes:
        """Read the next line from the child. Errors: E-LIMIT-SECONDS, E-LIMIT-CRASH."""
        assert self.process is not None
        assert self.process.stdout is not None
        pipe, end_s = self.process.stdout.fileno(), time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                if not selector.select(max(0.0, end_s - time.monotonic())):
                    self.stop()
                    message = f"checking the text was stopped after its limit of {limit_s:g} s"
                    raise CompileError("E-LIMIT-SECONDS", message, hint="shorten the text")
                data = os.read(pipe, 65536)
                if not data:
                    raise self._crash()
                self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def _crash(self) -> CompileError:
        self.stop()
        return CompileError("E-LIMIT-CRASH", "the process that checks texts ended early")
