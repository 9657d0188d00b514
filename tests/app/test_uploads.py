"""Tests of uploads: size limits, ids by content, and no parsing in the web process."""

from __future__ import annotations

import hashlib
import io
import os
import time

import numpy as np
import pytest

from app.uploads import printable_name
from compiler.errors import CompileError

LIMIT = 100_000
RAW = {"content_type": "application/octet-stream"}


def post(client, data: bytes, name: str = "model.onnx", **more):
    return client.post("/api/v1/uploads", data=data, query_string={"name": name}, **RAW, **more)


def kept_files(client) -> list[str]:
    folder = client.application.extensions["uploads"].folder
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def test_an_upload_is_kept_under_the_digest_of_its_content(client):
    answer = post(client, b"some bytes")
    assert answer.status_code == 201
    digest = hashlib.sha256(b"some bytes").hexdigest()
    facts = {"version": 1, "id": digest, "name": "model.onnx", "bytes": 10}
    assert answer.get_json() == facts
    assert client.get(f"/api/v1/uploads/{digest}").get_json() == facts
    assert kept_files(client) == [f"{digest}.json", f"{digest}.onnx"]


def test_an_equal_upload_keeps_the_file_and_notes_its_use(client):
    digest = post(client, b"some bytes").get_json()["id"]
    path = client.application.extensions["uploads"].path(digest)
    os.utime(path, (1e9, 1e9))
    before = path.stat().st_ino
    assert post(client, b"some bytes", "other.onnx").get_json()["name"] == "other.onnx"
    assert path.stat().st_ino == before
    assert path.stat().st_mtime > time.time() - 60
    assert kept_files(client) == [f"{digest}.json", f"{digest}.onnx"]


def test_one_text_in_two_languages_is_two_uploads(client):
    text = b"def m(x: f32[2]):\n    return x\n"
    ids = [post(client, text, name).get_json()["id"] for name in ("a.py", "a.ir", "a.onnx", "b.PY")]
    assert len(set(ids)) == 3
    assert ids[3] == ids[0], "same text and language: same upload"
    kept = client.get(f"/api/v1/uploads/{ids[1]}").get_json()
    assert kept["name"] == "a.ir", "another language: another upload"


def test_a_form_does_the_same(client):
    form = {"model": (io.BytesIO(b"some bytes"), "a.onnx")}
    answer = client.post("/api/v1/uploads", data=form, content_type="multipart/form-data")
    assert answer.status_code == 201
    assert answer.get_json()["name"] == "a.onnx"
    assert answer.get_json()["id"] == hashlib.sha256(b"some bytes").hexdigest()


def test_a_form_without_the_field_is_refused(client):
    form = {"other": (io.BytesIO(b"some bytes"), "a.onnx")}
    answer = client.post("/api/v1/uploads", data=form, content_type="multipart/form-data")
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "E-REQUEST-BODY"


@pytest.mark.parametrize("form", [False, True])
def test_an_upload_over_the_limit_is_refused_and_the_limit_is_named(client, form):
    data = bytes(LIMIT + 100_000)
    if form:
        fields = {"model": (io.BytesIO(data), "a.onnx")}
        answer = client.post("/api/v1/uploads", data=fields, content_type="multipart/form-data")
    else:
        answer = post(client, data)
    assert answer.status_code == 413
    error = answer.get_json()["error"]
    assert error["code"] == "E-UPLOAD-SIZE"
    assert "at most 100 kB" in error["message"]
    assert "--upload-limit" in error["hint"]
    assert "compilarium report" in error["hint"]
    assert kept_files(client) == []


def test_an_upload_at_the_limit_is_taken(client):
    assert post(client, bytes(LIMIT)).status_code == 201
    assert post(client, bytes(LIMIT + 1)).status_code == 413


@pytest.mark.parametrize("form", [False, True])
def test_uploads_may_be_larger_than_other_requests(make_app, form):
    client = make_app(upload_limit_bytes=50_000, request_limit_bytes=1000).test_client()
    data = bytes(40_000)
    if form:
        fields = {"model": (io.BytesIO(data), "a.onnx")}
        answer = client.post("/api/v1/uploads", data=fields, content_type="multipart/form-data")
    else:
        answer = post(client, data)
    assert (answer.status_code, answer.get_json()["bytes"]) == (201, 40_000)


def test_the_bytes_that_arrive_count_not_those_that_were_announced(client):
    store = client.application.extensions["uploads"]
    with pytest.raises(CompileError) as caught:
        store.save(io.BytesIO(bytes(LIMIT + 1)), "a.onnx", announced_bytes=10)
    assert caught.value.code == "E-UPLOAD-SIZE"
    assert kept_files(client) == []


