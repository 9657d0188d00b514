"""The settings of SQLite connections, chosen by the version of the library.

In the write-ahead log (WAL) of SQLite 3.7.0 to 3.51.2, two connections that write and checkpoint at
the same instant can corrupt the database. The fix was backported to 3.44.6 and 3.50.7. Affected
versions use a rollback journal.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal

from sqlalchemy import URL, Connection, Engine, ExceptionContext, NullPool, create_engine, event

from compiler.errors import CompileError

log = logging.getLogger("compilarium.store")

BUSY_S = 10.0
"""Time in seconds that a statement waits for the lock of another connection."""

MIGRATION_S = 120.0
"""Time in seconds that the first use of a database waits for another process that migrates it."""

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
"""Primary codes of errors that end when another connection releases its lock."""

AWAY = (
    *_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)
"""Primary codes of errors that may be temporary: the disk or another connection is the cause."""

READING = "reading"
"""Execution option of connections that only read."""

_AFFECTED = ((3, 7, 0), (3, 51, 2))
_REPAIRED = ((3, 44, 6), (3, 50, 7))
"""The first fixed patch of each older release line; later patches of these lines have the fix
too."""

NETWORK_FILE_SYSTEMS = frozenset(
    "afs beegfs ceph cifs fuse.ceph fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs glusterfs gpfs "
    "lustre ncpfs nfs nfs4 ocfs2 orangefs smb2 smb3 smbfs".split()
)
"""File systems with unreliable locks, by their names in Linux."""

_ESCAPED = re.compile(r"\\([0-7]{3})")
"""Spaces and other characters in the names of mounts, such as \\040."""

Version = tuple[int, ...]


def has_unsafe_wal(version: Version) -> bool:
    """Return whether the write-ahead log of this version of SQLite can corrupt a database."""
    first, last = _AFFECTED
    if any(version[:2] == repaired[:2] and version >= repaired for repaired in _REPAIRED):
        return False
    return first <= version <= last


def journal_mode(version: Version) -> Literal["truncate", "wal"]:
    """Return the journal mode for a version of SQLite."""
    return "truncate" if has_unsafe_wal(version) else "wal"


def sqlite_engine(url: URL) -> Engine:
    """Create an engine that opens a connection per use.

    A transaction takes the write lock at its beginning, so it never waits for the lock after it has
    read. Transactions with the option `READING` cannot write.
    """
    # sqlite3 must begin no transactions itself: it would begin them without the lock.
    arguments = {"timeout": BUSY_S, "isolation_level": None}
    engine = create_engine(url, poolclass=NullPool, connect_args=arguments)
    mode = journal_mode(sqlite3.sqlite_version_info)
    if has_unsafe_wal(sqlite3.sqlite_version_info):
        words = "SQLite %s can corrupt a write-ahead log: the database uses journal_mode=TRUNCATE"
        log.info(words, sqlite3.sqlite_version)

    @event.listens_for(engine, "connect")
    def _(connection: sqlite3.Connection, _record: object) -> None:
        configure(connection, mode)

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        is_reading = connection.get_execution_options().get(READING, False)
        connection.exec_driver_sql(f"PRAGMA query_only={'ON' if is_reading else 'OFF'}")
        connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")

    @event.listens_for(engine, "handle_error")
    def _(context: ExceptionContext) -> None:
        code = getattr(context.original_exception, "sqlite_errorcode", 0)
        if code & 0xFF == sqlite3.SQLITE_CANTOPEN and engine.url.database:
            _create_a_file(Path(engine.url.database).parent)

    return engine


def _create_a_file(folder: Path) -> None:
    """Create a file, to raise the error whose cause SQLite does not report. Errors: OSError."""
    with tempfile.TemporaryFile(dir=folder):
        pass


def configure(connection: sqlite3.Connection, mode: str) -> None:
    """Set the journal mode and the guarantees of a new connection."""
    connection.execute(f"PRAGMA busy_timeout={int(BUSY_S * 1000)}")
    _set_journal(connection, mode)
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA mmap_size=0")


def let_migrate(connection: Connection) -> None:
    """Prepare a connection without a transaction for migrations.

    Another process may copy and migrate the database for longer than usual statements take. A
    migration may replace a table that other tables refer to; the rows of those tables must remain.
    """
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA busy_timeout={int(MIGRATION_S * 1000)}")
        driver.execute("PRAGMA foreign_keys=OFF")


def foreign_orphans(connection: Connection) -> Sequence[object]:
    """Return the rows of a SQLite database that refer to missing rows; [] for other databases."""
    if connection.dialect.name != "sqlite":
        return []
    return connection.exec_driver_sql("PRAGMA foreign_key_check").all()


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Set the journal mode. SQLite does not wait for other processes at this statement, so
    retry."""
    until = monotonic() + BUSY_S
    while True:
        try:
            (found,) = connection.execute(f"PRAGMA journal_mode={mode}").fetchone()
        except sqlite3.OperationalError as e:
            if e.sqlite_errorcode & 0xFF not in _LOCKED:
                raise
            found = ""
        # A database in memory has no journal.
        if found in (mode, "memory"):
            return
        if monotonic() > until:
            message = f"database is locked: its journal mode is {found!r}, and {mode} is needed"
            error = sqlite3.OperationalError(message)
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        sleep(0.01)


def require_local(path: Path, mounts: str | None = None) -> None:
    """Check that a database file is on a local disk; `mounts` replaces the mounts of Linux.

    Errors: E-OPTION-VALUE.
    """
    found = file_system(path, mounts)
    if found in NETWORK_FILE_SYSTEMS:
        raise CompileError(
            "E-OPTION-VALUE",
            f"the database {path} is on a network file system ({found}), whose locks are not "
            "reliable enough for SQLite",
            hint="choose a data folder on a local disk, or a PostgreSQL database "
            "(COMPILARIUM_DATABASE_URL)",
        )


def file_system(path: Path, mounts: str | None = None) -> str:
    """Return the name of the file system of a path, which need not exist; "" if unknown."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
    absolute = os.path.realpath(path)
    best, found = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        at = _ESCAPED.sub(lambda m: chr(int(m[1], 8)), fields[4])
        is_above = absolute == at or absolute.startswith(at.rstrip("/") + "/")
        if is_above and len(at) >= len(best):  # of two mounts at a folder, the later one is visible
            best, found = at, after.split()[0]
    return found
