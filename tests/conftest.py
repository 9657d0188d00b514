"""Fixtures of all tests, the order of tests, and the locations of real models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import BACKENDS, Databases

REPOSITORY = Path(__file__).resolve().parent.parent

# Files of the developer's own programs (tuned schedules, measured speeds) must not affect tests.
os.environ["COMPILARIUM_CACHE"] = str(REPOSITORY / "var" / "test-cache")

# The examples are the same every time, on any machine; `make sweep` draws others.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

# Cheap tests first, so that frequent failures show early. The browser tests need all other parts.
_FIRST = "contracts"
_LAST = "browser"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _turn(item.path))


@cache
def _turn(path: Path) -> int:
    folder = path.relative_to(REPOSITORY / "tests").parts[0]
    return {_FIRST: 0, _LAST: 2}.get(folder, 1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with the marker `each_database` on all databases."""
    is_marked = metafunc.definition.get_closest_marker("each_database")
    if is_marked and "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", BACKENDS, indirect=True)


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """The databases of a private PostgreSQL server."""
    made = Databases()
    yield made
    made.close()


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """The kind of database: see the marker `each_database`."""
    return getattr(request, "param", BACKENDS[0])


@pytest.fixture
def database_url(backend: str, databases: Databases) -> str:
    """The URL of a database without rows; "" for SQLite in the data folder."""
    return "" if backend == "sqlite" else databases.migrated()


@pytest.fixture
def new_database_urls(backend: str, databases: Databases, tmp_path: Path) -> Callable[[str], str]:
    """Creates databases without tables, by name, and returns their URLs."""
    if backend == "sqlite":
        return lambda name: f"sqlite:///{tmp_path / name}.db"
    return databases.new


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY
