"""The databases of the service: SQLite in its data folder, or a private server of PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from app.store.database import FILE_NAME, Database, sqlite_url
from app.store.maintenance import integrity_check
from tests.postgresql import Server

BACKENDS = ("sqlite", "postgresql")


class Store(ABC):
    """A database that may go away. The service opens `url`; "" is SQLite in its data folder."""

    url = ""
    database: Database

    @abstractmethod
    def go_away(self, seconds: float, *, is_orderly: bool) -> None:
        """Let nobody use the database for this time."""

    @abstractmethod
    def damages(self) -> list[str]:
        """Return the damages that the checks of the database find."""

    def close(self) -> None:
        """Close the connections."""
        self.database.close()


class SqliteStore(Store):
    """A file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE_NAME
        self.database = Database(sqlite_url(folder))

    def go_away(self, seconds: float, *, is_orderly: bool) -> None:
        """Lock the file; drop the connection with or without the end of the transaction."""
        with self.locked("EXCLUSIVE") as connection:
            time.sleep(seconds)
            if is_orderly:
                connection.execute("COMMIT")

    @contextmanager
    def locked(self, how: str) -> Generator[sqlite3.Connection]:
        """Hold a lock of the file, and a change that is lost unless the block commits it."""
        with closing(sqlite3.connect(self.file, timeout=60, isolation_level=None)) as connection:
            connection.execute(f"BEGIN {how}")
            connection.execute("UPDATE jobs SET priority = priority")
            yield connection

    def damages(self) -> list[str]:
        return integrity_check(self.file)


class PostgresqlStore(Store):
    """A server, which the harness stops and starts."""

    def __init__(self) -> None:
        self.server = Server()
        with self.server.connect() as connection:
            connection.execute("CREATE DATABASE service")
        self.url = self.server.url("service")
        self.database = Database(self.url)

    def go_away(self, seconds: float, *, is_orderly: bool) -> None:
        """Stop the server; if it is not orderly, the server must recover at its start."""
        import signal

        self.server.stop(signal.SIGINT if is_orderly else signal.SIGQUIT)
        time.sleep(seconds)
        self.server.start()

    def connections(self) -> list[int]:
        """Return the processes of the server that serve the service's connections."""
        found = "SELECT pid FROM pg_stat_activity WHERE datname = 'service'"
        with self.server.connect() as connection:
            return [row[0] for row in connection.execute(found)]

    def damages(self) -> list[str]:
        """Return the damages that the extension `amcheck` finds in tables and indexes."""
        relations = "FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = "
        wrong: list[str] = []
        with self.server.connect("service") as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
            tables = f"SELECT relname, msg {relations}'r'"
            found = tables.replace("FROM pg_class", "FROM pg_class, verify_heapam(pg_class.oid)")
            wrong += [f"{name}: {words}" for name, words in connection.execute(found)]
            for (index,) in connection.execute(f"SELECT oid::regclass {relations}'i'").fetchall():
                try:
                    connection.execute("SELECT bt_index_parent_check(%s::regclass, true)", [index])
                except Exception as e:
                    wrong.append(f"{index}: {e}")
        return wrong

    def close(self) -> None:
        super().close()
        self.server.remove()


def store_of(backend: str, folder: Path) -> Store:
    """Create the database of a service with this data folder."""
    return SqliteStore(folder) if backend == "sqlite" else PostgresqlStore()
