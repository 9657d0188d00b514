"""The first way into a sandbox: a command as a new process."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence

from sandbox import landlock
from sandbox.availability import explain, facts
from sandbox.inside import CODE, READY
from sandbox.launch import launched
from sandbox.limits import Limits
from sandbox.result import Result
from sandbox.supervise import Stream, supervise
from sandbox.view import Inputs

_STATUS_BYTES = 64


def run(
    command: Sequence[str],
    limits: Limits | None = None,
    inputs: Inputs | None = None,
    *,
    stdin: bytes = b"",
    cancelled: threading.Event | None = None,
) -> Result:
    """Run a command in a new sandbox, and return its end and its output.

    The command starts in the empty folder /box. It may write only below /box and /dev/shm.
    Errors: SandboxError if the sandbox cannot be built; the command did not run then.
    """
    limits, inputs = limits or Limits(), inputs or Inputs()
    with contextlib.ExitStack() as stack:
        given = _given(stack, stdin)
        pipes = [_pipe(stack) for _ in range(3)]
        (stdout, stdout_end), (stderr, stderr_end), (status, status_end) = pipes
        started = launched(
            [*_launcher(status_end, limits), *command],
            limits,
            inputs,
            stdin=given,
            stdout=stdout_end,
            stderr=stderr_end,
            keep=(status_end,),
        )
        with started as sandbox:
            for end in (stdout_end, stderr_end, status_end):
                os.close(end)
            result = supervise(
                sandbox,
                Stream(stdout, limits.output_bytes),
                Stream(stderr, limits.output_bytes),
                limits,
                cancelled,
            )
        if result.state in ("exited", "signalled") and os.read(status, _STATUS_BYTES) != READY:
            raise explain(result.stderr.decode(errors="replace"), facts())
        return result


def _launcher(status: int, limits: Limits) -> list[str]:
    """Return the launcher inside the sandbox; it runs without the packages of the environment."""
    python = getattr(sys, "_base_executable", None) or sys.executable
    numbers = [f"{which}:{s}:{h}" for which, (s, h) in limits.resource_limits().items()]
    version = str(landlock.version())
    return [python, "-I", "-S", "-c", CODE, str(status), version, *numbers, "--"]


def _given(stack: contextlib.ExitStack, stdin: bytes) -> int:
    """Return a file with the standard input, which the sandbox cannot change."""
    file = os.memfd_create("stdin")
    stack.callback(os.close, file)
    with open(file, "wb", closefd=False) as writing:
        writing.write(stdin)
    reading = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, reading)
    return reading


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    stack.callback(os.close, reading)
    return reading, writing
