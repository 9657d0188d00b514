"""The files of the data folder that cannot be recreated: uploads, finished jobs, the database."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.metrics.folder import COUNTS
from app.store.blobs.interface import Blobs
from app.store.copies import FOLDER as COPIES
from app.store.database import FILE_NAME
from app.store.jobs.record import JOBS
from app.uploads import UPLOADS

OMITTED = frozenset({"logs", "models", COUNTS, "supervisors", COPIES})
"""Folders that backups omit: logs, sample models with drawn weights, counters and locks of running
processes, and copies of the database from before migrations.
"""

_UPLOAD = r"uploads/[0-9a-f]{64}\.(?:onnx|json|pinned)"
_JOB = r"jobs/[0-9]{8}-[0-9a-f]{20}(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*){1,4}"
_NAME = re.compile(rf"{re.escape(FILE_NAME)}|{_UPLOAD}|{_JOB}")
_INCOMPLETE = ".partial"


def is_stored_name(name: str) -> bool:
    """Return whether a path is that of a stored file in the data folder, and so is safe to
    write."""
    return bool(_NAME.fullmatch(name)) and not name.endswith(_INCOMPLETE)


def keys_below(blobs: Blobs, prefix: str) -> Iterator[str]:
    """Yield the keys of all complete files of uploads or of a job: their paths in the data
    folder."""
    return filter(is_stored_name, sorted(each.key for each in blobs.below(prefix)))


def is_elsewhere(name: str) -> bool:
    """Return whether a stored file is a blob, which the settings may keep in another place."""
    return name.startswith((f"{UPLOADS}/", f"{JOBS}/"))
