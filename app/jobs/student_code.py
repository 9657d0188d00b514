"""The code of answers to exercises: a judge in its sandbox asks the server to run it in another.

No sandbox can be built inside of a sandbox. So the child that judges sends the standard input of
the code's process with the event `code`, and the server runs this process in a new sandbox. The
judge reads what the process wrote, and the server only passes it on.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping
from typing import Any

from app.jobs.limits import invalid_message, output_limit
from app.jobs.measuring_slot import Member
from app.jobs.results import Results
from compiler.errors import CompileError
from course.judging.apart import ANSWER_LIMITS, Runs, in_new_sandbox
from sandbox.limits import Limits
from sandbox.result import Result, SandboxError

EVENT = "code"
INPUT_LIMIT_BYTES = 16 * 1024 * 1024
"""Maximum size of the standard input of a process."""
_MOST_RUNS = 40
"""Maximum number of processes for one answer."""

_replied = threading.Event()
_reply: dict[str, Any] = {}


# The side of the child that judges.


def heard(message: Mapping[str, Any]) -> None:
    """Handle a message of the server: the end of the process that was asked for."""
    if "ran" in message:
        _reply.update(message["ran"])
        _replied.set()


def on_server(results: Results) -> Runs:
    """Return a function that asks the server to run the code of an answer."""

    def runs(stdin: bytes, limits: Limits) -> Result:
        _replied.clear()
        _reply.clear()
        results.send(EVENT, {"bytes": len(stdin)}, stdin)
        _replied.wait()
        if "obstacle" in _reply:
            message = f"the code cannot be isolated: {_reply['obstacle']}"
            raise CompileError("E-SANDBOX-ABSENT", message, hint=_reply["fix"])
        stdout = base64.b64decode(_reply["stdout"])
        return Result(_reply["state"], _reply["code"], stdout, b"", _reply["seconds"], 0)

    return runs


# The side of the server.


class CodeRuns:
    """Receives the input of processes from one child, and runs them one after another."""

    def __init__(self, member: Member, cancelled: threading.Event) -> None:
        self.member, self.cancelled = member, cancelled
        self.n_runs = 0

    def receive(self, data: Mapping[str, Any]) -> CodeInput:
        """Return the receiver of an input. Errors: E-LIMIT-CRASH, E-LIMIT-OUTPUT."""
        n_bytes = data.get("bytes")
        self.n_runs += 1
        if data.keys() != {"bytes"} or type(n_bytes) is not int or n_bytes < 1:
            raise invalid_message(b"code")
        if n_bytes > INPUT_LIMIT_BYTES or self.n_runs > _MOST_RUNS:
            raise output_limit(INPUT_LIMIT_BYTES)
        return CodeInput(self, n_bytes)

    def run(self, stdin: bytes) -> None:
        """Run a process in a new sandbox, and tell the child its end."""
        try:
            done = in_new_sandbox(stdin, ANSWER_LIMITS, self.cancelled)
        except SandboxError as e:
            self.member.tell({"ran": {"obstacle": e.message, "fix": e.fix}})
            return
        told = {
            "state": done.state,
            "code": done.code,
            "seconds": done.seconds,
            "stdout": base64.b64encode(done.stdout).decode(),
        }
        self.member.tell({"ran": told})


class CodeInput:
    """The receiver of one input (frames.Body)."""

    def __init__(self, runs: CodeRuns, n_bytes: int) -> None:
        self.runs, self.n_left = runs, n_bytes
        self.pieces: list[bytes] = []

    def write(self, piece: memoryview) -> None:
        """Receive the next bytes."""
        self.pieces.append(bytes(piece))
        self.n_left -= len(piece)

    def finish(self) -> None:
        """Run the process."""
        self.runs.run(b"".join(self.pieces))
