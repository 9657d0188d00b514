"""Packed contents of reports that were made before: packing them anew for everyone costs seconds.

They lie in the folder of the job and go with it; one set for each job, that of its last report.
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
"""What a report is made of takes memory: so many of them at once are no more than one."""


def packed_once(folder: Path, beside: Sequence[str], make: Callable[[], Packed]) -> Packed:
    """The contents of the report of the job in a folder, made when no report had just them.

    `beside` are the ids of the jobs whose results are in it. Errors: what `make` raises.
    """
    key = hashlib.sha256("\0".join((compiler.__version__, *beside)).encode()).hexdigest()[:20]
    path = folder / f"{_PREFIX}{key}.json"
    with _one_at_a_time:
        with suppress(OSError, ValueError, TypeError):
            return Packed(**json.loads(path.read_text(encoding="utf-8")))
        made = make()
        with suppress(OSError):  # a full disk keeps nobody from a report
            _keep(path, made)
        return made


def _keep(path: Path, made: Packed) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(made)), encoding="utf-8")
    for old in path.parent.glob(f"{_PREFIX}*.json"):
        old.unlink(missing_ok=True)
    os.replace(partial, path)
