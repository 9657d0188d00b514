"""Tests of a full disk: the answer is 507, nothing half-written stays, and nothing is lost."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import event

from app.jobs.records import Job, load
from app.store import sqlite
from tests.app.conftest import jobs_of, submit, until, wait, wait_until
from tests.platforms import needs_mounts

RAW = {"content_type": "application/octet-stream"}
PLACE = "v=1&model=sample:digits_cnn"


def upload(client, data: bytes):
    return client.post("/api/v1/uploads?name=m.onnx", data=data, **RAW)


def code(answer) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["error"]["code"]


FULL = (507, "E-UPLOAD-DISK")


@contextmanager
def mounted(folder: Path, limit: str) -> Generator[Path]:
    """Mount a disk in memory with a limit."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB."""
    with mounted(tmp_path / "disk", "size=1m") as folder:
        yield folder


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("ab", buffering=0) as file:
        for _ in range(1000):
            file.write(bytes(4096))


@needs_mounts
def test_a_small_disk_refuses_uploads_links_and_jobs_and_loses_none(make_app, disk):
    client = make_app(
        data_folder=disk / "data", upload_limit_bytes=10**8, links_per_minute=1000
    ).test_client()
    kept = upload(client, b"kept").get_json()["id"]
    link = client.post("/api/v1/links", json={"fragment": PLACE}).get_json()
    job = wait(client, submit(client)["id"])["id"]
    fill(disk)
    before = sorted(os.listdir(disk / "data" / "uploads")), os.listdir(disk / "data" / "jobs")
    assert code(upload(client, bytes(5 * 10**6))) == FULL
    assert code(upload(client, bytes(10))) == FULL
    fragments = [f"{PLACE}&stage={i}&kernel=" + "x" * 900 for i in range(50)]
    answers = [client.post("/api/v1/links", json={"fragment": f}) for f in fragments]
    refused = [answer for answer in answers if answer.status_code != 201]
    assert {code(answer) for answer in refused} == {FULL}
    body = {"kind": "compile", "model": {"sample": "digits_cnn"}}
    assert code(client.post("/api/v1/jobs", json=body)) == FULL
    after = sorted(os.listdir(disk / "data" / "uploads")), os.listdir(disk / "data" / "jobs")
    assert after == before, "nothing half-written stays"
    assert client.get(f"/api/v1/uploads/{kept}").status_code == 200
    assert client.get(f"/api/v1/links/{link['id']}").get_json() == link
    assert client.get(f"/api/v1/jobs/{job}").get_json()["state"] == "succeeded"
    (disk / "filler").unlink()
    assert upload(client, bytes(10)).status_code == 201
    assert client.post("/api/v1/links", json={"fragment": f"{PLACE}&stage=9"}).status_code == 201
    assert wait(client, submit(client, name="again")["id"])["state"] == "succeeded"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("at", range(4))
def test_an_upload_that_fails_at_any_write_leaves_nothing(client, monkeypatch, at, number):
    """The content is flushed, the facts are flushed and renamed, the content is renamed."""
    kept = upload(client, b"kept").get_json()["id"]
    folder = client.application.extensions["uploads"].folder
    before = sorted(os.listdir(folder))
    calls = iter(range(100))

    def failing(real):
        def call(*arguments):
            if next(calls) == at:
                raise OSError(number, os.strerror(number))
            return real(*arguments)

        return call

    with monkeypatch.context() as broken:
        broken.setattr("app.uploads.os.fsync", failing(os.fsync))
        broken.setattr("app.uploads.os.replace", failing(os.replace))
        assert code(upload(client, b"new")) == FULL
    left = sorted(os.listdir(folder))
    assert [name for name in left if name.endswith((".onnx", ".pinned"))] == [f"{kept}.onnx"]
    assert not [name for name in left if "incoming" in name or "partial" in name]
    assert set(before) <= set(left)
    assert upload(client, b"new").status_code == 201


