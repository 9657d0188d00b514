"""Cache of compressed report contents, because compression takes seconds.

The folder of each job contains the contents of the last report, and is deleted with the job.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import compiler
from app.report.page import Packed

_PREFIX = "report-"
_one_at_a_time = threading.Lock()
"""Building a report takes much memory, so only one report is built at a time."""


def packed_once(folder: Path, beside: Sequence[str], make: Callable[[], Packed]) -> Packed:
    """Return the compressed contents of a job's report, cached for the same related jobs.

    `beside` are the ids of the included related jobs. Errors: the errors of `make`.
    """
    key = hashlib.sha256("\0".join((compiler.__version__, *beside)).encode()).hexdigest()[:20]
    path = folder / f"{_PREFIX}{key}.json"
    with _one_at_a_time:
        with suppress(OSError, ValueError, TypeError):
            return Packed(**json.loads(path.read_text(encoding="utf-8")))
        made = make()
        with suppress(OSError):  # a full disk must not prevent a report
            _keep(path, made)
        return made


def _keep(path: Path, made: Packed) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(made)), encoding="utf-8")
    for old in path.parent.glob(f"{_PREFIX}*.json"):
        old.unlink(missing_ok=True)
    os.replace(partial, path)
