"""Tests of /livez and /readyz."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from app import readiness
from app.jobs.isolation import Verdict
from app.readiness import CHECKS, ReadinessChecks
from app.store.blobs.remote import RemoteBlobs
from app.store.models import SupervisorRow
from tests.app.conftest import MakeApp, jobs_of, submit, until, wait


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
    until(lambda: problems(client) == {})


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


def test_a_blob_store_that_is_away_is_a_problem(make_app: MakeApp, tmp_path: Path) -> None:
    client = make_app(blob_store=f"file://{tmp_path}/store").test_client()
    assert problems(client) == {}
    blobs = jobs_of(client).blobs
    assert isinstance(blobs, RemoteBlobs)
    blobs.url = "nowhere://store"
    blobs._opened = None
    assert problems(client) == {"store": "CompileError"}


def test_a_missing_sandbox_is_a_problem_unless_the_user_waives_it(client: FlaskClient) -> None:
    isolation = jobs_of(client).runner.isolation
    isolation.verdict = Verdict("absent", "bubblewrap is not installed", "install it")
    assert problems(client) == {"sandbox": "bubblewrap is not installed"}
    isolation.verdict = Verdict("waived", "bubblewrap is not installed", "install it")
    assert problems(client) == {}


def test_a_silent_supervisor_and_a_stopping_server_are_problems(make_app: MakeApp) -> None:
    silence = "no supervisor of jobs has reported within 15 s"
    client = make_app(supervisor="outside").test_client()
    assert problems(client) == {"queue": silence}
    other = make_app().test_client()
    jobs_of(other).warm_up()
    until(lambda: problems(client) == {})
    with jobs_of(client).database.changing() as connection:  # as if the supervisor hung
        connection.execute(update(SupervisorRow).values(heartbeat_s=time.time() - 16))
    assert problems(client) == {"queue": silence}
    with jobs_of(client).database.changing() as connection:
        connection.execute(update(SupervisorRow).values(heartbeat_s=time.time()))
    assert problems(client) == {}
    jobs_of(other).stop()
    assert problems(client) == {"queue": silence}, "a supervisor that ends says so"
    jobs_of(client).stop()
    assert problems(client) == {"queue": "the server is stopping"}


def test_supervisors_report_until_they_end(make_app: MakeApp) -> None:
    client = make_app(lease_s=0.5).test_client()
    wait(client, submit(client)["id"])
    until(lambda: problems(client) == {})
    time.sleep(1.0)
    assert problems(client) == {}


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
