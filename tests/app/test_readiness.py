"""Tests of /livez and /readyz."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app import readiness
from app.jobs.isolation import Verdict
from app.readiness import CHECKS, ReadinessChecks
from tests.app.conftest import jobs_of, submit, wait


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_KEPT_S", 0.0)


def problems(client: FlaskClient) -> dict[str, str]:
    """Return the problems by check; the status must agree with them."""
    answer = client.get("/readyz")
    found = {each["name"]: each["problem"] for each in answer.get_json()["checks"]}
    is_ready = not any(found.values())
    assert (answer.status_code, answer.get_json()["ready"]) == (200 if is_ready else 503, is_ready)
    assert answer.headers["Cache-Control"] == "no-store"
    return {name: problem for name, problem in found.items() if problem}


def test_a_working_server_is_ready_before_and_after_jobs(client: FlaskClient) -> None:
    assert client.get("/livez").text == "alive\n"
    assert [each["name"] for each in client.get("/readyz").get_json()["checks"]] == list(CHECKS)
    assert problems(client) == {}
    wait(client, submit(client)["id"])
    assert problems(client) == {}


def test_a_database_that_refuses_writes_is_a_problem(client: FlaskClient, tmp_path: Path) -> None:
    assert problems(client) == {}
    database = client.application.extensions["database"]
    with database.session() as session:  # needs no permissions, so root is refused too
        session.connection().exec_driver_sql(
            "CREATE TRIGGER full BEFORE INSERT ON counts BEGIN SELECT RAISE(FAIL, 'secret'); END"
        )
        session.connection().exec_driver_sql("DELETE FROM counts")
    assert problems(client) == {"database": "IntegrityError"}
    assert client.get("/livez").status_code == 200


def test_a_full_disk_is_a_problem(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert problems(client) == {
        "disk": "1 MB are free, and an upload and a result need 256 MB",
    }


def test_a_missing_sandbox_is_a_problem_unless_the_user_waives_it(client: FlaskClient) -> None:
    isolation = jobs_of(client).runner.isolation
    isolation.verdict = Verdict("absent", "bubblewrap is not installed", "install it")
    assert problems(client) == {"sandbox": "bubblewrap is not installed"}
    isolation.verdict = Verdict("waived", "bubblewrap is not installed", "install it")
    assert problems(client) == {}


def test_a_queue_without_threads_and_a_stopping_one_are_problems(client: FlaskClient) -> None:
    wait(client, submit(client)["id"])
    jobs = jobs_of(client)
    with jobs.changed:  # as if a defect had ended the threads
        jobs.is_stopping = True
        jobs.changed.notify_all()
    assert problems(client) == {"queue": "the server is stopping"}
    for thread in jobs.threads:
        thread.join()
    jobs.is_stopping = False
    assert problems(client) == {"queue": "1 of 1 threads of the queue have ended"}


def test_another_check_is_a_row_of_the_table(client: FlaskClient) -> None:
    app = client.application
    checks = ReadinessChecks(app, {**CHECKS, "more": lambda _: "broken"})
    found = checks.payload()
    assert not found["ready"]
    assert found["checks"][-1]["name"] == "more"
    assert found["checks"][-1]["problem"] == "broken"


def test_findings_are_kept_for_a_moment(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_KEPT_S", 60.0)
    calls: list[None] = []
    checks = ReadinessChecks(client.application, {"one": lambda _: calls.append(None) or ""})
    assert checks.payload() == checks.payload()
    assert len(calls) == 1
