"""Tests of SQLite's settings: versions, locks, network file systems, and kills during writes."""

from __future__ import annotations

import logging
import os
import random
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError

from app.store import sqlite
from app.store.database import Database, sqlite_url
from app.store.maintenance import back_up, integrity_check, quick_check
from app.store.models import LinkRow
from app.store.sqlite import file_system, has_unsafe_wal, journal_mode, require_local
from compiler.errors import CompileError

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /net rw,relatime shared:2 - nfs4 server:/net rw,vers=4.2
31 30 0:41 / /net/local rw - xfs /dev/vdb rw
32 22 0:42 / /mnt/the\\040share rw - cifs //server/share rw
33 22 0:43 / /data rw - nfs server:/data rw
34 22 0:44 / /data rw - ext4 /dev/vdc rw
35 22 0:45 / /ssh rw - fuse.sshfs me@server: rw
damaged line
"""


def row(name: str) -> LinkRow:
    return LinkRow(
        id=name[:16],
        digest=name,
        fragment="v=1" * 500,
        other="",
        made_with="0.1.0",
        created_s=1.5,
        n_bytes=1500,
    )


@pytest.fixture(params=["wal", "truncate"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sqlite, "journal_mode", lambda version: request.param)
    return request.param


@pytest.fixture
def database(tmp_path: Path, mode: str):
    made = Database(sqlite_url(tmp_path / "data"))
    yield made
    made.close()


def file_of(database: Database) -> Path:
    assert database.url.database
    return Path(database.url.database)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 44, 7), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
        ((4, 0, 0), False),
    ],
)
def test_only_sound_versions_use_the_write_ahead_log(
    version: tuple[int, int, int], expected: bool
) -> None:
    assert has_unsafe_wal(version) is expected
    assert journal_mode(version) == ("truncate" if expected else "wal")


@pytest.mark.parametrize("version", [(3, 40, 1), (3, 53, 4)])
def test_an_affected_version_is_logged(
    version: tuple[int, int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sqlite.sqlite3, "sqlite_version_info", version)
    database = Database(sqlite_url(tmp_path))
    with caplog.at_level(logging.INFO, "compilarium.store"), database.reading() as session:
        found = session.scalar(text("PRAGMA journal_mode"))
    told = [r for r in caplog.records if r.name == "compilarium.store"]
    assert (found, len(told)) == (("truncate", 1) if version == (3, 40, 1) else ("wal", 0))


def test_every_connection_has_the_settings(database: Database, mode: str) -> None:
    wanted = {
        "journal_mode": mode,
        "busy_timeout": 10_000,
        "foreign_keys": 1,
        "synchronous": 2,
        "mmap_size": 0,
    }
    for opened in (database.session, database.reading):
        with opened() as session:
            found = {name: session.scalar(text(f"PRAGMA {name}")) for name in wanted}
        assert found == wanted


def test_the_mode_of_an_older_database_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in ("wal", "truncate", "wal"):
        monkeypatch.setattr(sqlite, "journal_mode", lambda version, mode=mode: mode)
        database = Database(sqlite_url(tmp_path))
        with database.session() as session:
            session.add(row(f"{mode}{len(list(tmp_path.iterdir()))}{time.monotonic_ns()}"))
        database.close()
    assert integrity_check(file_of(database)) == []


def test_a_transaction_that_writes_takes_the_lock_at_its_begin(database: Database) -> None:
    with database.session() as session:
        assert session.scalars(select(LinkRow)).all() == []
        with sqlite3.connect(file_of(database), timeout=0) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")


def test_a_session_that_reads_waits_for_nobody_and_cannot_write(database: Database) -> None:
    with database.session() as session:
        session.add(row("a"))
    with database.session() as writing, database.reading() as session:
        writing.execute(text("DELETE FROM links"))
        assert session.scalar(select(func.count()).select_from(LinkRow)) == 1
        writing.rollback()
    with pytest.raises(OperationalError, match="readonly"), database.reading() as session:
        session.add(row("b"))
    with database.session() as session:
        session.add(row("b"))


def test_read_then_write_of_many_threads_never_fails(database: Database) -> None:
    """Transactions that read before they took the lock would fail with SQLITE_BUSY at once."""
    failures: list[BaseException] = []

    def count(name: str) -> None:
        try:
            for i in range(10):
                with database.session() as session:
                    n = session.scalar(select(func.count()).select_from(LinkRow))
                    session.add(row(f"{name}{i}-{n}"))
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=count, args=(name,)) for name in "abcd"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(LinkRow)) == 40


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/var/lib/compilarium/x.db", "ext4"),
        ("/net/me/x.db", "nfs4"),
        ("/net/local/x.db", "xfs"),
        ("/nets/x.db", "ext4"),
        ("/mnt/the share/x.db", "cifs"),
        ("/data/x.db", "ext4"),
        ("/ssh/x.db", "fuse.sshfs"),
    ],
)
def test_a_database_on_a_network_file_system_is_refused(path: str, found: str) -> None:
    assert file_system(Path(path), MOUNTS) == found
    if found in ("ext4", "xfs"):
        require_local(Path(path), MOUNTS)
        return
    with pytest.raises(CompileError) as caught:
        require_local(Path(path), MOUNTS)
    assert caught.value.code == "E-OPTION-VALUE"
    assert f"network file system ({found})" in caught.value.message
    assert "PostgreSQL" in caught.value.hint


def test_a_server_with_such_a_folder_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert file_system(tmp_path) != "" or not Path("/proc/self/mountinfo").exists()
    monkeypatch.setattr(sqlite, "file_system", lambda path, mounts: "nfs4")
    with pytest.raises(CompileError, match="network file system"):
        Database(sqlite_url(tmp_path))


def write_rows(folder: Path, name: str, n: int, told: int = -1) -> None:
    database = Database(sqlite_url(folder))
    for i in range(n):
        with database.session() as session:
            session.add(row(f"{name}-{i}"))
        if told >= 0:
            os.write(told, f"{name}-{i}\n".encode())


def forked(folder: Path, name: str, n: int, told: int = -1) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            write_rows(folder, name, n, told)
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path, mode: str) -> None:
    pids = [forked(tmp_path, name, 25) for name in "abc"]
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    database = Database(sqlite_url(tmp_path))
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(LinkRow)) == 75
    assert integrity_check(file_of(database)) == []


def test_a_kill_during_writes_loses_no_row_and_damages_nothing(tmp_path: Path, mode: str) -> None:
    """Two processes write, one is killed at a random moment: all rows that it has told are there,
    and the other one continues."""
    draw = random.Random(11)
    Database(sqlite_url(tmp_path)).engine.dispose()
    reading, told = os.pipe()
    start_s = time.monotonic()
    os.waitpid(forked(tmp_path, "first", 2), 0)
    longest_s = max(0.15, 2 * (time.monotonic() - start_s))  # longer on a busy machine
    for turn in range(25):
        killed = forked(tmp_path, f"k{turn}", 10_000, told)
        other = forked(tmp_path, f"o{turn}", 2, told)
        time.sleep(draw.random() * longest_s)
        os.kill(killed, signal.SIGKILL)
        os.waitpid(killed, 0)
        assert os.waitpid(other, 0)[1] == 0
    os.close(told)
    with os.fdopen(reading) as pipe:
        committed = set(pipe.read().split())
    database = Database(sqlite_url(tmp_path))
    assert integrity_check(file_of(database)) == []
    with database.reading() as session:
        found = set(session.scalars(select(LinkRow.digest)))
    assert committed <= found
    assert len([name for name in committed if name.startswith("k")]) > 0
    assert len(found - committed) <= 25 + 2, "at most one row was committed and not told, each time"


def test_damage_is_found(tmp_path: Path) -> None:
    database = Database(sqlite_url(tmp_path))
    assert quick_check(file_of(database)) == []
    write_rows(tmp_path, "a", 40)
    assert quick_check(file_of(database)) == []
    data = bytearray(file_of(database).read_bytes())
    for at in range(4096, len(data), 4096):
        data[at : at + 64] = bytes(64)
    file_of(database).write_bytes(data)
    assert quick_check(file_of(database)) != []
    file_of(database).write_bytes(b"no database at all" * 100)
    (words,) = quick_check(file_of(database))
    assert "not a database" in words


def test_a_backup_has_all_rows_while_others_write(tmp_path: Path, mode: str) -> None:
    write_rows(tmp_path, "a", 20)
    pid = forked(tmp_path, "b", 30)
    target = tmp_path / "backup.db"
    back_up(Database(sqlite_url(tmp_path)), target)
    os.waitpid(pid, 0)
    assert integrity_check(target) == []
    assert target.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(target) as connection:
        (n,) = connection.execute("SELECT count(*) FROM links").fetchone()
    assert 20 <= n <= 50
    assert sorted(p.name for p in tmp_path.glob("backup*")) == ["backup.db"]
    with pytest.raises(CompileError, match="exists already"):
        back_up(Database(sqlite_url(tmp_path)), target)


def test_only_sqlite_is_copied(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="pg_dump"):
        back_up(Database("postgresql+psycopg://me@nowhere/db"), tmp_path / "b.db")
