"""The differences between SQLite and PostgreSQL, except those of connections (sqlite,
postgresql)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from sqlalchemy import ColumnElement, Connection, Double, Engine, literal, literal_column, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.store.models import JobRow
from app.store.sqlite import AWAY as AWAY_SQLITE

_QUEUE_LOCK = 0x6A6F6273
"""The key of the advisory lock that guards the order of the queue in PostgreSQL."""
_CHANNEL = "compilarium"
_AWAY_POSTGRESQL = ("08", "53", "55P03", "57P", "58", "25006", "25P03", "40")
"""The beginnings of SQLSTATE codes: lost connections, resources, locks, shutdown, the system, a
server that only reads, a transaction of a stopped process, deadlocks."""


def now(connection: Connection) -> ColumnElement[float]:
    """Return the current time as an expression. All machines share the clock of PostgreSQL's
    server; a SQLite database belongs to this machine, and so uses the machine's clock. Units: Unix
    seconds.
    """
    if connection.dialect.name == "sqlite":
        return literal(time.time(), Double)
    return literal_column("extract(epoch from clock_timestamp())::double precision", Double)


def lock_queue(connection: Connection) -> None:
    """Let no other transaction submit or claim jobs until this transaction ends.

    A transaction that changes several jobs must take this lock first, or `lock_jobs`; otherwise two
    transactions could deadlock. A writing transaction of SQLite excludes all others already (BEGIN
    IMMEDIATE).
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_QUEUE_LOCK})")


def lock_jobs(connection: Connection, job_ids: Iterable[str]) -> None:
    """Lock these jobs, in the order of their ids, until this transaction ends."""
    if connection.dialect.name == "postgresql":
        wanted = select(JobRow.id).where(JobRow.id.in_(sorted(job_ids)))
        connection.execute(wanted.order_by(JobRow.id).with_for_update())


def announce(connection: Connection) -> None:
    """Let `Version` of other processes notice this transaction, when it commits."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"NOTIFY {_CHANNEL}")


def is_away(error: BaseException) -> bool:
    """Return whether a statement failed because the database cannot be used at the moment."""
    if isinstance(error, PoolTimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if isinstance(error.orig, sqlite3.Error):
        return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in AWAY_SQLITE
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # the error is of the client: there is no connection
        return error.connection_invalidated or type(error.orig).__name__ == "OperationalError"
    return state.startswith(_AWAY_POSTGRESQL)


class Version:
    """Tells whether other connections have changed the database since the last call.

    Each answer takes microseconds: SQLite has a number of its version, and PostgreSQL sends
    notices (`announce`) on a connection of its own.
    """

    def __init__(self, engine: Engine) -> None:
        self._is_sqlite = engine.dialect.name == "sqlite"
        connection = engine.raw_connection()
        self._connection: Any = connection.driver_connection
        connection.detach()  # the pool must not give it to others
        self._n_notices = 0
        self._last: object = None
        if not self._is_sqlite:
            try:
                self._connection.autocommit = True
                self._connection.execute(f"LISTEN {_CHANNEL}")
            except BaseException:
                self.close()
                raise

    def has_changed(self) -> bool:
        """Return whether the database may have changed; True at the first call.

        Errors: those of the driver.
        """
        found = self._found()
        is_new, self._last = found != self._last, found
        return is_new

    def _found(self) -> object:
        if self._is_sqlite:
            return self._connection.execute("PRAGMA data_version").fetchone()
        self._n_notices += len(list(self._connection.notifies(timeout=0)))
        return self._n_notices

    def close(self) -> None:
        """Close the connection."""
        with suppress(Exception):
            self._connection.close()