def test_a_link_on_a_full_disk_is_refused_and_the_others_stay(client):
    first = client.post("/api/v1/links", json={"fragment": PLACE}).get_json()
    engine = client.application.extensions["database"].engine

    @event.listens_for(engine, "connect")
    def full(connection, _record):
        (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={n_pages}")

    answers = [
        client.post("/api/v1/links", json={"fragment": f"{PLACE}&stage={i}&kernel=" + "x" * 900})
        for i in range(20)
    ]
    assert code(answers[-1]) == FULL
    assert client.get(f"/api/v1/links/{first['id']}").get_json() == first
    event.remove(engine, "connect", full)
    fragment = {"fragment": f"{PLACE}&stage=19"}
    assert client.post("/api/v1/links", json=fragment).status_code == 201


@needs_mounts
@pytest.mark.parametrize("mode", ["truncate", "wal"])
def test_a_new_database_on_a_disk_without_a_free_inode(tmp_path, make_app, monkeypatch, mode):
    """SQLite cannot create its files, and does not report the reason."""
    monkeypatch.setattr(sqlite, "journal_mode", lambda version: mode)
    with mounted(tmp_path / "disk", "nr_inodes=12") as disk:
        client = make_app(data_folder=disk / "data").test_client()
        (disk / "data").mkdir()
        with suppress(OSError):
            for number in range(100):
                (disk / f"{number}").touch()
        assert code(client.post("/api/v1/links", json={"fragment": PLACE})) == FULL
        for number in range(4):
            (disk / f"{number}").unlink()
        assert client.post("/api/v1/links", json={"fragment": PLACE}).status_code == 201
        client.application.extensions["database"].close()


def test_a_job_that_cannot_be_stored_is_refused_and_leaves_nothing(client, monkeypatch):
    jobs = jobs_of(client)
    wait(client, submit(client)["id"])
    before = os.listdir(jobs.folder)

    body = {"kind": "compile", "model": {"sample": "digits_cnn"}}
    for name in ("app.jobs.records.Job.save", "app.jobs.queue.Path.mkdir"):
        with monkeypatch.context() as broken:
            broken.setattr(name, no_space)
            assert code(client.post("/api/v1/jobs", json=body)) == FULL
        assert os.listdir(jobs.folder) == before
        assert not jobs.waiting
    with monkeypatch.context() as broken:  # an event that cannot be written loses no job
        broken.setattr("app.jobs.records.Job._write", no_space)
        with jobs.changed:  # the job starts when the disk has room again
            request = {"kind": "compile", "model": {"sample": "none"}, "pipeline": "none"}
            job = jobs.submit({**request, "shapes": {}, "options": {}}, "a model")
            broken.undo()
    ended = wait(client, job.id)
    assert ended["state"] == "succeeded", ended["error"]


@needs_mounts
def test_events_that_a_full_disk_cuts_are_written_later(disk):
    (disk / "job").mkdir()
    job = Job("20260101-" + "0" * 20, disk / "job", {"kind": "compile"}, "a model")
    job.save()
    job.add("queued", {"position": 1})
    fill(disk)
    for number in range(2):
        with pytest.raises(OSError, match="space"):
            job.add("phase", {"phase": "x" * 9000, "number": number})
    cut = (disk / "job" / "events.jsonl").read_text()
    assert cut.count("\n") > 1, "the file ends within a line"
    with pytest.raises(OSError, match="space"):
        job.end("succeeded")
    assert job.is_end_unwritten
    (disk / "filler").unlink()
    job.write_end()
    assert not job.is_end_unwritten
    again = load(disk / "job")
    assert again is not None
    assert again.state == "succeeded"
    assert again.events == job.events
    assert [each.number for each in again.events] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["Job.save", "Job._write"])
def test_the_end_of_a_job_is_written_when_the_disk_has_room(make_app, monkeypatch, name):
    client = make_app().test_client()
    jobs = jobs_of(client)
    job = submit(client, "until_stopped")["id"]
    wait_until(client, job, lambda facts: facts["n_stages"] == 3)
    with monkeypatch.context() as broken:
        broken.setattr(f"app.jobs.records.{name}", no_space)
        jobs.find(job).ask_to_stop()
        assert wait(client, job)["state"] == "succeeded"
        until(lambda: not jobs.needed().jobs)
    jobs.prune()
    stored = load(jobs.folder / job)
    assert stored is not None
    assert stored.state == "succeeded"
    assert stored.events == jobs.find(job).events


def test_a_job_of_a_dead_server_is_found_on_a_full_disk(client, monkeypatch):
    job = jobs_of(client).find(wait(client, submit(client)["id"])["id"])
    job.state, job.server_pid = "running", 2**22 + 1  # beyond the largest id of a process
    job.save()
    jobs_of(client).jobs.pop(job.id)
    monkeypatch.setattr("app.jobs.records.Job.save", no_space)
    answer = client.get(f"/api/v1/jobs/{job.id}")
    assert (answer.status_code, answer.get_json()["state"]) == (200, "failed")


def test_a_log_that_cannot_be_written_costs_no_result(client, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr("app.jobs.child.Path.write_bytes", no_space)
        job = wait(client, submit(client, "log_much")["id"])
    assert job["state"] == "succeeded", job["error"]
