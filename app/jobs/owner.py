"""The identity of a supervisor, and the detection of its death by processes on the same machine."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import IO

from compiler.machine.name import machine_name

_FOLDER = "supervisors"


class OwnerLock:
    """A file that a supervisor keeps locked. The system releases the lock when the process ends.

    `name` is the name of the owner in leases.
    """

    def __init__(self, data_folder: Path, machine: str = "") -> None:
        token = secrets.token_hex(6)
        self.name = f"{machine or machine_name()}/{os.getpid()}/{token}"
        self.path = _path(data_folder, token)
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file: IO[bytes] | None = self.path.open("xb")
        with suppress(OSError):  # a file system without locks: leases end after their time
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        """Remove the file at the orderly end of the supervisor."""
        file, self._file = self._file, None
        if file is not None:
            self.path.unlink(missing_ok=True)
            file.close()


def is_dead(data_folder: Path, owner: str, machine: str, this_machine: str = "") -> bool:
    """Return whether the owner is known to be dead: it ran on this machine, and its lock is free.

    False if unknown.
    """
    if machine != (this_machine or machine_name()):
        return False
    try:
        with _path(data_folder, owner.rpartition("/")[2]).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:  # the lock is held, or there is no file
        return False


def remove_dead(data_folder: Path) -> None:
    """Remove the files of dead supervisors, whose leases have been taken away."""
    folder = data_folder / _FOLDER
    for path in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _path(data_folder: Path, token: str) -> Path:
    return data_folder / _FOLDER / f"{token}.lock"
