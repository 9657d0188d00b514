"""Files on the server's disk: durable writes, and the error of a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from compiler.errors import CompileError

_POOL = ThreadPoolExecutor(32, "disk")
"""Threads that wait for the disk: file systems combine the commits of simultaneous waits."""


def full_disk(error: OSError) -> CompileError | None:
    """Return the error for users if the disk is full; None for other errors."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CompileError("E-UPLOAD-DISK", "the server's disk is full")
    return None


def begin_sync(path: Path) -> Future[None]:
    """Begin to write a file or folder to the disk, so that it survives a power cut."""
    return _POOL.submit(_sync, path)


def sync(paths: Iterable[Path]) -> None:
    """Wait until these files and folders are on the disk. Errors: OSError."""
    finish_sync([begin_sync(path) for path in paths])


def finish_sync(begun: Iterable[Future[None]]) -> None:
    """Wait for the end of these writes. Errors: OSError."""
    for each in begun:
        each.result()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
