"""Copies of a SQLite database from before its migrations: an older program can read them.

The newest copies are kept in a folder beside the database. A copy appears complete and on the disk.
"""

from __future__ import annotations

import filecmp
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from app.disk import full_disk, sync
from app.store.sqlite import BUSY_S
from compiler.errors import CompileError

FOLDER = "backups"
"""The folder of the copies, beside the database."""
N_KEPT = 3
_PARTIAL = ".partial"


def keep_copy(file: Path, revision: str) -> Path:
    """Copy a database, whose tables have this version, and return the copy.

    The caller must prevent other processes from writing. Errors: E-DATA-DAMAGED for a damaged
    database; E-UPLOAD-DISK for a full disk; E-OUTPUT-FILE.
    """
    folder = file.parent / FOLDER
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    target = folder / f"{file.stem}-{revision}-{time}{file.suffix}"
    partial = target.with_name(target.name + _PARTIAL)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for left in folder.glob(f"*{_PARTIAL}*"):  # of a process that was killed
            left.unlink()
        _copy(file, partial)
        if (same := _same(partial, f"{file.stem}-{revision}-")) is not None:
            return same
        sync([partial])
        os.replace(partial, target)
        sync([folder])
        for old in sorted(_copies(folder, f"{file.stem}-"), key=_age)[:-N_KEPT]:
            old.unlink()
        return target
    except (OSError, sqlite3.Error) as e:
        raise _refusal(e, file, folder) from e
    finally:
        for left in folder.glob(f"{partial.name}*"):
            left.unlink(missing_ok=True)


def _copy(file: Path, partial: Path) -> None:
    """Write a checked copy. Errors: OSError, sqlite3.Error, E-DATA-DAMAGED."""
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    address = f"{file.resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, timeout=BUSY_S, uri=True)) as source,
        closing(sqlite3.connect(partial, isolation_level=None)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # one file without a log
        found = [str(row[0]) for row in target.execute("PRAGMA quick_check(1)")]
    if found != ["ok"]:
        message = f"the database {file} is damaged, and is not migrated: {found[0]}"
        raise CompileError("E-DATA-DAMAGED", message)


def _same(partial: Path, start: str) -> Path | None:
    """Return an earlier copy with the same content: the same migration may have failed before."""
    copies = _copies(partial.parent, start)
    return next((each for each in copies if filecmp.cmp(each, partial, shallow=False)), None)


def _copies(folder: Path, start: str) -> Iterator[Path]:
    return (path for path in folder.glob(f"{start}*") if _PARTIAL not in path.name)


def _age(path: Path) -> tuple[int, str]:
    return path.stat().st_mtime_ns, path.name


def _refusal(error: BaseException, file: Path, folder: Path) -> CompileError:
    """Return the error of a copy that could not be written."""
    words = f"the database {file} is not migrated, since its copy in {folder} cannot be written"
    if full_disk(error):
        n_bytes = file.stat().st_size
        hint = f"free at least {2 * n_bytes:,} bytes there, and start again"
        return CompileError("E-UPLOAD-DISK", f"{words}: the disk is full", hint=hint)
    reason = getattr(error, "strerror", None) or str(error)
    return CompileError("E-OUTPUT-FILE", f"{words}: {reason}")
