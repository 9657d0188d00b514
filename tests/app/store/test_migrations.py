"""Tests of migrations with data: rows survive each step, and a failure changes nothing."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from app.store import copies, database, sqlite
from app.store.database import FILE_NAME, Database, downgrade, revision_of, sqlite_url, upgrade
from app.store.sqlite import foreign_orphans, let_migrate, sqlite_engine
from compiler.errors import CompileError
from tests.app.conftest import PATIENCE_S, until
from tests.app.server_process import REPOSITORY, running
from tests.app.test_full_disk import mounted
from tests.platforms import needs_mounts

N_ROWS = 5


def revisions() -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(database.MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    return [script.revision for script in scripts.walk_revisions()][::-1]


REVISIONS = revisions()
OLD, HEAD = REVISIONS[-2:]

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def move(engine: sa.Engine, step: Callable[[sa.Connection, str], None], revision: str) -> None:
    with engine.connect() as connection:
        let_migrate(connection)
        with connection.begin():
            step(connection, revision)
            assert not foreign_orphans(connection)


def tables(connection: sa.Connection) -> list[sa.Table]:
    """The tables, those that others refer to first."""
    found = sa.MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]


def value(column: sa.Column[Any], i: int) -> Any:
    """A value of a column's type; rows of other numbers have others, references have those of the
    row of the same number."""
    if column.foreign_keys:
        return value(next(iter(column.foreign_keys)).column, i)
    if column.nullable and i == 0:
        return None
    match column.type:
        case sa.Boolean():
            return bool(i % 2)
        case sa.Integer():
            return i + 1
        case sa.Float():
            return 1.5 * i
        case sa.Text():
            return f"{i} {column.name} é"
        case sa.String(length=length):
            return f"{i}-{column.name}"[:length]
    raise AssertionError(f"{column} has a type without a sample")


def fill(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        for table in tables(connection):
            for i in range(N_ROWS):
                row = {column.name: value(column, i) for column in table.columns}
                connection.execute(table.insert().values(row))


def content(engine: sa.Engine) -> Rows:
    with engine.begin() as connection:
        return {
            table.name: [
                dict(row._mapping)
                for row in connection.execute(table.select().order_by(*table.primary_key))
            ]
            for table in tables(connection)
        }


def assert_kept(before: Rows, after: Rows) -> None:
    """Each column of both versions has the same values."""
    for name in before.keys() & after.keys():
        shared = before[name][0].keys() & after[name][0].keys() if before[name] else set()
        old, new = ([{k: r[k] for k in shared} for r in c[name]] for c in (before, after))
        assert new == old, name


@pytest.mark.parametrize("at", range(len(REVISIONS) - 1))
def test_rows_survive_a_step_up_and_the_step_down(tmp_path: Path, at: int) -> None:
    here, above = REVISIONS[at : at + 2]
    engine = sqlite_engine(f"sqlite:///{tmp_path / 'x.db'}")
    move(engine, upgrade, here)
    fill(engine)
    before = content(engine)
    move(engine, upgrade, above)
    after = content(engine)
    assert before.keys() <= after.keys(), "a step up removes no table"
    assert_kept(before, after)
    move(engine, downgrade, here)
    assert content(engine) == before


def test_rows_survive_all_steps_down_and_up_as_far_as_the_tables_exist(tmp_path: Path) -> None:
    engine = sqlite_engine(f"sqlite:///{tmp_path / 'x.db'}")
    move(engine, upgrade, "head")
    fill(engine)
    full = content(engine)
    for revision in REVISIONS[-2::-1]:
        move(engine, downgrade, revision)
        found = content(engine)
        assert_kept(full, found)
        assert all(len(rows) == N_ROWS for rows in found.values())
    move(engine, upgrade, "head")
    again = content(engine)
    assert again["links"] != []
    # The size of a link is computed again, from its texts.
    sizes = [len(row["fragment"]) + len(row["other"]) for row in again["links"]]
    assert [row["n_bytes"] for row in again["links"]] == sizes
    assert {name for name, rows in again.items() if rows} == {"links"}
    move(engine, downgrade, "base")
    assert content(engine) == {}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of the version before the newest, with rows, in a data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return made_old(folder)


def made_old(folder: Path) -> Path:
    engine = sqlite_engine(sqlite_url(folder))
    move(engine, upgrade, OLD)
    fill(engine)
    return folder / FILE_NAME


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


def copies_of(file: Path) -> list[Path]:
    return sorted((file.parent / copies.FOLDER).glob("*"))


def version_in(file: Path) -> str:
    with sqlite_engine(f"sqlite:///{file}").begin() as connection:
        return revision_of(connection)


def opened(file: Path) -> None:
    made = Database(f"sqlite:///{file}")
    try:
        made.prepare()
    finally:
        made.close()


@pytest.mark.parametrize("mode", ["truncate", "wal"])
def test_a_copy_is_kept_before_a_migration(
    old: Path, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "journal_mode", lambda version: mode)
    before = dump(old)
    for _ in range(2):  # the second time, there is nothing to migrate
        opened(old)
    assert version_in(old) == HEAD
    (copy,) = copies_of(old)
    assert dump(copy) == before
    assert copy.name.startswith(f"compilarium-{OLD}-")
    assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    (told,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert f"from version {OLD} to {HEAD}" in told
    assert str(copy) in told
    # Back to the old program: the copy takes the place of the database.
    os.replace(copy, old)
    assert version_in(old) == OLD


def test_a_new_database_needs_no_copy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened(tmp_path / FILE_NAME)
    assert not copies_of(tmp_path / FILE_NAME)
    assert not caplog.records


def test_only_the_newest_copies_stay(old: Path) -> None:
    made = []
    for number in range(copies.N_KEPT + 2):
        with closing(sqlite3.connect(old)) as connection, connection:
            connection.execute("UPDATE links SET created_s = ?", (number,))
        made.append(copies.keep_copy(old, OLD))
    assert copies.keep_copy(old, OLD) == made[-1], "the same content is not copied again"
    assert copies_of(old) == made[2:]


def test_postgresql_is_copied_by_its_operator(caplog: pytest.LogCaptureFixture) -> None:
    engine: Any = SimpleNamespace(dialect=SimpleNamespace(name="postgresql"), url=None)
    assert database._kept(engine, "0003", "0004") == ""
    assert "pg_dump" in caplog.text
    assert "from version 0003 to 0004" in caplog.text


AFTER = """
import os, time
import sqlalchemy as sa
from alembic import op
revision, down_revision = "9000", {head!r}
def upgrade():
    {body}
