"""Tests of backup, restore and check: nothing is lost, and no damage stays unseen."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import NullPool, create_engine

from app.config import Settings
from app.data import backup as backups
from app.data.backup import back_up, restore
from app.data.check import Report, check
from app.data.files import is_stored_name
from app.data.manifest import MANIFEST, Manifest, Stored
from app.metrics.folder import shared_counts
from app.store.database import FILE_NAME, downgrade, sqlite_url
from app.store.jobs import reading
from app.store.maintenance import jobs_in
from compiler.errors import CompileError
from tests.app.conftest import (
    MakeApp,
    change_row,
    events_told,
    jobs_of,
    submit,
    wait,
    wait_until,
)

RAW = {"content_type": "application/octet-stream"}
OLD_S = 5 * 86_400


def upload(client, data: bytes, name: str = "m.onnx") -> str:
    return client.post(f"/api/v1/uploads?name={name}", data=data, **RAW).get_json()["id"]


def settings_in(folder: Path) -> Settings:
    return Settings.of({"data_folder": folder})


def listing(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def states(report: Report) -> list[tuple[str, str]]:
    return sorted((each.state, each.path) for each in report.findings)


@dataclass(frozen=True)
class Used:
    """A server with a linked upload, a written model, and a job of each state."""

    client: FlaskClient
    linked: str
    text: str
    link: str
    finished: str
    running: str


@pytest.fixture
def used(make_app: MakeApp, tmp_path: Path) -> Used:
    client = make_app(data_folder=tmp_path / "data").test_client()
    linked, text = upload(client, b"linked"), upload(client, b"graph g() {}", "model.ir")
    finished = wait(client, submit(client, model={"upload": linked})["id"])["id"]
    answer = client.post("/api/v1/links", json={"fragment": f"v=1&model=upload:{linked}"})
    running = submit(client, "sleep")["id"]
    wait_until(client, running, lambda job: job["n_stages"] == 3)
    then = time.time() - OLD_S
    os.utime(tmp_path / "data" / "uploads" / f"{text}.onnx", (then, then))
    change_row(client, finished, ended_s=then)
    return Used(client, linked, text, answer.get_json()["id"], finished, running)


@pytest.fixture
def kept(used, tmp_path: Path) -> Path:
    """A backup of the data of this server."""
    back_up(settings_in(tmp_path / "data"), tmp_path / "backup")
    return tmp_path / "backup"


@pytest.fixture(scope="module")
def first_backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a backup that the first test with the fixture `saved` makes."""
    return tmp_path_factory.mktemp("first") / "backup"


@pytest.fixture
def saved(request: pytest.FixtureRequest, first_backup: Path, tmp_path: Path) -> Path:
    """A copy of the backup of a used server, which no longer runs, for tests that restore it."""
    if not first_backup.exists():
        request.getfixturevalue("kept").rename(first_backup)
    return shutil.copytree(first_backup, tmp_path / "backup")


def test_a_restored_server_has_everything_except_unfinished_jobs(used, kept, make_app, tmp_path):
    manifest = restore(kept, settings_in(tmp_path / "again"))
    again = make_app(data_folder=tmp_path / "again").test_client()
    for path in (
        f"uploads/{used.linked}",
        f"uploads/{used.text}",
        f"links/{used.link}",
        f"jobs/{used.finished}",
        f"jobs/{used.finished}/stages/0/text",
    ):
        there, here = (c.get(f"/api/v1/{path}") for c in (used.client, again))
        assert (here.status_code, here.data) == (200, there.data), path
    assert again.get(f"/api/v1/jobs/{used.running}").status_code == 404
    with jobs_of(again).database.looking() as connection:
        (job,) = reading.finished(connection)
    kept_text = tmp_path / "again" / "uploads" / f"{used.text}.onnx"
    for then in (job.ended_s, kept_text.stat().st_mtime):
        assert OLD_S - 60 < time.time() - then, "the age of data stays, since quotas count it"
    assert events_told(again, used.finished) == events_told(used.client, used.finished)
    assert not list((tmp_path / "again").rglob("*.partial"))
    assert manifest.revision
    made = [tmp_path / "again", *(p for p in (tmp_path / "again").rglob("*") if p.is_file())]
    assert {p.stat().st_mode & 0o077 for p in made} == {0}, "only the user may read the data"
    assert sorted(os.listdir(tmp_path)) == ["again", "backup", "data"]


