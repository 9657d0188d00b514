"""The result of a run in a sandbox, and the error of a sandbox that cannot be built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["exited", "signalled", "seconds", "memory", "files", "output", "cancelled"]
"""The end of a run: by itself with an exit code, by a signal, at a limit, or cancelled."""


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a run, and its output up to the limit.

    `code` is the exit code, or the number of the signal. `peak_bytes` is the largest memory of all
    processes together: counted by a cgroup, or by samples.
    """

    state: State
    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    peak_bytes: int

    @property
    def ok(self) -> bool:
        """Return whether the run ended by itself with the exit code 0."""
        return self.state == "exited" and self.code == 0


class SandboxError(Exception):
    """The sandbox cannot be built on this machine; `fix` is the exact remedy."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.fix = message, fix

    def __str__(self) -> str:
        """Return the message with the remedy."""
        return f"{self.message}\nhint: {self.fix}" if self.fix else self.message
