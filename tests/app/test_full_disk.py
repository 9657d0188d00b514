"""Tests of a full disk: the answer is 507, nothing half-written stays, and nothing is lost."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from app.store import sqlite
from tests.app.conftest import events_told, jobs_of, n_jobs, submit, until, wait, wait_until
from tests.mounts import mounted
from tests.platforms import needs_mounts

RAW = {"content_type": "application/octet-stream"}
PLACE = "v=1&model=sample:digits_cnn"


def upload(client, data: bytes):
    return client.post("/api/v1/uploads?name=m.onnx", data=data, **RAW)


def code(answer) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["error"]["code"]


FULL = (507, "E-UPLOAD-DISK")


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


@contextmanager
def full_database(client) -> Generator[None]:
    """Let the database of an application grow no more."""
    engine = client.application.extensions["database"].engine

    @event.listens_for(engine, "connect")
    def full(connection, _record):
        (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={n_pages}")

    try:
        yield
    finally:
        event.remove(engine, "connect", full)


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
    with full_database(client):
        fragments = [f"{PLACE}&stage={i}&kernel=" + "x" * 900 for i in range(20)]
        answers = [client.post("/api/v1/links", json={"fragment": each}) for each in fragments]
        assert code(answers[-1]) == FULL
        assert client.get(f"/api/v1/links/{first['id']}").get_json() == first
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


def test_a_job_that_cannot_be_stored_is_refused_and_leaves_nothing(client):
    jobs = jobs_of(client)
    wait(client, submit(client)["id"])
    before = os.listdir(jobs.folder), n_jobs(client)
    with full_database(client):
        request = {"kind": "compile", "model": {"sample": "none"}, "pipeline": "x" * 10**6}
        with pytest.raises(OperationalError, match="full"):
            jobs.submit(request, "a model")
    assert (os.listdir(jobs.folder), n_jobs(client)) == before
    assert wait(client, submit(client)["id"])["state"] == "succeeded"


def test_a_job_whose_folder_cannot_be_made_has_failed(client, monkeypatch):
    wait(client, submit(client)["id"])  # the database has its folder
    with monkeypatch.context() as broken:
        broken.setattr("app.jobs.stored.Path.mkdir", no_space)
        job = wait(client, submit(client)["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "E-UPLOAD-DISK")


def test_events_and_the_end_of_a_job_are_written_when_the_database_has_room(client):
    job = submit(client, "until_stopped")["id"]
    wait_until(client, job, lambda facts: facts["n_stages"] == 3)
    supervisor = jobs_of(client).supervisor
    assert supervisor is not None
    running = supervisor.running[job]
    jobs_of(client).ask_to_stop(job)
    until(lambda: running.is_stopped)
    with full_database(client):
        for _ in range(100):
            running.hear("phase", {"phase": "read", "words": "x" * 10_000})
        time.sleep(1.0)
        assert client.get(f"/api/v1/jobs/{job}").get_json()["state"] == "running"
    assert wait(client, job)["state"] == "succeeded"
    told = events_told(client, job)
    assert [event.number for event in told] == list(range(1, len(told) + 1))
    assert [event.name for event in told].count("phase") >= 100
    assert told[-1].name == "finished"


def test_a_log_that_cannot_be_written_costs_no_result(client, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr("app.jobs.child.Path.write_bytes", no_space)
        job = wait(client, submit(client, "log_much")["id"])
    assert job["state"] == "succeeded", job["error"]