def test_the_folder_and_its_backup_are_sound_and_the_check_changes_neither(used, kept, tmp_path):
    report = check(settings_in(tmp_path / "data"))
    assert states(report) == []
    assert report.counts["jobs"][0] == 2
    jobs_of(used.client).stop()  # otherwise heartbeats change the database
    for folder in (tmp_path / "data", kept):
        before = listing(folder)
        report = check(settings_in(folder))
        assert report.is_sound
        assert states(report) == []
        assert listing(folder) == before
    assert report.counts["uploads"][0] == 2
    assert report.counts["jobs"][0] == 1


def test_a_backup_without_jobs(used, tmp_path):
    manifest = back_up(settings_in(tmp_path / "data"), tmp_path / "b", with_jobs=False)
    assert not [name for name in manifest.files if name.startswith("jobs/")]
    assert jobs_in(tmp_path / "b" / FILE_NAME) == []
    assert f"uploads/{used.linked}.pinned" in manifest.files


def test_a_backup_while_others_upload_and_evict(used, tmp_path):
    stop = threading.Event()
    folder = tmp_path / "data" / "uploads"

    def change() -> None:
        number = 0
        while not stop.is_set():
            each = upload(used.client, f"upload {number}".encode())
            if number % 2:
                (folder / f"{each}.onnx").unlink()
                (folder / f"{each}.json").unlink()
            number += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for number in range(5):
            back_up(settings_in(tmp_path / "data"), tmp_path / f"b{number}")
            report = check(settings_in(tmp_path / f"b{number}"))
            assert report.is_sound, report.findings
    finally:
        stop.set()
        thread.join()


def test_a_job_that_is_evicted_during_a_backup_is_left_out(used, tmp_path, monkeypatch):
    real = backups.copy

    def evicting(source: Path, target: Path) -> Stored:
        if source.parent.name == "parts" and source.exists():
            shutil.rmtree(source.parent)
        return real(source, target)

    monkeypatch.setattr(backups, "copy", evicting)
    manifest = back_up(settings_in(tmp_path / "data"), tmp_path / "b")
    assert not [name for name in manifest.files if name.startswith("jobs/")]
    assert not (tmp_path / "b" / "jobs" / used.finished).exists()
    assert jobs_in(tmp_path / "b" / FILE_NAME) == []


@pytest.mark.parametrize("content", ["file", "folder", "link"])
def test_a_folder_with_data_is_not_replaced(kept, tmp_path, content):
    target = tmp_path / "again"
    if content == "link":
        target.symlink_to(tmp_path / "elsewhere")
    else:
        target.mkdir()
        (target / "x").mkdir() if content == "folder" else (target / "x").touch()
    with pytest.raises(CompileError, match="not empty") as caught:
        restore(kept, settings_in(target))
    assert caught.value.code == "E-OPTION-VALUE"
    with pytest.raises(CompileError, match="exists already"):
        back_up(settings_in(tmp_path / "data"), target)


def test_an_empty_folder_is_filled(saved, tmp_path):
    (tmp_path / "again").mkdir()
    restore(saved, settings_in(tmp_path / "again"))
    assert (tmp_path / "again" / FILE_NAME).is_file()


def broken_manifest(kept: Path, **changes: object) -> None:
    facts = json.loads((kept / MANIFEST).read_text())
    (kept / MANIFEST).write_text(json.dumps(facts | changes))


