"""Tests of the searches for jobs: each finds its rows by an index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from app.store.database import Database, sqlite_url
from app.store.jobs import leases, reading

FOLDER = Path("jobs")
BY_DIGEST, BY_STATE = "ix_jobs_digest (digest=?)", "ix_jobs_state (state=?)"
SEARCHES: dict[str, tuple[Callable[[Connection], Any], str]] = {
    "find": (lambda c: reading.find(c, FOLDER, "x"), "jobs_1 (id=?)"),
    "find_done": (lambda c: reading.find_done(c, FOLDER, "d", "f"), BY_DIGEST),
    "find_unfinished": (lambda c: reading.find_unfinished(c, FOLDER, "d", "f"), BY_DIGEST),
    "examining": (lambda c: reading.examining(c, FOLDER, "x", "f"), "examined (examined=?)"),
    "events_after": (lambda c: reading.events_after(c, "x", 1), "(job_id=? AND number>?)"),
    "heads": (lambda c: reading.heads(c, ["a", "b"]), "jobs_1 (id=?)"),
    "line": (reading.line, BY_STATE),
    "recent_seconds": (reading.recent_seconds, BY_STATE),
    "unfinished_requests": (reading.unfinished_requests, BY_STATE),
    "interests": (reading.interests, BY_STATE),
    "wishes": (lambda c: leases.wishes(c, "owner"), BY_STATE),
    "all_held": (leases.all_held, BY_STATE),
}


def plan(tmp_path: Path, search: Callable[[Connection], Any]) -> list[str]:
    """Return the steps of SQLite's plan for the last statement of a search."""
    database = Database(sqlite_url(tmp_path))
    seen: list[tuple[str, Any]] = []
    event.listen(
        database.engine, "before_cursor_execute", lambda *given: seen.append((given[2], given[3]))
    )
    with database.looking() as connection:
        search(connection)
        statement, parameters = seen[-1]
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    return [row[3] for row in rows]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_uses_the_index_with_the_fewest_rows(tmp_path, name) -> None:
    search, index = SEARCHES[name]
    steps = plan(tmp_path, search)
    assert index in steps[0]
    assert not any(step.startswith("SCAN") for step in steps)


def test_the_recent_jobs_are_not_sorted(tmp_path) -> None:
    """A sort would read all succeeded jobs, at each change of the queue."""
    assert not any("TEMP B-TREE" in step for step in plan(tmp_path, reading.recent_seconds))