def downgrade():
    pass
"""
BODIES = {
    "fails": "op.execute('DELETE FROM counts'); op.drop_table('answers'); op.execute('nonsense')",
    "orphans": "op.execute('DELETE FROM jobs')",
    "replaces": "\n    ".join(
        (
            "with op.batch_alter_table('jobs', recreate='always') as batch:",
            "    batch.add_column(sa.Column('new', sa.Integer))",
        )
    ),
    "hangs": "op.drop_table('answers'); op.execute('UPDATE links SET created_s = 9'); "
    "open(os.environ['TOLD'], 'w').close(); time.sleep(600)",
}


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A program whose newest migration does one of BODIES."""

    def made(kind: str) -> Path:
        folder = tmp_path / "migrations"
        shutil.copytree(database.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        text = AFTER.format(head=HEAD, body=BODIES[kind])
        (folder / "versions" / "9000_newer.py").write_text(text)
        monkeypatch.setattr(database, "MIGRATIONS", folder)
        return folder

    return made


@pytest.mark.parametrize("kind", ["fails", "orphans"])
def test_a_migration_that_fails_changes_nothing(
    old: Path, newer: Callable[[str], Path], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    opened(old)
    fill_jobs(old)
    before = dump(old)
    newer(kind)
    for _ in range(3):
        with pytest.raises((CompileError, RuntimeError), match=r"nonsense|refer to missing rows"):
            opened(old)
        assert dump(old) == before
    first, second = copies_of(old)
    assert dump(second) == before, "three attempts share a copy"
    assert f"the database is as before; its copy is {second}" in caplog.text
    assert first.name.startswith(f"compilarium-{OLD}-")


def fill_jobs(file: Path) -> None:
    """Add rows to the tables of jobs, unless the version before had these tables already."""
    engine = sqlite_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        for table in tables(connection):
            is_empty = connection.execute(table.select()).first() is None
            if table.name in ("jobs", "job_events") and is_empty:
                for i in range(N_ROWS):
                    row = {column.name: value(column, i) for column in table.columns}
                    connection.execute(table.insert().values(row))


def test_a_table_that_is_replaced_keeps_the_rows_that_refer_to_it(
    old: Path, newer: Callable[[str], Path]
) -> None:
    """SQLite would delete them with the old table, if the connection enforced references."""
    opened(old)
    fill_jobs(old)
    before = content(sqlite_engine(f"sqlite:///{old}"))
    newer("replaces")
    opened(old)
    after = content(sqlite_engine(f"sqlite:///{old}"))
    assert_kept(before, after)
    assert len(after["job_events"]) == N_ROWS
    assert "new" in after["jobs"][0]


CHILD = """
import sys
from pathlib import Path
from app.store import copies, database, sqlite
sqlite.journal_mode = lambda version: sys.argv[3]
if sys.argv[2] == "copy":
    real = copies.sync
    def sync(paths):
        Path(sys.argv[4]).touch()
        __import__("time").sleep(600)
    copies.sync = sync
else:
    database.MIGRATIONS = Path(sys.argv[2])
database.Database(sys.argv[1]).prepare()
"""


@pytest.mark.parametrize(
    ("mode", "during"), [("truncate", "copy"), ("truncate", "migration"), ("wal", "migration")]
)
def test_a_kill_leaves_the_database_as_before(
    old: Path,
    newer: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    during: str,
) -> None:
    monkeypatch.setattr(sqlite, "journal_mode", lambda version: mode)
    before, told = dump(old), tmp_path / "told"
    with monkeypatch.context() as context:
        folder = newer("hangs") if during == "migration" else "copy"
        words = [f"sqlite:///{old}", str(folder), mode, str(told)]
        context.undo()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, *words],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TOLD": str(told)},
    ) as process:
        try:
            until(told.exists)
        finally:
            process.send_signal(signal.SIGKILL)
    monkeypatch.setattr(database, "MIGRATIONS", REPOSITORY / "app" / "store" / "migrations")
    assert dump(old) == before
    assert len(copies_of(old)) >= 1
    opened(old)
    assert version_in(old) == HEAD
    (copy,) = copies_of(old)
    assert dump(copy) == before, "what the kill left is gone"