def test_an_empty_upload_is_refused(client):
    answer = post(client, b"")
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"]) == (400, "E-MODEL-EMPTY")
    assert error["where"]["source"] == "model.onnx"
    assert kept_files(client) == []


def test_a_compressed_upload_is_refused(client):
    answer = post(client, b"some bytes", headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "E-REQUEST-BODY")


def test_an_upload_that_takes_too_long_is_given_up(make_app):
    client = make_app(upload_limit_s=-1.0).test_client()
    answer = post(client, b"some bytes")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (408, "E-LIMIT-SECONDS")
    assert kept_files(client) == []


def test_a_full_disk_is_said_to_be_full(client, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(client.application.extensions["uploads"], "_copy", full)
    answer = post(client, b"some bytes")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (507, "E-UPLOAD-DISK")
    assert kept_files(client) == []


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        ("C:\\models\\a.onnx", "a.onnx"),
        ("a\x00b.onnx", "ab.onnx"),
        ("line\nbreak\u202e.onnx", "linebreak.onnx"),
        ("<script>alert(1)</script>", "script>"),
        ("<img src=x onerror=alert(1)>.onnx", "<img src=x onerror=alert(1)>.onnx"),
        ("..", ".."),
        ("", "model.onnx"),
        ("\u0007", "model.onnx"),
        ("x" * 5000, "x" * 200),
    ],
)
def test_names_are_text_and_no_paths(client, given, shown):
    assert printable_name(given) == shown
    answer = post(client, b"some bytes", name=given)
    assert answer.get_json()["name"] == shown
    assert len(kept_files(client)) == 2
    assert all(len(name.split(".")[0]) == 64 for name in kept_files(client))


@pytest.mark.parametrize(
    "upload_id", ["0" * 64, "..", "..%2f..%2fetc%2fpasswd", "0" * 63 + "g", "x" * 10_000]
)
def test_unknown_uploads_are_not_found(client, upload_id):
    answer = client.get(f"/api/v1/uploads/{upload_id}")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "E-REQUEST-UNKNOWN")


def test_old_uploads_make_room_for_new_ones(make_app):
    client = make_app(uploads_kept_bytes=2500).test_client()
    ids = []
    for number in range(3):
        ids.append(post(client, bytes([number]) * 1000).get_json()["id"])
        content = client.application.extensions["uploads"].folder / f"{ids[-1]}.onnx"
        used_s = time.time() - 100 + number
        os.utime(content, (used_s, used_s))
    post(client, b"x" * 1000)
    states = [client.get(f"/api/v1/uploads/{i}").status_code for i in ids]
    assert states == [404, 404, 200]


def test_what_a_dead_server_left_unfinished_goes(client):
    post(client, b"some bytes")
    folder = client.application.extensions["uploads"].folder
    (folder / "incoming-old").write_bytes(b"half")
    os.utime(folder / "incoming-old", (1000, 1000))
    (folder / "incoming-now").write_bytes(b"half")
    client.application.extensions["uploads"].prune()  # as at the start, and every hour
    assert [n for n in kept_files(client) if n.startswith("incoming")] == ["incoming-now"]


def malformed() -> list[bytes]:
    """Twenty files that are not models: noise, and a small message broken in several ways."""
    rng = np.random.default_rng(7)
    noise = [rng.integers(0, 256, n, np.uint8).tobytes() for n in (1, 2, 10, 1000, 90_000)]
    whole = b"\x08\x09\x12\x04test:\x10" + b"\x0a\x02x\x12\x01y" * 20
    cut = [whole[: len(whole) * k // 8] for k in range(1, 8)]
    huge = [b"\x3a\xff\xff\xff\xff\x07", b"\x3a" + b"\xff" * 10, b"\x0a\x80" * 500]
    texts = [b"<html>", b"ir_version: 9", b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\x80\x04\x95."]
    return [*noise, *cut, *huge, *texts]


def test_twenty_malformed_uploads_leave_the_server_healthy(make_app):
    from tests.app.conftest import wait

    client = make_app(worker_module="app.jobs.fork_server_process", n_workers=2).test_client()
    files = malformed()
    assert len(files) == 20
    jobs = []
    for data in files:
        upload = post(client, data).get_json()
        body = {"kind": "compile", "model": {"upload": upload["id"]}}
        jobs.append(client.post("/api/v1/jobs", json=body).get_json()["id"])
    for job_id in jobs:
        job = wait(client, job_id)
        assert job["state"] == "failed"
        assert job["error"]["code"].startswith("E-MODEL-"), job["error"]
        assert job["error"]["hint"]
    assert client.get("/api/v1/about").status_code == 200
