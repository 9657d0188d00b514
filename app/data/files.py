"""The files of the data folder that cannot be made again: uploads, finished jobs, the database."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from app.metrics.folder import COUNTS
from app.store.copies import FOLDER as COPIES
from app.store.database import FILE_NAME

UPLOADS, JOBS = "uploads", "jobs"
OMITTED = frozenset({"logs", "models", COUNTS, "supervisors", COPIES})
"""Folders of the data folder that backups omit: logs, sample models with drawn weights, what
running servers and supervisors count and lock, and copies of the database from before migrations.
"""

_UPLOAD = r"uploads/[0-9a-f]{64}\.(?:onnx|json|pinned)"
_JOB = r"jobs/[0-9]{8}-[0-9a-f]{20}(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*){1,4}"
_NAME = re.compile(rf"{re.escape(FILE_NAME)}|{_UPLOAD}|{_JOB}")
_INCOMPLETE = ".partial"


def is_stored_name(name: str) -> bool:
    """Return whether a path in the data folder is one of a stored file, and so is safe to write."""
    return bool(_NAME.fullmatch(name)) and not name.endswith(_INCOMPLETE)


def uploads_of(folder: Path) -> Iterator[str]:
    """Yield the paths of the files of uploads, relative to the data folder."""
    names = sorted(os.listdir(folder / UPLOADS)) if (folder / UPLOADS).is_dir() else ()
    return (path for name in names if is_stored_name(path := f"{UPLOADS}/{name}"))


def files_below(folder: Path, path: str) -> Iterator[str]:
    """Yield the paths of all complete files of a job, relative to the data folder."""
    for root, _, names in os.walk(folder / path):
        for name in sorted(names):
            found = Path(root, name).relative_to(folder).as_posix()
            if is_stored_name(found):
                yield found