JOB = f"jobs/20260101-{'0' * 20}"


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "/etc/x", "uploads/../../x", "jobs/x", "uploads/x", "", "manifest.json", "jobs"),
        *(f"uploads/{'a' * 64}.sh", "compilarium.db\n", JOB, f"{JOB}/../x"),
        *(f"{JOB}/.hidden", f"{JOB}/x.partial", f"{JOB}//x", f"{JOB}/a/b/c/d/e"),
    ],
)
def test_a_manifest_with_a_hostile_path_is_refused(saved, tmp_path, name):
    assert not is_stored_name(name)
    broken_manifest(saved, files={name: {"bytes": 1, "sha256": "0" * 64}})
    with pytest.raises(CompileError) as caught:
        restore(saved, settings_in(tmp_path / "again"))
    assert caught.value.code == "E-DATA-DAMAGED"
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda b, m: (b / m).write_bytes(b"other"), "E-DATA-DAMAGED"),
        (lambda b, m: (b / m).unlink(), "E-DATA-DAMAGED"),
        (lambda b, m: ((b / m).unlink(), (b / m).symlink_to("/proc/version")), "E-OUTPUT-FILE"),
        (lambda b, m: (b / MANIFEST).unlink(), "E-DATA-DAMAGED"),
        (lambda b, m: (b / MANIFEST).write_text("[" * 100_000), "E-DATA-DAMAGED"),
        (lambda b, m: (b / MANIFEST).write_text("[]"), "E-DATA-DAMAGED"),
        (lambda b, m: broken_manifest(b, files={m: {"bytes": "1"}}), "E-DATA-DAMAGED"),
        (lambda b, m: broken_manifest(b, format=2), "E-DATA-NEWER"),
        (lambda b, m: broken_manifest(b, revision="9999"), "E-DATA-NEWER"),
    ],
)
def test_a_damaged_or_newer_backup_is_refused(saved, tmp_path, damage, code):
    upload_name = next(saved.glob("uploads/*.onnx")).name
    damage(saved, f"uploads/{upload_name}")
    with pytest.raises(CompileError) as caught:
        restore(saved, settings_in(tmp_path / "again"))
    assert caught.value.code == code
    assert not (tmp_path / "again").exists()


def test_a_backup_with_tables_of_a_newer_program_is_refused(used, tmp_path):
    set_revision(tmp_path / "data" / FILE_NAME, "9999")
    manifest = back_up(settings_in(tmp_path / "data"), tmp_path / "backup")
    assert manifest.revision == "9999", "a backup needs no migration"
    broken_manifest(tmp_path / "backup", revision="0001")
    with pytest.raises(CompileError, match="9999") as caught:
        restore(tmp_path / "backup", settings_in(tmp_path / "again"))
    assert caught.value.code == "E-DATA-NEWER"
    assert ("damaged", FILE_NAME) in states(check(settings_in(tmp_path / "data")))


def set_revision(file: Path, revision: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))


def test_a_server_refuses_the_tables_of_a_newer_program(used, make_app, tmp_path):
    set_revision(tmp_path / "data" / FILE_NAME, "9999")
    client = make_app(data_folder=tmp_path / "data").test_client()
    answer = client.get(f"/api/v1/links/{used.link}")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (500, "E-DATA-NEWER")


def test_a_backup_of_older_tables_is_migrated_by_the_server(used, kept, make_app, tmp_path):
    restore(kept, settings_in(tmp_path / "old"))
    engine = create_engine(sqlite_url(tmp_path / "old"), poolclass=NullPool)
    with engine.begin() as connection:
        downgrade(connection, "0001")
    assert back_up(settings_in(tmp_path / "old"), tmp_path / "older").revision == "0001"
    restore(tmp_path / "older", settings_in(tmp_path / "again"))
    client = make_app(data_folder=tmp_path / "again").test_client()
    assert client.get(f"/api/v1/links/{used.link}").status_code == 200


