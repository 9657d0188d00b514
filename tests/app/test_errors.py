"""Tests of error answers: one shape for all errors, and no internals in any message."""

from __future__ import annotations

import errno
import sqlite3

import pytest
from markupsafe import escape
from sqlalchemy.exc import OperationalError

from compiler.errors import CODES
from tests.app.conftest import jobs_of, n_jobs

JOB = {"kind": "compile", "model": {"sample": "digits_mlp"}}


def assert_error(answer, status: int, code: str) -> dict:
    assert answer.status_code == status
    payload = answer.get_json()
    assert answer.mimetype == "application/problem+json"
    rfc = {"type", "title", "status", "detail"}
    assert set(payload) == {*rfc, "version", "ok", "error"}
    assert (payload["version"], payload["ok"]) == (1, False)
    error = payload["error"]
    assert error["code"] == code
    assert payload["type"] == f"/errors/{code}"
    assert payload["title"] == CODES[code].meaning
    assert (payload["status"], payload["detail"]) == (status, error["message"])
    assert {"code", "message", "where", "notes", "hint"} <= set(error)
    assert set(error["where"]) == {"source", "line", "column", "length", "node"}
    assert error["message"]
    assert error["hint"]
    assert answer.headers["Cache-Control"] == "no-store"
    return error


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        ([], "needed an object"),
        ({}, 'needed "compile" or "inspect"'),
        ({**JOB, "kind": "destroy"}, "got 'destroy'"),
        ({**JOB, "more": 1}, "only the fields"),
        ({**JOB, "model": {}}, "exactly one of"),
        ({**JOB, "model": {"sample": "a", "upload": "b"}}, "exactly one of"),
        ({**JOB, "model": {"path": "/etc/passwd"}}, "only the fields"),
        ({**JOB, "model": {"sample": 3}}, "model.sample"),
        ({**JOB, "pipeline": "a" * 30_000}, "at most 20,000 characters"),
        ({**JOB, "shapes": {"x": [1, -1]}}, "shapes.x"),
        ({**JOB, "shapes": {"x": [1, True]}}, "shapes.x"),
        ({**JOB, "shapes": {"x": [2**40]}}, "shapes.x"),
        ({**JOB, "shapes": {"x": "1,3"}}, "shapes.x"),
        ({**JOB, "options": {"threads": "1"}}, "options.threads"),
        ({**JOB, "options": {"threads": True}}, "options.threads"),
        ({**JOB, "options": {"seed": -1}}, "options.seed"),
        ({**JOB, "options": {"measure": 1}}, "options.measure"),
        ({**JOB, "options": {"shell": "rm"}}, "only the fields"),
    ],
)
def test_a_wrong_request_names_the_field(client, body, says):
    sent = {"data": body} if isinstance(body, bytes) else {"json": body}
    error = assert_error(client.post("/api/v1/jobs", **sent), 400, "E-REQUEST-BODY")
    assert says in error["message"]
    assert n_jobs(client) == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no_such_pass", "E-PIPELINE-PASS"),
        ("fuse{", "E-PIPELINE-SYNTAX"),
        ("fuse{nothing=1}", "E-PIPELINE-OPTION"),
    ],
)
def test_a_wrong_pipeline_is_refused_before_it_is_queued(client, text, code):
    assert_error(client.post("/api/v1/jobs", json={**JOB, "pipeline": text}), 400, code)
    assert_error(client.post("/api/v1/pipelines/check", json={"text": text}), 400, code)
    assert n_jobs(client) == 0


def test_a_body_over_the_limit_is_refused(make_app):
    client = make_app(request_limit_bytes=1000).test_client()
    assert_error(client.post("/api/v1/jobs", data=b" " * 2000), 413, "E-REQUEST-SIZE")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api/v1/nothing",
        "/api/v1/jobs/nothing",
        "/api/v1/jobs/20260101-00000000000000000000",
        "/api/v1/jobs/../../etc/passwd",
        "/api/v1/jobs/..%2f..%2f..%2fetc%2fpasswd",
        "/api/v1/jobs/%00",
        "/api/v1/jobs/" + "x" * 5000,
        "/static/dist/../../pyproject.toml",
        "/static/dist/..%2f..%2fpyproject.toml",
        "/static/dist/nothing.js",
        "/static/js/main.js",
    ],
)
def test_what_is_not_there_is_not_found(client, path):
    assert_error(client.get(path), 404, "E-REQUEST-UNKNOWN")


@pytest.mark.parametrize("model", [{"sample": "../x"}, {"upload": "../x"}, {"upload": "0" * 64}])
def test_unknown_models_are_not_found(client, model):
    body = {"kind": "compile", "model": model}
    assert_error(client.post("/api/v1/jobs", json=body), 404, "E-REQUEST-UNKNOWN")


def test_a_wrong_method_is_refused(client):
    error = assert_error(client.put("/api/v1/jobs"), 405, "E-REQUEST-METHOD")
    assert "POST" in error["message"]


def test_a_bug_has_a_number_and_no_details(client, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise RuntimeError("secret details")

    monkeypatch.setattr(jobs_of(client), "find", broken)
    answer = client.get("/api/v1/jobs/20260101-00000000000000000000")
    error = assert_error(answer, 500, "E-SERVER-BUG")
    assert error["trace_id"] in error["message"]
    assert "secret" not in answer.get_data(as_text=True)
    assert error["trace_id"] in caplog.text
    assert "secret details" in caplog.text


def test_hostile_text_in_errors_is_json_text(client):
    name = "</script><img src=x onerror=alert(1)>"
    answer = client.post("/api/v1/jobs", json={"kind": "compile", "model": {"sample": name}})
    error = assert_error(answer, 404, "E-REQUEST-UNKNOWN")
    assert name in error["message"]
    assert answer.mimetype == "application/problem+json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("code", CODES)
def test_the_type_of_a_problem_is_the_address_of_a_page_about_its_code(client, code):
    page = client.get(f"/errors/{code}")
    assert page.status_code == 200
    assert f"<h1>Error {code}</h1>" in page.text
    assert page.text.count("<dt>") == 1


def test_a_page_has_all_codes_with_their_meanings(client):
    text = client.get("/errors").text
    for code in CODES:
        assert f'<div class="glossary-term" id="{code}">' in text
    assert str(escape(CODES["E-LIMIT-RATE"].meaning)) in text
    assert "HTTP status 429" in text
    assert_error(client.get("/errors/E-NO-SUCH"), 404, "E-REQUEST-UNKNOWN")


def test_the_table_of_codes_is_served(client):
    rows = client.get("/api/v1/errors").get_json()["errors"]
    assert [r["code"] for r in rows] == list(CODES)


def locked() -> OperationalError:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return OperationalError("INSERT secret", {}, error)


@pytest.mark.parametrize("error", [locked(), OSError(errno.EROFS, "secret"), OSError(24, "")])
def test_without_the_database_or_the_data_folder_a_client_shall_try_again(
    client, monkeypatch, error
):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(jobs_of(client), "obtain", fail)
    answer = client.post("/api/v1/jobs", json=JOB)
    told = assert_error(answer, 503, "E-SERVER-STORAGE")
    assert "secret" not in told["message"]
    assert int(answer.headers["Retry-After"]) > 0
