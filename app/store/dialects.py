"""What differs between SQLite and PostgreSQL, apart from the connections (sqlite.py)."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any

from sqlalchemy import ColumnElement, Connection, Double, Engine, literal_column

_QUEUE_LOCK = 0x6A6F6273
"""The key of the advisory lock that guards the order of the queue in PostgreSQL."""
_NOW = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "extract(epoch from clock_timestamp())::double precision",
}


def now(connection: Connection) -> ColumnElement[float]:
    """Return the database's clock as an expression. Units: Unix seconds."""
    return literal_column(_NOW[connection.dialect.name], Double)


def lock_queue(connection: Connection) -> None:
    """Let no other transaction submit or claim jobs until this transaction ends.

    A writing transaction of SQLite excludes all others already (BEGIN IMMEDIATE).
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_QUEUE_LOCK})")


class Version:
    """Tells whether other connections have changed the database since the last call.

    SQLite knows this in microseconds. Other databases answer always with yes, so their callers
    must wait longer between two calls: `every_s`, in seconds.
    """

    def __init__(self, engine: Engine) -> None:
        self.is_exact = engine.dialect.name == "sqlite"
        """Whether an answer costs little, and yes means a change."""
        self.every_s = 0.01 if self.is_exact else 0.05
        self._connection: Any = engine.raw_connection() if self.is_exact else None
        self._last: object = None

    def has_changed(self) -> bool:
        """Return whether the database may have changed."""
        if not self.is_exact:
            return True
        try:
            found = self._connection.cursor().execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return True
        is_new, self._last = found != self._last, found
        return is_new

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
