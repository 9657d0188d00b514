"""Tests of the log: JSON lines contain no names or contents of models."""

from __future__ import annotations

import json
import logging

import pytest

from app.logs import JsonLines, configure_logs
from tests.app.server_process import running


@pytest.fixture(autouse=True)
def _restored():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def line_of(name: str, message: str, *arguments: object, error: BaseException | None = None):
    exc_info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord(name, logging.ERROR, __file__, 1, message, arguments, exc_info)
    return json.loads(JsonLines().format(record))


def test_our_messages_are_complete_and_those_of_libraries_are_templates() -> None:
    ours = line_of("compilarium.web", "job %s", "20260101")
    assert ours["message"] == "job 20260101"
    assert ours["level"] == "error"
    assert ours["time"].endswith("Z")
    assert line_of("gunicorn.error", "request %s", "/secret")["message"] == "request %s"


def test_an_exception_has_no_message() -> None:
    try:
        raise KeyError("the name of a node")
    except KeyError as e:
        found = line_of("compilarium.web", "bug %s", "12", error=e)
    assert found["exception"] == "KeyError"
    assert found["frames"][-1].endswith("test_an_exception_has_no_message")
    assert "the name of a node" not in json.dumps(found)


@pytest.mark.parametrize(("form", "is_json"), [("json", True), ("text", False), ("auto", True)])
def test_the_format_follows_the_setting_and_else_the_terminal(
    form, is_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(form)  # standard error is no terminal in tests
    logging.getLogger("compilarium.web").warning("full")
    logging.getLogger("compilarium.web").info("not a failure")
    said = capsys.readouterr().err
    if is_json:
        assert json.loads(said)["message"] == "full"
    else:
        assert said == "WARNING compilarium.web: full\n"


def test_requests_are_logged_if_wanted_and_by_template_only(tmp_path) -> None:
    with running(tmp_path, log_requests="1", log_format="json") as server:
        server.ask("GET", "/api/v1/jobs/secret?fragment=secret")
        server.ask("POST", "/api/v1/uploads?name=secret", b"secret")
        server.ask("POST", "/api/v1/links", {"fragment": "v=1&model=sample:secret"})
        server.ask("POST", "/api/v1/jobs", {"secret": 1}, {"Idempotency-Key": "secret"})
        server.ask("SECRET", "/secret")
    text = server.log.read_text()
    assert "secret" not in text.lower()
    rows = [json.loads(line) for line in text.splitlines()]
    assert {"GET", "POST", "unknown"} == {row["method"] for row in rows}
    found = {(row["route"], row["status"]) for row in rows}
    assert {("/api/v1/jobs/<job_id>", 404), ("/api/v1/uploads", 201)} <= found
    assert all(row["level"] == "info" and row["seconds"] >= 0 for row in rows)
