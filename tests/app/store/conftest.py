"""Fixtures of the tests of the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.database import Database, sqlite_url


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A database in an empty data folder."""
    made = Database(sqlite_url(tmp_path / "data"))
    yield made
    made.close()