@pytest.mark.parametrize("at", ["sync", "os.replace", "os.open", "filecmp.cmp"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES])
def test_a_copy_that_cannot_be_written_prevents_the_migration(
    old: Path, monkeypatch: pytest.MonkeyPatch, at: str, number: int
) -> None:
    before = dump(old)
    earlier = copies.keep_copy(old, OLD) if at == "filecmp.cmp" else None

    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as broken:
        broken.setattr(f"app.store.copies.{at}", failing)
        with pytest.raises(CompileError) as caught:
            opened(old)
    is_full = number != errno.EACCES
    assert caught.value.code == ("E-UPLOAD-DISK" if is_full else "E-OUTPUT-FILE")
    assert "is not migrated" in caught.value.message
    assert dump(old) == before
    assert copies_of(old) == ([earlier] if earlier else [])
    opened(old)
    assert version_in(old) == HEAD


@needs_mounts
def test_a_full_disk_prevents_the_migration_until_there_is_room(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=800k") as disk:
        old = made_old(disk)
        with closing(sqlite3.connect(old)) as connection, connection:
            connection.execute("UPDATE links SET fragment = ?", ("x" * 20_000,))
        with suppress(OSError), (disk / "filler").open("ab", buffering=0) as file:
            for _ in range(1000):
                file.write(bytes(4096))
        before = dump(old)
        with pytest.raises(CompileError) as caught:
            opened(old)
        assert caught.value.code == "E-UPLOAD-DISK"
        assert "free at least" in caught.value.hint
        assert (dump(old), copies_of(old)) == (before, [])
        (disk / "filler").unlink()
        opened(old)
        assert version_in(old) == HEAD
        (copy,) = copies_of(old)
        assert dump(copy) == before


def test_a_damaged_database_is_not_migrated(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("UPDATE links SET fragment = ?", ("x" * 20_000,))
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'links'"
        ).fetchone()
    data = bytearray(old.read_bytes())
    data[(root - 1) * 4096 + 8 : root * 4096] = b"\xff" * 4088
    old.write_bytes(data)
    with pytest.raises(CompileError) as caught:
        opened(old)
    assert caught.value.code == "E-DATA-DAMAGED"
    assert old.read_bytes() == data
    assert copies_of(old) == []


def test_another_process_waits_for_a_long_migration(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", 0.05)
    holder = sqlite3.connect(old, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(1.0, lambda: holder.execute("ROLLBACK"))
    timer.start()
    opened(old)
    timer.join()
    holder.close()
    assert version_in(old) == HEAD


def test_a_database_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(CompileError, match="the database cannot be used") as caught:
        Database(f"sqlite:///{tmp_path / 'file' / 'x.db'}").prepare()
    assert caught.value.code == "E-OPTION-VALUE"
    (tmp_path / "x.db").write_bytes(b"no database" * 1000)
    with pytest.raises(CompileError, match="not a database"):
        Database(f"sqlite:///{tmp_path / 'x.db'}").prepare()


@pytest.fixture
def newest(tmp_path: Path) -> Path:
    """The database of a newer program."""
    folder = tmp_path / "data"
    folder.mkdir()
    made = Database(sqlite_url(folder))
    with made.changing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    made.close()
    return folder


def test_a_server_says_that_it_migrates_and_works(old: Path) -> None:
    with running(old.parent.parent, log_format="json") as server:
        link = {"fragment": "v=1&model=sample:digits_cnn"}
        assert server.ask("POST", "/api/v1/links", link)[0] == 201
        told = server.log.read_text()
    assert told.count("a copy of version") == 1, "the parent migrates, ahead of worker and jobs"
    assert len(copies_of(old)) == 1
    assert len(content(sqlite_engine(f"sqlite:///{old}"))["links"]) == N_ROWS + 1


@pytest.mark.parametrize("command", ["serve", "work"])
def test_the_tables_of_a_newer_program_end_a_server_with_a_clear_error(
    newest: Path, command: str
) -> None:
    port = ["--port", "0"] if command == "serve" else []
    done = subprocess.run(
        [sys.executable, "-m", "compiler", command, *port, "--data-folder", str(newest)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert "E-DATA-NEWER" in done.stderr
    assert "Traceback" not in done.stderr
