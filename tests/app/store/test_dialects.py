"""Tests of what differs between the databases: URLs, locks, notices, and lost connections."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from app.store import sqlite
from app.store.database import Database, sqlite_url
from app.store.dialects import is_away, lock_queue, now
from app.store.jobs import queueing
from app.store.jobs.queueing import Limits, Wanted
from compiler.errors import CompileError
from tests.app.conftest import PATIENCE_S, until

pytestmark = pytest.mark.each_database


def waits(*given):
    return [None] * len(given[2])


def queued(database: Database) -> str:
    with database.changing() as connection:
        wanted = Wanted({"kind": "compile"}, "m", "f", {})
        return queueing.submit(connection, wanted, Limits(50, 20, waits))


@pytest.mark.parametrize("url", ["mysql://me@host/x", "nothing", "postgresql", "://"])
def test_another_url_is_refused_and_the_right_form_is_named(url: str) -> None:
    with pytest.raises(CompileError) as e:
        Database(url)
    assert e.value.code == "E-OPTION-VALUE"
    assert "postgresql+psycopg://" in e.value.hint


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CompileError) as e:
        _ = Database("postgresql://me@nowhere/x").engine
    assert "compilarium[postgresql]" in e.value.hint


def test_a_database_that_is_away_is_known_from_its_error(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", 0.1)
    if backend == "postgresql":
        database = Database(f"postgresql://me@/x?host={tmp_path}")
        with pytest.raises(OperationalError) as e:
            _ = database.engine
    else:
        database = Database(sqlite_url(tmp_path))
        queued(database)
        assert database.url.database
        with closing(sqlite3.connect(database.url.database, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(OperationalError) as e:
                queued(database)
    assert is_away(e.value)


def test_a_wrong_statement_is_a_bug(database: Database) -> None:
    with pytest.raises(DBAPIError) as e, database.looking() as connection:
        connection.execute(text("SELECT * FROM absent"))
    assert not is_away(e.value)
    assert not is_away(ValueError())


def test_the_clock_counts_seconds_since_1970(database: Database) -> None:
    before_s = time.time()
    with database.looking() as connection:
        found = connection.scalar(select(now(connection)))
    assert before_s - 1 <= found <= time.time() + 1


def test_notices_of_another_process_wake_waiting_threads(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    queued(database)
    watch = database.watch
    seen = watch.wait(watch.n, 5.0)  # the first look counts as a change
    other = Database(database_url or sqlite_url(tmp_path / "data"))
    found: list[int] = []
    waiting = threading.Thread(target=lambda: found.append(watch.wait(watch.n, PATIENCE_S)))
    waiting.start()
    time.sleep(0.1)
    assert watch.n == seen, "nothing wakes threads without a change"
    queued(other)
    waiting.join(PATIENCE_S)
    assert found
    assert found[0] > seen
    other.close()


def test_transactions_about_several_jobs_do_not_wait_for_each_other(database: Database) -> None:
    """A client that leaves a job must not lock the row before the queue."""
    job_id = queued(database)
    begun, failures = threading.Event(), list[BaseException]()

    def release() -> None:
        try:
            with database.changing() as connection:
                begun.set()
                queueing.release(connection, job_id, waits)
        except BaseException as e:
            failures.append(e)

    thread = threading.Thread(target=release)
    with database.changing() as connection:
        lock_queue(connection)
        thread.start()
        begun.wait(1.0)  # with SQLite, the other transaction waits for its begin
        time.sleep(0.3)
        queueing.followed(connection, {job_id: 1}, [])
    thread.join(PATIENCE_S)
    assert failures == []


def test_a_stopped_transaction_of_postgresql_loses_its_locks(databases) -> None:
    url = databases.migrated()
    quick = Database(f"{url}&options=-c%20idle_in_transaction_session_timeout%3D100ms")
    usual = Database(url)
    with usual.looking() as connection:
        assert connection.scalar(text("SHOW lock_timeout")) == "10s"
        assert connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "10s"

    def stopped() -> None:
        with quick.changing() as connection:
            lock_queue(connection)
            time.sleep(0.5)
            queued(usual)

    with pytest.raises(DBAPIError) as e:
        stopped()
    assert is_away(e.value)
    quick.close()
    usual.close()


def test_a_restarted_server_is_used_again(databases) -> None:
    database, other = Database(databases.migrated()), Database(databases.migrated())
    queued(database)
    database.watch.wait(database.watch.n, 5.0)
    databases.server.stop()
    with pytest.raises(DBAPIError) as e:
        queued(database)
    assert is_away(e.value)
    databases.server.start()
    queued(database)

    def is_notified() -> bool:
        seen = database.watch.n
        queued(other)
        return database.watch.wait(seen, 0.5) > seen

    until(is_notified)
    database.close()
    other.close()


def test_a_connection_in_use_is_closed_after_its_use(database: Database) -> None:
    with database.looking() as connection:
        used = connection.connection.driver_connection
        database.close()
        assert connection.scalar(text("SELECT 1")) == 1
    assert used is not None
    with pytest.raises(Exception, match="closed"):
        used.execute("SELECT 1")
