"""Fixtures of all tests, the order of tests, and the locations of real models."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent

# What the developer's own programs left behind (tuned schedules, measured speeds) decides no test.
os.environ["COMPILARIUM_CACHE"] = str(REPOSITORY / "var" / "test-cache")

# The same examples every time, however slow the machine is; `make sweep` draws others.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

# Cheapest first: what breaks most often is then known soonest. The browser needs all the rest.
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
