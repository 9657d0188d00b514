"""The measuring slot of the machine: one process of this program measures at a time."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import IO

from compiler.cache.directory import kept_directory
from compiler.cache.trust import make_folder, open_private

WAIT_S = 30.0
"""Maximum time in seconds to wait for another measurement; then both run at the same time."""
_LOOK_EVERY_S = 0.02


class MachineSlot:
    """The machine's measuring slot, a lock on a file of the user.

    The system releases the lock when the process ends. Without a writable folder, or on a file
    system without locks, every process has the slot.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def take(self) -> bool:
        """Take the slot without waiting; return False if another process has it."""
        if self._file is None:
            self._file = _open()
        return self._file is None or _is_locked(self._file)

    def give_back(self) -> None:
        """Release the slot; without effect if this process does not have it."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


@contextmanager
def machine_slot(wait_seconds: float = WAIT_S) -> Generator[bool]:
    """Hold the machine's measuring slot during the block.

    The block runs without the slot if another process holds it for longer than `wait_seconds`.
    Yields whether no other measurement of this user runs during the block.
    """
    slot = MachineSlot()
    end = monotonic() + wait_seconds
    try:
        while not (has_slot := slot.take()) and monotonic() < end:
            sleep(_LOOK_EVERY_S)
        yield has_slot
    finally:
        slot.give_back()


def _open() -> IO[bytes] | None:
    folder = kept_directory("measured")
    if folder is None:
        return None
    try:
        make_folder(folder)
        handle = open_private(folder / "measuring.lock", os.O_RDWR | os.O_CREAT)
        return os.fdopen(handle, "wb")
    except OSError:
        return None


def _is_locked(file: IO[bytes]) -> bool:
    """Lock the file until it is closed; return False if another process has locked it."""
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
