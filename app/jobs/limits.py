"""The limits of a job's child, and the errors of a child that exceeds them."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from compiler.errors import CompileError
from compiler.units import bytes_text


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child: seconds, bytes of address space, and bytes of results.

    The limit counts wall-clock seconds, except those in which the child was stopped or waited for
    the measurement of another job.
    """

    seconds: float
    memory_bytes: int
    output_bytes: int


class ChildKilledError(CompileError):
    """The error of a child that a signal ended. The same task may succeed in another attempt."""

    def __init__(self, error: CompileError) -> None:
        super().__init__(
            error.code, error.message, where=error.where, notes=error.notes, hint=error.hint
        )


class ChildLostError(ChildKilledError):
    """The error of a child that ended with the fork server, which is no fault of the child."""


class ShortageError(ChildLostError):
    """The error of a job for which the machine lacks something now, such as descriptors.

    The attempt counts if the job may be the cause.
    """

    def __init__(self, error: CompileError, *, counts: bool) -> None:
        super().__init__(error)
        self.counts = counts


SHORTAGES = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS)
"""Errors of the system that no job causes, because a child has limits of its own."""


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


def scratch_limit(n_bytes: int) -> CompileError:
    """Return the error of a job that wrote too many temporary files."""
    return CompileError(
        "E-LIMIT-OUTPUT", f"the job's temporary files exceeded their limit of {bytes_text(n_bytes)}"
    )


def invalid_message(text: bytes) -> CompileError:
    """Return the error of a child that sent a message of a wrong form."""
    return CompileError(
        "E-LIMIT-CRASH", f"the child process sent an invalid message: {text[:80]!r}"
    )
