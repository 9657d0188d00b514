"""Files on the server's disk: durable writes, and the error of a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from compiler.errors import CompileError


def full_disk(error: OSError) -> CompileError | None:
    """Return the error for users if the disk is full; None for other errors."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CompileError("E-UPLOAD-DISK", "the server's disk is full")
    return None


def sync(paths: Iterable[Path]) -> None:
    """Wait until these files and folders are on the disk, so that they survive a power cut.

    Errors: OSError.
    """
    for path in paths:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
