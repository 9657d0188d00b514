"""Tests of a full disk: the answer is 507, nothing half-written stays, and nothing is lost."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import event

from tests.app.conftest import jobs_of, submit, wait
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
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


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


def test_a_job_that_cannot_be_stored_is_refused_and_leaves_nothing(client, monkeypatch):
    jobs = jobs_of(client)
    wait(client, submit(client)["id"])
    before = os.listdir(jobs.folder)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    body = {"kind": "compile", "model": {"sample": "digits_cnn"}}
    with monkeypatch.context() as broken:
        broken.setattr("app.jobs.records.Job.save", full)
        assert code(client.post("/api/v1/jobs", json=body)) == FULL
    assert os.listdir(jobs.folder) == before
    assert not jobs.waiting
    with monkeypatch.context() as broken:  # an event that cannot be written loses no job
        broken.setattr("app.jobs.records.Job._write", full)
        with jobs.changed:  # the job starts when the disk has room again
            request = {"kind": "compile", "model": {"sample": "none"}, "pipeline": "none"}
            job = jobs.submit({**request, "shapes": {}, "options": {}}, "a model")
            broken.undo()
    ended = wait(client, job.id)
    assert ended["state"] == "succeeded", ended["error"]
