"""Tests of the searches for jobs: each finds its rows by an index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from app.store.database import Database, sqlite_url
from app.store.jobs import leases, reading
from app.store.jobs.queueing import Limits, Wanted, submit

FOLDER = Path("jobs")
BY_DIGEST, BY_STATE = "ix_jobs_digest (digest=?)", "ix_jobs_state (state=?)"
SEARCHES: dict[str, tuple[Callable[[Connection, str], Any], str]] = {
    "find": (lambda c, job: reading.find(c, FOLDER, job), "jobs_1 (id=?)"),
    "find_done": (lambda c, _: reading.find_done(c, FOLDER, "d", "f"), BY_DIGEST),
    "find_unfinished": (lambda c, _: reading.find_unfinished(c, FOLDER, "d", "f"), BY_DIGEST),
    "examining": (lambda c, job: reading.examining(c, FOLDER, job, "f"), "examined (examined=?)"),
    "events_after": (lambda c, job: reading.events_after(c, job, 1), "(job_id=? AND number>?)"),
    "heads": (lambda c, job: reading.heads(c, [job, "b"]), "jobs_1 (id=?)"),
    "line": (lambda c, _: reading.line(c), BY_STATE),
    "recent_seconds": (lambda c, _: reading.recent_seconds(c), BY_STATE),
    "unfinished_requests": (lambda c, _: reading.unfinished_requests(c), BY_STATE),
    "interests": (lambda c, _: reading.interests(c), BY_STATE),
    "wishes": (lambda c, _: leases.wishes(c, "owner"), BY_STATE),
    "all_held": (lambda c, _: leases.all_held(c), BY_STATE),
}


def plan(tmp_path: Path, search: Callable[[Connection, str], Any]) -> list[str]:
    """Return the steps of SQLite's plan for the last statement of a search for or about a job."""
    database = Database(sqlite_url(tmp_path))
    with database.changing() as connection:
        wanted = Wanted({"kind": "compile"}, "a model", "form", {})
        job = submit(connection, wanted, Limits(9, 9, lambda *_: [None]))
    seen: list[tuple[str, Any]] = []
    event.listen(
        database.engine, "before_cursor_execute", lambda *given: seen.append((given[2], given[3]))
    )
    with database.looking() as connection:
        search(connection, job)
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
    assert not any("TEMP B-TREE" in step for step in plan(tmp_path, SEARCHES["recent_seconds"][0]))
