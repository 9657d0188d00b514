"""The check of a data folder or of a backup: damaged and missing files, and orphans.

Reads every byte. A server may use the folder meanwhile: files that it removes are no damages, and
incomplete files are orphans only if they are old.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sqlalchemy.exc import SQLAlchemyError

from app.config import Settings
from app.data.backup import damaged_files
from app.data.files import JOBS, OMITTED, UPLOADS
from app.data.jobs import KnownJob, known_jobs
from app.data.manifest import MANIFEST, Manifest, digest
from app.jobs.parts import PARTS, decompress
from app.quotas import tree_bytes
from app.store import maintenance
from app.store.database import FILE_NAME, Database, require_known, sqlite_url
from app.store.jobs.record import is_id
from app.store.links import LinkStore
from app.uploads import Upload, UploadStore, uploads_in
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
        report.findings += _against_manifest(folder)
    url = "" if is_backup else settings.database_url  # a backup has its own database, or none
    database = Database(url or sqlite_url(folder), migrates=False)
    damages = list(_database(database, report))
    report.findings += damages
    report.findings += _uploads(UploadStore.of(settings), report)
    is_unknown = bool(damages) or (is_backup and not database.exists())
    report.findings += _jobs(None if is_unknown else database, folder / JOBS, report)
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
    for path in sorted(store.folder.glob("*")):
        name = f"{UPLOADS}/{path.name}"
        if path.suffix == ".onnx":
            report.count("uploads", _size(path))
            yield from _upload(store, path, name)
        elif path.suffix in (".json", ".pinned") and path.with_suffix(".onnx").exists():
            continue
        elif _is_old(path):
            yield Finding("orphan", name, "belongs to no upload")


def _upload(store: UploadStore, path: Path, name: str) -> Iterator[Finding]:
    try:
        stored = digest(path)
        facts = store.find(path.stem)
        wanted = Upload.of(stored.sha256, facts.name, stored.bytes)
    except CompileError:
        if path.exists():
            yield Finding("damaged", name, "its name and size are not stored")
    except OSError as e:
        if path.exists():
            yield Finding("damaged", name, f"cannot be read: {e.strerror}")
    else:
        if wanted != facts:
            yield Finding("damaged", name, "its content does not have the digest of its id")


def _jobs(database: Database | None, folder: Path, report: Report) -> Iterator[Finding]:
    """Check the results of jobs; without a database, every folder may be of a job."""
    jobs = known_jobs(database, folder) if database is not None else None
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        name = f"{JOBS}/{path.name}"
        if not is_id(path.name) or (jobs is not None and path.name not in jobs):
            if _is_old(path):
                yield Finding("orphan", name, "is no job")
            continue
        report.count("jobs", tree_bytes(path))
        yield from _parts(path, name)
    lost = [job for job in (jobs or {}).values() if _has_lost_results(job, folder)]
    still = known_jobs(database, folder) if database is not None and lost else {}
    for job in lost:
        if job.id in still:  # else it was evicted meanwhile
            yield Finding("missing", f"{JOBS}/{job.id}", "the database has this job")


def _has_lost_results(job: KnownJob, folder: Path) -> bool:
    return job.state == "succeeded" and not job.results(folder).is_dir()


def _parts(folder: Path, name: str) -> Iterator[Finding]:
    for part in sorted(folder.rglob(f"{PARTS}/*")):
        path = f"{name}/{part.relative_to(folder).as_posix()}"
        if part.suffix == ".gz" and not _is_whole(part):
            yield Finding("damaged", path, "cannot be decompressed")
        elif part.suffix != ".gz" and _is_old(part):
            yield Finding("orphan", path, "is incomplete")


def _is_whole(part: Path) -> bool:
    try:
        json.loads(decompress(part.read_bytes()))
    except FileNotFoundError:  # evicted meanwhile
        return True
    except (OSError, ValueError, RecursionError, CompileError):
        return False
    return True


def _links(settings: Settings, database: Database, report: Report) -> Iterator[Finding]:
    """Yield the models that links name and that are not stored."""
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
    for each in sorted(named):
        if not (settings.data_folder / UPLOADS / f"{each}.onnx").is_file():
            yield Finding("missing", f"{UPLOADS}/{each}.onnx", "a link has this model")


def _others(folder: Path) -> Iterator[Finding]:
    known = {UPLOADS, JOBS, MANIFEST, *OMITTED}
    for path in sorted(folder.iterdir()):
        if path.name not in known and not path.name.startswith(FILE_NAME):
            yield Finding("orphan", path.name, "is not of this program")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _OLD_S
    except OSError:  # removed meanwhile
        return False
