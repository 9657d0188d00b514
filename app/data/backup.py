"""Backups of the data folder, while servers use it, and their restoration.

A backup or a restored data folder is created under a temporary name, and renamed when complete.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import compiler
from app.blob_store import blobs_of
from app.config import Settings
from app.data.files import is_elsewhere, keys_below
from app.data.jobs import KnownJob, known_jobs
from app.data.manifest import MANIFEST, Manifest, Stored, copy, digest
from app.disk import full_disk, sync
from app.store import maintenance
from app.store.blobs.interface import Blobs
from app.store.database import FILE_NAME, Database, require_known, sqlite_url
from app.store.jobs.record import JOBS
from app.uploads import UPLOADS
from compiler.errors import CompileError


def back_up(settings: Settings, target: Path, *, with_jobs: bool = True) -> Manifest:
    """Copy database and blobs into a new folder, and return the manifest of the backup.

    The database is copied before the uploads, so the backup has the models of all its links. The
    copy of the database has only jobs whose results are in the backup. A database other than SQLite
    is not part of the backup. Errors: E-OPTION-VALUE if the target exists, or there is no data
    folder; E-OUTPUT-FILE; E-DATA-DAMAGED for a damaged database.
    """
    folder, blobs = settings.data_folder, blobs_of(settings)
    if not folder.is_dir():
        raise CompileError("E-OPTION-VALUE", f"there is no data folder {folder}")
    if target.exists() or target.is_symlink():
        raise CompileError("E-OPTION-VALUE", f"{target} exists already", hint="name a new folder")
    with _appearing(target) as partial:
        database = _copied_database(settings, partial)
        files = _copied_uploads(blobs, partial)
        jobs: dict[str, Mapping[str, Stored]] = {}
        known = known_jobs(database, blobs.path(JOBS)) if with_jobs else {}
        database.close()
        for job in known.values():
            if job.is_over and (copied := _copied_job(blobs, partial, job)) is not None:
                jobs[job.id] = copied
                files |= copied
        revision = ""
        if (file := partial / FILE_NAME).exists():
            maintenance.keep_jobs(file, jobs)
            files[FILE_NAME] = digest(file)
            revision = maintenance.file_revision(file)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        manifest = Manifest(compiler.__version__, created, revision, files)
        (partial / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    return manifest


def _copied_database(settings: Settings, partial: Path) -> Database:
    """Copy a SQLite database, and return the copy; return any other database uncopied."""
    database = Database(settings.used_database_url, migrates=False)
    if maintenance.database_file(database) is None:
        return database
    if database.exists():
        maintenance.back_up(database, partial / FILE_NAME)
    return Database(sqlite_url(partial))


def _copied_uploads(blobs: Blobs, partial: Path) -> dict[str, Stored]:
    (partial / UPLOADS).mkdir(mode=0o700)
    files: dict[str, Stored] = {}
    for key in keys_below(blobs, UPLOADS):
        try:
            files[key] = _copied(blobs, key, partial / key)
        except FileNotFoundError:  # evicted meanwhile
            continue
    return files


def _copied_job(blobs: Blobs, partial: Path, job: KnownJob) -> dict[str, Stored] | None:
    """Copy the files of a finished job; None if the job was evicted meanwhile."""
    files: dict[str, Stored] = {}
    try:
        if job.state == "succeeded" and blobs.is_folder:
            job.results(blobs.path(JOBS)).stat()
        for key in keys_below(blobs, f"{JOBS}/{job.id}"):
            (partial / key).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            files[key] = _copied(blobs, key, partial / key)
    except FileNotFoundError:
        shutil.rmtree(partial / JOBS / job.id, ignore_errors=True)
        return None
    is_gone = job.state == "succeeded" and not blobs.is_folder and not files
    return None if is_gone else files


def _copied(blobs: Blobs, key: str, target: Path) -> Stored:
    if blobs.is_folder:
        return copy(blobs.path(key), target)
    blobs.fetch(key, target)
    return digest(target)


def restore(backup: Path, settings: Settings) -> Manifest:
    """Make the data folder from a backup, and return its manifest.

    Errors: E-OPTION-VALUE if the data folder or the blob store has data, or if the settings name a
    database that is not in the data folder; E-DATA-DAMAGED; E-DATA-NEWER; E-OUTPUT-FILE.
    """
    folder, blobs = settings.data_folder, blobs_of(settings)
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        message = f"the data folder {folder} exists and is not empty"
        raise CompileError("E-OPTION-VALUE", message, hint="move it away, or name a new folder")
    if blobs.children(UPLOADS) or blobs.children(JOBS):
        message = f"the blob store {settings.stored_place} is not empty"
        raise CompileError("E-OPTION-VALUE", message, hint="name another --blob-store")
    manifest = Manifest.read(backup)
    require_known(manifest.revision, f"the backup {backup}")
    if FILE_NAME in manifest.files and settings.database_url:
        message = "the backup has a SQLite database, and the settings name another database"
        raise CompileError("E-OPTION-VALUE", message, hint="unset COMPILARIUM_DATABASE_URL")
    with _appearing(folder) as partial:
        for path, stored in manifest.files.items():
            (partial / path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _restore(backup, partial, path, stored)
        damages = maintenance.integrity_check(partial / FILE_NAME)
        if damages:
            raise CompileError("E-DATA-DAMAGED", f"the database is damaged: {damages[0]}")
        if FILE_NAME in manifest.files:
            require_known(maintenance.file_revision(partial / FILE_NAME), f"the backup {backup}")
        if settings.blob_store:
            _move_blobs(partial, manifest, blobs)
    return manifest


def _move_blobs(partial: Path, manifest: Manifest, blobs: Blobs) -> None:
    """Move uploads and results from a restored folder into the blob store."""
    blobs.put_copies({key: partial / key for key in filter(is_elsewhere, manifest.files)})
    for name in (UPLOADS, JOBS):
        shutil.rmtree(partial / name, ignore_errors=True)


def _restore(backup: Path, partial: Path, path: str, stored: Stored) -> None:
    try:
        found = copy(backup / path, partial / path)
    except FileNotFoundError:
        raise CompileError("E-DATA-DAMAGED", f"the backup {backup} lacks {path}") from None
    if found != stored:
        raise CompileError("E-DATA-DAMAGED", f"{path} of the backup {backup} has changed")


def damaged_files(backup: Path, files: Mapping[str, Stored]) -> list[str]:
    """Return the paths of a backup's files that are missing, or differ from the manifest."""
    return [path for path, stored in files.items() if _digest(backup / path) != stored]


def _digest(path: Path) -> Stored | None:
    try:
        return digest(path)
    except OSError:
        return None


@contextmanager
def _appearing(target: Path) -> Generator[Path]:
    """Yield a new folder that gets its name when it is complete and on the disk.

    On an error the folder is removed. Errors: E-OUTPUT-FILE.
    """
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir(mode=0o700)
        yield partial
        sync([partial, *partial.rglob("*")])
        os.rename(partial, target)  # the target may be an empty folder
        sync([target.parent])
    except OSError as e:
        words = full_disk(e)
        message = f"{target}: {words.message if words else e.strerror or e}"
        raise CompileError("E-OUTPUT-FILE", message) from e
    finally:
        shutil.rmtree(partial, ignore_errors=True)
