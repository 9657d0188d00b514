"""The databases of tests: SQLite in the data folder, and a database of a private PostgreSQL server.

A test with the marker `each_database` runs with both, through the fixtures `database_url` and
`new_database_urls`.
"""

from __future__ import annotations

from typing import Any

from tests.postgresql import Server

BACKENDS = ("sqlite", "postgresql")
_NAME = "test"


class Databases:
    """A server that starts at the first use, with a database that is emptied for each test."""

    def __init__(self) -> None:
        self._server: Server | None = None
        self._tables = ""

    @property
    def server(self) -> Server:
        """The running server."""
        if self._server is None:
            self._server = Server()
        return self._server

    def migrated(self) -> str:
        """Return the URL of a database with the tables of this version, which are empty."""
        from app.store.database import Database

        if not self._tables:
            self.new(_NAME)
            database = Database(self.server.url(_NAME))
            _ = database.engine  # migrates its tables
            database.close()
        with self.server.connect(_NAME) as connection:
            if not self._tables:
                found = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
                names = {row[0] for row in connection.execute(found)} - {"alembic_version"}
                self._tables = ", ".join(sorted(names))
            _end_others(connection, _NAME)
            connection.execute(f"TRUNCATE {self._tables}")
        return self.server.url(_NAME)

    def new(self, name: str) -> str:
        """Create a database without tables in place of any other of this name; return its URL."""
        with self.server.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name}")
        return self.server.url(name)

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.remove()


def _end_others(connection: Any, name: str) -> None:
    """End the connections that an earlier test has left."""
    others = "datname = %s AND pid <> pg_backend_pid()"
    ended = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"
    connection.execute(ended, [name])
