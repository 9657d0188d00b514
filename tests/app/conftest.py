"""Fixtures: an application with small limits and its own folder, its client, and finished jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select, update

from app import create_app
from app.config import Settings
from app.jobs.fork_server import ForkServer
from app.jobs.inputs import TaskMaker
from app.jobs.limits import Limits
from app.jobs.queue import JobQueue
from app.jobs.task import Task
from app.store.jobs.record import Event, Job
from app.store.models import JobRow
from tests.app.schema import check_answers

QUICK = {"measure": False, "check": False, "accuracy": False}
"""Options of a job that only compiles."""

ODD_WORKER = "tests.app.odd_worker"

ForkServers = Callable[[str], ForkServer]
MakeApp = Callable[..., Flask]
RunJob = Callable[..., dict[str, Any]]

PATIENCE_S = 150.0
"""Timeout for events in other processes; it only ends a test that hangs."""


class SharedForkServer(ForkServer):
    """A fork server shared by many applications; no application ends it."""

    def stop(self) -> None:
        """Keep the process; the processes that an application started end with its jobs."""

    def end(self) -> None:
        """End the process after the last test."""
        super().stop()


class NoInputs(TaskMaker):
    """Makes tasks without inputs, for the odd worker, which has no model."""

    def __init__(self) -> None:
        pass

    def task(self, job: Job, private: Mapping[str, Any], limits: Limits) -> Task:
        """Return a task of the request alone."""
        return Task({**job.request, **private}, limits)

    def undrawn(self, job: Job) -> None:
        """Return no sample."""


@pytest.fixture(scope="session")
def fork_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServers]:
    """Fork servers by module, shared because importing the compiler takes longer than most jobs."""
    made: dict[str, SharedForkServer] = {}

    def shared(module: str) -> ForkServer:
        if module not in made:
            made[module] = SharedForkServer(module, tmp_path_factory.mktemp("logs"))
        return made[module]

    yield shared
    for each in made.values():
        each.end()


@pytest.fixture
def make_app(tmp_path: Path, fork_servers: ForkServers, database_url: str) -> Iterator[MakeApp]:
    """A factory of applications, whose children are ended after the test.

    Applications of the odd worker share its fork server; the environment may request a separate
    one.
    """
    made: dict[Flask, list[str]] = {}

    def make(**differences: Any) -> Flask:
        settings = {
            "data_folder": tmp_path / "data",
            "database_url": database_url,
            "upload_limit_bytes": 100_000,
            "job_limit_s": 120.0,
            "n_workers": 1,
            "worker_module": ODD_WORKER,
            "heartbeat_s": 0.2,
            **differences,
        }
        app = create_app(settings)
        app.testing = False  # bugs become error answers, as for users
        if settings["worker_module"] == ODD_WORKER:
            runner = jobs_of(app.test_client()).runner
            runner.fork_server, runner.maker = fork_servers(ODD_WORKER), NoInputs()
        # Tests queue requests that are not valid.
        made[app] = check_answers(app, loose={"request"})
        return app

    yield make
    for app in made:
        app.extensions["jobs"].stop()
        app.extensions["texts"].stop()
        app.extensions["database"].close()
    assert not [wrong for answers in made.values() for wrong in answers]


@pytest.fixture
def client(make_app: MakeApp) -> FlaskClient:
    return make_app().test_client()


@pytest.fixture(scope="module")
def real(
    tmp_path_factory: pytest.TempPathFactory, fork_servers: ForkServers
) -> Iterator[FlaskClient]:
    """A client of an application whose children run real jobs, shared by all tests of a file."""
    folder = tmp_path_factory.mktemp("data")
    app = create_app({"data_folder": folder, "job_limit_s": 120.0})
    jobs = app.extensions["jobs"]
    jobs.runner.fork_server = fork_servers(jobs.settings.worker_module)
    wrong = check_answers(app)
    yield app.test_client()
    app.extensions["jobs"].stop()
    app.extensions["texts"].stop()
    assert not wrong


@pytest.fixture(scope="module")
def compiled(real: FlaskClient) -> str:
    """The finished job that only compiled the convolutional sample."""
    return compiled_job(real)


def compiled_job(client: FlaskClient, **fields: Any) -> str:
    """Return the job that only compiled the convolutional sample, with these fields changed."""
    body = {"kind": "compile", "model": {"sample": "digits_cnn"}, "options": QUICK, **fields}
    job = started(client, "/jobs", **body)
    assert job["state"] == "succeeded", job["error"]
    return job["id"]


def started(client: FlaskClient, path: str, **body: Any) -> dict[str, Any]:
    """Return the finished job that a POST to a path below /api/v1 started."""
    answer = client.post(f"/api/v1{path}", json=body)
    assert answer.status_code == 202, answer.get_json()
    return wait(client, answer.get_json()["id"])


def submit(client: FlaskClient, trouble: str = "none", **fields: Any) -> dict[str, Any]:
    """Queue a job of the odd worker with this failure, without the checks of a request."""
    request = {
        "kind": "compile",
        "model": {"sample": "none"},
        "pipeline": trouble,
        "shapes": {},
        "options": {},
        **fields,
    }
    job = jobs_of(client).submit(request, "a model")
    return client.get(f"/api/v1/jobs/{job.id}").get_json()


def jobs_of(client: FlaskClient) -> JobQueue:
    return client.application.extensions["jobs"]


def events_told(client: FlaskClient, job_id: str) -> Sequence[Event]:
    """Return all events of a job so far."""
    jobs = jobs_of(client)
    return jobs.events_after(jobs.peek(job_id), 0, 0.0)[0]


def n_jobs(client: FlaskClient) -> int:
    """Return the number of jobs in the table."""
    with jobs_of(client).database.looking() as connection:
        return connection.scalar(select(func.count()).select_from(JobRow)) or 0


def change_row(client: FlaskClient, job_id: str, **values: Any) -> None:
    """Change columns of a job behind the server's back."""
    with jobs_of(client).database.changing() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job_id).values(**values))


def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds, however busy the machine is."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "the condition did not hold in time"
        time.sleep(0.02)


def wait_until(
    client: FlaskClient, job_id: str, holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Return the job as soon as a condition holds for it."""
    job: dict[str, Any] = {}

    def asked() -> bool:
        job.update(client.get(f"/api/v1/jobs/{job_id}").get_json())
        return holds(job)

    until(asked)
    return job


def wait(client: FlaskClient, job_id: str) -> dict[str, Any]:
    """Return the job after its end."""
    over = ("succeeded", "failed", "cancelled")
    return wait_until(client, job_id, lambda job: job["state"] in over)


def settings_of(app: Flask) -> Settings:
    return app.config["SETTINGS"]