@pytest.mark.parametrize("name", ["copy", "sync", "os.rename"])
@pytest.mark.parametrize("what", [back_up, restore])
def test_a_full_disk_leaves_no_half_copy(used, kept, tmp_path, monkeypatch, name, what):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"app.data.backup.{name}", full)
    data, target = settings_in(tmp_path / "data"), tmp_path / "target"
    with pytest.raises(CompileError, match="disk is full") as caught:
        back_up(data, target) if what is back_up else restore(kept, settings_in(target))
    assert caught.value.code == "E-OUTPUT-FILE"
    assert sorted(os.listdir(tmp_path)) == ["backup", "data"]


def test_a_backup_with_a_database_is_not_restored_beside_another_database(saved, tmp_path):
    settings = Settings.of({"data_folder": tmp_path / "again", "database_url": "postgresql://x/y"})
    with pytest.raises(CompileError, match="another database"):
        restore(saved, settings)


def test_a_missing_data_folder_has_no_backup_and_no_check(tmp_path):
    for call in (lambda s: back_up(s, tmp_path / "b"), check):
        with pytest.raises(CompileError, match="no data folder") as caught:
            call(settings_in(tmp_path / "nothing"))
        assert caught.value.code == "E-OPTION-VALUE"


def test_the_check_finds_damages_missing_models_and_orphans(used, tmp_path):
    folder, then, unknown = tmp_path / "data", time.time() - OLD_S, f"20260101-{'0' * 20}"
    uploads, job = folder / "uploads", jobs_of(used.client).find(used.finished).folder
    part = next((job / "parts").glob("*.gz"))
    part.write_bytes(part.read_bytes()[:-3])
    (uploads / f"{used.text}.onnx").write_bytes(b"changed text")
    for orphan in (
        uploads / f"{'0' * 64}.json",
        uploads / "incoming-x",
        job / "parts" / "x.partial",
    ):
        orphan.write_bytes(b"x")
        os.utime(orphan, (then, then))
    (uploads / "incoming-y").write_bytes(b"a server writes this file")
    for name in ("lost", unknown):
        (folder / "jobs" / name).mkdir()
        os.utime(folder / "jobs" / name, (then, then))
    (folder / "notes.txt").touch()
    report = check(settings_in(folder))
    assert not report.is_sound
    assert states(report) == [
        ("damaged", f"jobs/{used.finished}/1/parts/{part.name}"),
        ("damaged", f"uploads/{used.text}.onnx"),
        ("orphan", f"jobs/{unknown}"),
        ("orphan", f"jobs/{used.finished}/1/parts/x.partial"),
        ("orphan", "jobs/lost"),
        ("orphan", "notes.txt"),
        ("orphan", f"uploads/{'0' * 64}.json"),
        ("orphan", "uploads/incoming-x"),
    ]


def test_the_counts_of_a_running_server_are_no_orphans_and_not_backed_up(used, tmp_path):
    folder = tmp_path / "data"
    with shared_counts(folder):
        assert states(check(settings_in(folder))) == []
        back_up(settings_in(folder), tmp_path / "backup")
    assert "metrics" not in os.listdir(tmp_path / "backup")


def test_the_check_finds_the_missing_model_of_a_link_and_unreadable_facts(used, tmp_path):
    uploads = tmp_path / "data" / "uploads"
    (uploads / f"{used.linked}.onnx").unlink()
    assert ("missing", f"uploads/{used.linked}.onnx") in states(check(settings_in(uploads.parent)))
    (uploads / f"{used.text}.json").unlink()
    assert ("damaged", f"uploads/{used.text}.onnx") in states(check(settings_in(uploads.parent)))


def test_the_check_finds_the_missing_results_of_a_job(used, tmp_path):
    shutil.rmtree(tmp_path / "data" / "jobs" / used.finished)
    found = states(check(settings_in(tmp_path / "data")))
    assert found == [("missing", f"jobs/{used.finished}")]


