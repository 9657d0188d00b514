"""Access to the results of jobs: in the folder of the job, or in the blob store.

With a network blob store, the folder of an attempt on this machine is one of these:

    the attempt runs here, or ran here   the file OWN exists; the folder has all results so far
    another machine                      the folder has copies, made after the end of the job;
                                         of all its parts if the file COMPLETE exists
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from app.jobs.parts import PARTS, Parts, part_file
from app.quotas import Item, Quota, excess, tree_bytes
from app.store.blobs.interface import Blobs
from app.store.jobs.record import JOBS, Job, is_id
from app.uploads import UPLOADS
from compiler.errors import CompileError

OWN, COMPLETE = ".own", ".complete"
_N_FETCHES = 16
_IN_USE_S = 3600.0
"""A copy that was used within this time in seconds may be an input of a running job."""
_DEAD_S = 86_400.0
"""The folder of an attempt whose supervisor died is removed after this time in seconds."""


def parts_of(blobs: Blobs, job: Job) -> Parts:
    """Return the parts of a job's result."""
    return Parts(job.folder) if blobs.is_folder else StoredParts(blobs, job)


def file_of(blobs: Blobs, job: Job, name: str) -> Path:
    """Return a result file of a job that has ended. Errors: E-RESULT-ABSENT."""
    try:
        own = job.folder / name
        return own if _is_own(job.folder) and own.is_file() else blobs.file(f"{job.key}/{name}")
    except FileNotFoundError:
        raise CompileError("E-RESULT-ABSENT", f"the job {job.id} has no {name}") from None


def folder_for(blobs: Blobs, job: Job, at: Path) -> Path:
    """Return a folder of this machine with the parts of a job that another job examines.

    The parts of a job that still runs on another machine are copied to `at`. Errors: OSError.
    """
    if blobs.is_folder or _is_own(job.folder):
        return job.folder
    folder = job.folder if job.is_over else at
    if not (folder / COMPLETE).is_file():
        _fetch_parts(blobs, job, folder)
        if job.is_over:
            (folder / COMPLETE).touch(mode=0o600)
    with suppress(OSError):
        os.utime(folder)
    return folder


def _fetch_parts(blobs: Blobs, job: Job, folder: Path) -> None:
    (folder / PARTS).mkdir(parents=True, exist_ok=True, mode=0o700)
    start = len(job.key) + 1
    keys = [each.key for each in blobs.below(f"{job.key}/{PARTS}")]
    with ThreadPoolExecutor(_N_FETCHES) as pool:
        list(pool.map(lambda key: blobs.fetch(key, folder / key[start:]), keys))


class StoredParts(Parts):
    """The parts of a job in a network blob store. Errors of its methods: OSError."""

    def __init__(self, blobs: Blobs, job: Job) -> None:
        super().__init__(job.folder)
        self.blobs, self.job = blobs, job

    def has(self, name: str) -> bool:
        """Return whether the part has been stored."""
        if super().has(name):
            return True
        if _is_own(self.folder):
            return False
        if not self.job.is_over:
            return self.blobs.exists(self._key(name))
        try:
            return self.blobs.file(self._key(name)).is_file()
        except FileNotFoundError:
            return False

    def read_compressed(self, name: str) -> bytes:
        """Return the compressed content of a part. Errors: E-RESULT-ABSENT."""
        if self.has(name) and not super().has(name):
            with suppress(FileNotFoundError):
                return self.blobs.get(self._key(name))
        return super().read_compressed(name)

    def _key(self, name: str) -> str:
        path = part_file(self.folder, name)
        return f"{self.job.key}/{path.relative_to(self.folder).as_posix()}"


def _is_own(folder: Path) -> bool:
    return (folder / OWN).exists()


def prune_copies(folder: Path, limit_bytes: int) -> int:
    """Remove the oldest copies of a data folder beyond this total size, and return their number."""
    gone = excess(_copies(folder), Quota(limit_bytes), time.time())
    for item in gone:
        path = Path(item.path)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):  # the folder of other attempts stays
                path.parent.rmdir()
        else:
            path.unlink(missing_ok=True)
    return len(gone)


def _copies(folder: Path) -> Iterator[Item]:
    now_s = time.time()
    uploads = (folder / UPLOADS).glob("*.onnx")
    attempts = (path for path in (folder / JOBS).glob("*/*") if is_id(path.parent.name))
    for path in (*uploads, *attempts):
        with suppress(OSError):
            times = [each.stat().st_mtime for each in (path, path / PARTS) if each.exists()]
            spared_s = _DEAD_S if _is_own(path) else _IN_USE_S
            n_bytes = tree_bytes(path) if path.is_dir() else path.stat().st_size
            yield Item(path, max(times), n_bytes, now_s - max(times) < spared_s)
