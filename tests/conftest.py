"""Fixtures of all tests, the order of tests, and the locations of real models."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    folder = item.path.relative_to(REPOSITORY / "tests").parts[0]
    return {_FIRST: 0, _LAST: 2}.get(folder, 1)


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY
