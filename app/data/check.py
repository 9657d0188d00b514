"""The check of a data folder or of a backup: damaged and missing files, and orphans.

Reads every byte. A server may use the folder during the check: a file that the server removes is no
defect. An incomplete file is an orphan only if it is old.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from sqlalchemy.exc import SQLAlchemyError

from app.blob_store import blobs_of
from app.config import Settings
from app.data.backup import damaged_files
from app.data.files import OMITTED
from app.data.jobs import KnownJob, known_jobs
from app.data.manifest import MANIFEST, Manifest, Stored, digest
from app.jobs.parts import PARTS, decompress
from app.store import maintenance
from app.store.blobs.interface import Blob, Blobs
from app.store.database import FILE_NAME, Database, require_known, sqlite_url
from app.store.jobs.record import JOBS, is_id
from app.store.links import LinkStore
from app.uploads import UPLOADS, Upload, UploadStore, content_key, uploads_in
from compiler.errors import CompileError

_OLD_S = 3600.0

State = Literal["damaged", "missing", "orphan"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A file with a defect: damaged, missing, or an orphan that nothing refers to."""

    state: State
    path: str
    words: str


@dataclass(slots=True)
class Report:
    """The numbers and sizes in bytes of all data by kind, and the findings."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged or missing; orphans only take space."""
        return all(each.state == "orphan" for each in self.findings)

    def count(self, kind: str, n_bytes: int) -> None:
        """Count an item of a kind."""
        n, total = self.counts.get(kind, (0, 0))
        self.counts[kind] = n + 1, total + n_bytes


def check(settings: Settings) -> Report:
    """Check the data folder and its database. Errors: E-OPTION-VALUE if there is no such folder."""
    folder, report = settings.data_folder, Report()
    if not folder.is_dir():
        raise CompileError("E-OPTION-VALUE", f"there is no data folder {folder}")
    is_backup = (folder / MANIFEST).exists()
    if is_backup:
        settings = replace(settings, blob_store="")  # a backup has its own blobs
        report.findings += _against_manifest(folder)
    url = "" if is_backup else settings.database_url  # a backup has its own database, or none
    database = Database(url or sqlite_url(folder), migrates=False)
    damages = list(_database(database, report))
    report.findings += damages
    report.findings += _uploads(UploadStore.of(settings), report)
    is_unknown = bool(damages) or (is_backup and not database.exists())
    report.findings += _jobs(None if is_unknown else database, blobs_of(settings), report)
    if report.is_sound:
        report.findings += _links(settings, database, report)
    database.close()
    report.findings += _others(folder)
    return report


def _against_manifest(backup: Path) -> Iterator[Finding]:
    manifest = Manifest.read(backup)
    for path in damaged_files(backup, manifest.files):
        state: State = "damaged" if (backup / path).exists() else "missing"
        yield Finding(state, path, "differs from the manifest of the backup")


def _database(database: Database, report: Report) -> Iterator[Finding]:
    file = maintenance.database_file(database)
    if file is None:
        yield from _server(database, report)
        return
    if not file.exists():
        return
    report.count("database", file.stat().st_size)
    for words in maintenance.integrity_check(file):
        yield Finding("damaged", file.name, words)
        return
    try:
        require_known(maintenance.file_revision(file), "it")
    except (CompileError, sqlite3.Error) as e:
        yield Finding("damaged", file.name, e.message if isinstance(e, CompileError) else str(e))


def _server(database: Database, report: Report) -> Iterator[Finding]:
    try:
        revision, n_bytes, damages = maintenance.server_facts(database)
        require_known(revision, "it")
    except SQLAlchemyError as e:
        damages = [f"it cannot be read: {type(e).__name__}"]
    except CompileError as e:
        damages = [e.message]
    else:
        report.count("database", n_bytes)
    for words in damages:
        yield Finding("damaged", "the PostgreSQL database", words)


def _uploads(store: UploadStore, report: Report) -> Iterator[Finding]:
    blobs = sorted(store.blobs.below(UPLOADS), key=lambda blob: blob.key)
    contents = {each.key for each in blobs if each.key.endswith(".onnx")}
    for blob in blobs:
        path = PurePosixPath(blob.key)
        if blob.key in contents:
            report.count("uploads", blob.n_bytes)
            yield from _upload(store, blob.key)
        elif path.suffix in (".json", ".pinned") and str(path.with_suffix(".onnx")) in contents:
            continue
        elif _is_old(blob.used_s):
            yield Finding("orphan", blob.key, "belongs to no upload")


def _upload(store: UploadStore, key: str) -> Iterator[Finding]:
    try:
        stored = _digest(store.blobs, key)
        facts = store.find(PurePosixPath(key).stem)
        wanted = Upload.of(stored.sha256, facts.name, stored.bytes)
    except CompileError:
        if store.blobs.exists(key):
            yield Finding("damaged", key, "its name and size are not stored")
    except OSError as e:
        if store.blobs.exists(key):
            yield Finding("damaged", key, f"cannot be read: {e.strerror}")
    else:
        if wanted != facts:
            yield Finding("damaged", key, "its content does not have the digest of its id")


def _digest(blobs: Blobs, key: str) -> Stored:
    if blobs.is_folder:
        return digest(blobs.path(key))
    content = blobs.get(key)
    return Stored(len(content), hashlib.sha256(content).hexdigest())


def _jobs(database: Database | None, blobs: Blobs, report: Report) -> Iterator[Finding]:
    """Check the results of jobs; without a database, every prefix may belong to a job."""
    folder = blobs.path(JOBS)
    jobs = known_jobs(database, folder) if database is not None else None
    stored = blobs.children(JOBS)
    for job_id in sorted(stored):
        found = list(blobs.below(f"{JOBS}/{job_id}"))
        if not is_id(job_id) or (jobs is not None and job_id not in jobs):
            if _is_old(_changed_s(blobs, f"{JOBS}/{job_id}", found)):
                yield Finding("orphan", f"{JOBS}/{job_id}", "is no job")
            continue
        report.count("jobs", sum(each.n_bytes for each in found))
        yield from _parts(blobs, found)
    lost = [each for each in (jobs or {}).values() if _has_lost_results(each, blobs, stored)]
    still = known_jobs(database, folder) if database is not None and lost else {}
    for job in lost:
        if job.id in still:  # else it was evicted meanwhile
            yield Finding("missing", f"{JOBS}/{job.id}", "the database has this job")


def _changed_s(blobs: Blobs, key: str, found: Sequence[Blob]) -> float:
    """Return the time of the last change of a job; it may be an empty folder."""
    if blobs.is_folder:
        with suppress(OSError):
            return blobs.path(key).stat().st_mtime
        return time.time()
    return max((each.used_s for each in found), default=time.time())


def _has_lost_results(job: KnownJob, blobs: Blobs, stored: Collection[str]) -> bool:
    if job.state != "succeeded":
        return False
    return not job.results(blobs.path(JOBS)).is_dir() if blobs.is_folder else job.id not in stored


def _parts(blobs: Blobs, found: Iterable[Blob]) -> Iterator[Finding]:
    for blob in sorted(found, key=lambda blob: blob.key):
        path = PurePosixPath(blob.key)
        if path.parent.name != PARTS:
            continue
        if path.suffix == ".gz" and not _is_whole(blobs, blob.key):
            yield Finding("damaged", blob.key, "cannot be decompressed")
        elif path.suffix != ".gz" and _is_old(blob.used_s):
            yield Finding("orphan", blob.key, "is incomplete")


def _is_whole(blobs: Blobs, key: str) -> bool:
    try:
        json.loads(decompress(blobs.get(key)))
    except FileNotFoundError:  # evicted meanwhile
        return True
    except (OSError, ValueError, RecursionError, CompileError):
        return False
    return True


def _links(settings: Settings, database: Database, report: Report) -> Iterator[Finding]:
    """Yield the models that are named by links, but are not stored."""
    file = maintenance.database_file(database)
    if file is None:
        with database.looking() as connection:
            if not maintenance.has_table(connection, "links"):
                return
        texts = LinkStore(database, settings.links_limit, settings.links_bytes).texts()
    else:  # must change nothing, neither tables nor the kind of the journal
        texts = maintenance.texts_of_links(file)
    named: set[str] = set()
    for text in texts:
        named |= uploads_in(text)
    blobs = blobs_of(settings)
    for each in sorted(named):
        if not blobs.exists(content_key(each)):
            yield Finding("missing", f"{UPLOADS}/{each}.onnx", "a link has this model")


def _others(folder: Path) -> Iterator[Finding]:
    known = {UPLOADS, JOBS, MANIFEST, *OMITTED}
    for path in sorted(folder.iterdir()):
        if path.name not in known and not path.name.startswith(FILE_NAME):
            yield Finding("orphan", path.name, "does not belong to this program")


def _is_old(changed_s: float) -> bool:
    return time.time() - changed_s > _OLD_S
