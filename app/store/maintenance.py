"""Checks and copies of the database, for operators."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, inspect

from app.store.database import Database, revision_of
from app.store.jobs import reading
from app.store.jobs.record import State
from app.store.sqlite import BUSY_S
from compiler.errors import CompileError


def database_file(database: Database) -> Path | None:
    """Return the file of a SQLite database; None for another database, or one in memory."""
    if database.url.get_backend_name() != "sqlite":
        return None
    name = database.url.database
    return Path(name) if name and name != ":memory:" else None


def quick_check(file: Path) -> list[str]:
    """Return the defects that SQLite finds in a database file; [] for a sound file.

    A missing file is sound, since the server creates it at its first use.
    """
    return _check(file, "quick_check")


def integrity_check(file: Path) -> list[str]:
    """Return the defects of a database file, including its indexes; slower than `quick_check`."""
    return _check(file, "integrity_check")


def file_revision(file: Path) -> str:
    """Return the version of the tables in a SQLite file; "" if it has no tables.

    Errors: sqlite3.Error for a damaged file.
    """
    with closing(_reading(file)) as connection:
        if not _has_table(connection, "alembic_version"):
            return ""
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(row[0]) if row else ""


def server_facts(database: Database) -> tuple[str, int, list[str]]:
    """Return the version of the tables of a PostgreSQL database, its size in bytes, and defects.

    Errors: SQLAlchemyError if the server does not answer.
    """
    with database.looking() as connection:
        revision = revision_of(connection)
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar()
        lost = reading.with_lost_events(connection) if has_table(connection, "jobs") else []
    return revision, int(size or 0), [f"the job {job_id} lacks events" for job_id in lost]


def has_table(connection: Connection, name: str) -> bool:
    """Return whether a database has a table; those of older versions lack some."""
    return inspect(connection).has_table(name)


def texts_of_links(file: Path) -> Iterator[str]:
    """Yield the fragments and requests of all links in a SQLite file; the file is only read.

    Errors: sqlite3.Error for a damaged file.
    """
    if not file.exists():
        return
    with closing(_reading(file)) as connection:
        if _has_table(connection, "links"):
            for row in connection.execute("SELECT fragment, other FROM links"):
                yield from row


def jobs_in(file: Path) -> list[tuple[str, State, int]]:
    """Return id, state and latest attempt of all jobs in a SQLite file; the file is only read.

    Errors: sqlite3.Error for a damaged file.
    """
    if not file.exists():
        return []
    with closing(_reading(file)) as connection:
        if not _has_table(connection, "jobs"):
            return []
        return connection.execute("SELECT id, state, attempt FROM jobs").fetchall()


def keep_jobs(file: Path, job_ids: Collection[str]) -> None:
    """Remove all other jobs, and all supervisors, from a SQLite file that no server uses.

    Errors: OSError.
    """
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            if not _has_table(connection, "jobs"):
                return
            connection.execute("CREATE TEMP TABLE kept (id TEXT PRIMARY KEY)")
            connection.executemany("INSERT INTO kept VALUES (?)", [(each,) for each in job_ids])
            connection.execute("DELETE FROM jobs WHERE id NOT IN kept")
            connection.execute("DELETE FROM job_events WHERE job_id NOT IN kept")
            connection.execute("DELETE FROM supervisors")
            connection.execute("VACUUM")  # otherwise the removed rows stay in the file
    except sqlite3.Error as e:
        raise OSError(f"the copy {file} cannot be written: {e}") from e


def _reading(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", timeout=BUSY_S, uri=True)


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(found, (name,)).fetchone() is not None


def _check(file: Path, pragma: str) -> list[str]:
    if not file.exists():
        return []
    try:
        with closing(sqlite3.connect(file, timeout=BUSY_S)) as connection:
            rows = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}")]
    except sqlite3.Error as e:
        return [str(e)]
    return [] if rows == ["ok"] else rows


def back_up(database: Database, target: Path) -> None:
    """Copy a SQLite database into a new file, while servers use it.

    The copy is read in a single transaction. When this function returns, the copy is checked and on
    the disk. Errors: E-OPTION-VALUE if the file exists, or for another database; E-DATA-DAMAGED if
    the copy is damaged; OSError if the file cannot be written.
    """
    source = database_file(database)
    if source is None:
        backend = database.url.get_backend_name()
        message = f"the database is {backend}, and only SQLite databases are copied"
        raise CompileError("E-OPTION-VALUE", message, hint="use pg_dump for PostgreSQL")
    if target.exists():
        message = f"{target} exists already"
        raise CompileError("E-OPTION-VALUE", message, hint="name a new file")
    if not source.exists():
        _ = database.engine  # creates the database
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(source, timeout=BUSY_S, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", (str(partial),))
        damages = integrity_check(partial)
        if damages:
            raise CompileError("E-DATA-DAMAGED", f"the copy of {source} is damaged: {damages[0]}")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.link(partial, target)  # fails if another process has created the file
    except sqlite3.Error as e:
        raise OSError(f"the database {source} cannot be copied: {e}") from e
    finally:
        partial.unlink(missing_ok=True)
