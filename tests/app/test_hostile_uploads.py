"""Tests of hostile uploads: each is answered in time, and no child process dies."""

from __future__ import annotations

import time
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.usage import UNLIMITED
from tests.app.conftest import QUICK, MakeApp, wait
from tests.malformed import growth
from tests.malformed.hostile import Hostile, hostile_files

ANSWER_S = 20.0
"""Limit on the processor time of an answer, because the machine may have other load."""

JOB_LIMIT_S = 12.0
FAMILIES = ("doubling", "functions", "huge_dims", "strings", "work")
SOME = {
    "concat_constant_34",
    "tile_2_to_the_40",
    "doubling_8",
    "pattern_0",
}

assert growth.__doc__, "importing the module registers its families"


def answered(client: FlaskClient, method: str, path: str, **rest: Any) -> Any:
    """Return the JSON of an answer, which must arrive in time."""
    start = time.thread_time()
    answer = client.open(f"/api/v1{path}", method=method, **rest)
    assert time.thread_time() - start < ANSWER_S, path
    assert answer.status_code < 500, (path, answer.get_data(as_text=True)[:500])
    return answer.get_json()


def check(client: FlaskClient, file: Hostile) -> None:
    upload = answered(
        client,
        "POST",
        "/uploads",
        data=file.make(),
        query_string={"name": "model.onnx"},
        content_type="application/octet-stream",
    )
    body = {"kind": "compile", "model": {"upload": upload["id"]}, "options": QUICK}
    job = wait(client, answered(client, "POST", "/jobs", json=body)["id"])
    if job["state"] == "failed":
        assert job["error"]["code"] not in ("E-SERVER-BUG", "E-LIMIT-CRASH"), job["error"]
    for part in ("result", "union", "provenance"):
        answered(client, "GET", f"/jobs/{job['id']}/{part}")


@pytest.fixture
def hostile_client(make_app: MakeApp) -> FlaskClient:
    return make_app(
        worker_module="app.jobs.fork_server_process",
        upload_limit_bytes=64 << 20,
        job_limit_s=JOB_LIMIT_S,
        memory_limit_bytes=4 << 30,
        **UNLIMITED,
    ).test_client()


def test_some_hostile_uploads_are_answered_in_time(hostile_client: FlaskClient) -> None:
    files = [f for f in hostile_files(FAMILIES) if f.name in SOME]
    assert len(files) == len(SOME)
    for file in files:
        check(hostile_client, file)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_hostile_uploads_are_answered_in_time(hostile_client: FlaskClient, family: str) -> None:
    for file in hostile_files((family,)):
        check(hostile_client, file)