def test_the_check_of_a_backup_compares_every_file_with_the_manifest(used, kept):
    changed, lost, *_ = sorted((kept / "jobs" / used.finished / "1" / "parts").iterdir())
    changed.write_bytes(changed.read_bytes() + b"\n")
    lost.unlink()
    found = states(check(settings_in(kept)))
    assert ("damaged", changed.relative_to(kept).as_posix()) in found
    assert ("missing", lost.relative_to(kept).as_posix()) in found


def test_the_check_finds_a_damaged_database(used, tmp_path):
    jobs_of(used.client).stop()  # which would wait for the damaged database
    file = tmp_path / "data" / FILE_NAME
    file.write_bytes(b"no database at all" * 300)
    assert states(check(settings_in(tmp_path / "data"))) == [("damaged", FILE_NAME)]
    with pytest.raises(CompileError) as caught:
        back_up(settings_in(tmp_path / "data"), tmp_path / "b")
    assert caught.value.code in ("E-OUTPUT-FILE", "E-DATA-DAMAGED")
    assert not (tmp_path / "b").exists()


def test_a_manifest_reads_what_it_writes(tmp_path):
    files = {f"uploads/{'a' * 64}.onnx": Stored(3, "b" * 64)}
    manifest = Manifest("0.1", "2026-01-01T00:00:00Z", "0002", files)
    (tmp_path / MANIFEST).write_text(manifest.text())
    assert Manifest.read(tmp_path) == manifest
    assert manifest.n_bytes == 3


def test_of_jobs_that_earlier_versions_kept_in_files_the_finished_are_in_backups(used, tmp_path):
    for number, state in enumerate(("running", "succeeded")):
        folder = tmp_path / "data" / "jobs" / f"20260101-{number:020}"
        folder.mkdir()
        (folder / "job.json").write_text(json.dumps({"state": state}))
    manifest = back_up(settings_in(tmp_path / "data"), tmp_path / "b")
    found = {name for name in manifest.files if name.startswith("jobs/20260101")}
    assert found == {f"jobs/20260101-{1:020}/job.json"}
    assert check(settings_in(tmp_path / "b")).is_sound


def test_a_server_with_postgresql_is_checked_and_backed_up_without_its_database(
    make_app: MakeApp, databases, tmp_path: Path
) -> None:
    url = databases.migrated()
    client = make_app(database_url=url).test_client()
    model = upload(client, b"a model")
    made = client.post("/api/v1/links", json={"fragment": f"v=1&model=upload:{model}"})
    assert made.status_code == 201
    job_id = wait(client, submit(client)["id"])["id"]
    settings = Settings.of({"data_folder": tmp_path / "data", "database_url": url})
    found = check(settings)
    assert states(found) == []
    assert found.counts["database"][1] > 0
    manifest = back_up(settings, tmp_path / "backup")
    assert manifest.revision == ""
    assert FILE_NAME not in manifest.files
    assert any(job_id in path for path in manifest.files)
    in_backup = Settings.of({"data_folder": tmp_path / "backup", "database_url": url})
    assert states(check(in_backup)) == []
    restore(tmp_path / "backup", Settings.of({"data_folder": tmp_path / "b", "database_url": url}))
    with jobs_of(client).database.changing() as connection:
        connection.exec_driver_sql("DELETE FROM job_events WHERE number = 2")
    (tmp_path / "data" / "uploads" / f"{model}.onnx").unlink()
    assert ("damaged", "the PostgreSQL database") in states(check(settings))


def test_the_check_of_a_new_or_absent_database_makes_no_tables(databases, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    url = databases.new("fresh")
    settings = Settings.of({"data_folder": tmp_path / "data", "database_url": url})
    assert states(check(settings)) == []
    with databases.server.connect("fresh") as connection:
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(tables).fetchall() == []
    away = f"postgresql://me@/x?host={tmp_path}"
    settings = Settings.of({"data_folder": tmp_path / "data", "database_url": away})
    assert states(check(settings)) == [("damaged", "the PostgreSQL database")]
