"""Files on the server's disk: durable writes, and the error of a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from compiler.errors import CompileError

# Literals, because child processes import this module and need no SQLite.
_SQLITE_FULL = 13
_SQLITE_IOERR_WRITE = 778
"""SQLite reports an exceeded quota of the user as a failed write."""
_POSTGRESQL_DISK_FULL = "53100"

_POOL = ThreadPoolExecutor(32, "disk")
"""Threads that wait for the disk: file systems combine the commits of simultaneous waits."""


def full_disk(error: BaseException) -> CompileError | None:
    """Return the error for users if a disk, or a quota or limit of the server's user, is full.

    `error` comes from a file operation or from a database statement. Other errors give None.
    """
    if isinstance(error, OSError):
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return CompileError("E-UPLOAD-DISK", "the server's disk is full") if is_full else None
    statement = getattr(error, "orig", error)  # SQLAlchemy wraps the error of the driver
    is_full = getattr(statement, "sqlite_errorcode", None) in (_SQLITE_FULL, _SQLITE_IOERR_WRITE)
    is_full = is_full or getattr(statement, "sqlstate", None) == _POSTGRESQL_DISK_FULL
    return CompileError("E-UPLOAD-DISK", "the disk of the database is full") if is_full else None


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
