"""Fixtures of the tests of the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.database import Database, sqlite_url


@pytest.fixture
def database(tmp_path: Path, database_url: str) -> Iterator[Database]:
    """An empty database; SQLite's is in an empty data folder."""
    made = Database(database_url or sqlite_url(tmp_path / "data"))
    yield made
    made.close()
