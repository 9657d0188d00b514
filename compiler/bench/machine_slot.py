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


@contextmanager
def machine_slot(wait_seconds: float = WAIT_S) -> Generator[bool]:
    """Hold the machine's measuring slot during the block.

    The slot is a lock on a file of the user. The block runs without the slot if another process
    holds it for longer than `wait_seconds`, or if no folder is writable. Yields whether no other
    measurement of this user runs during the block.
    """
    file = _open()
    if file is None:
        yield True
        return
    with file:
        yield _locked(file, wait_seconds)


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


def _locked(file: IO[bytes], wait_seconds: float) -> bool:
    """Lock the file until it is closed; return whether the lock was granted in time."""
    if os.name != "posix":
        return True
    import fcntl

    end = monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if monotonic() >= end:
                return False
            sleep(_LOOK_EVERY_S)
        except OSError:
            return True  # a file system without locks
