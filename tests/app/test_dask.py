"""Tests of jobs on the workers of a Dask cluster: a real scheduler, and real worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from app import create_app
from app.config import Settings
from app.jobs.kinds import KINDS
from app.jobs.transport.cluster import Cluster, event_loop
from app.jobs.transport.tasks import RAN, REFUSED, run_job
from app.store.models import JobRow
from tests.app.conftest import (
    ODD_WORKER,
    PATIENCE_S,
    QUICK,
    events_told,
    jobs_of,
    submit,
    until,
    wait,
    wait_until,
)
from tests.app.dask_cluster import FILES, DaskProcesses
from tests.app.server_process import JOB, Running, children_of, running, runs
from tests.app.test_kills import start_time

MODEL = {"sample": "digits_mlp"}


@dataclass(frozen=True, slots=True)
class World:
    """A server that sends jobs to a cluster, and a client with the same data folder."""

    server: Running
    cluster: DaskProcesses
    client: FlaskClient

    def queue_problem(self) -> str:
        checks = self.server.ask("GET", "/readyz")[1]["checks"]
        return next(each["problem"] for each in checks if each["name"] == "queue")

    def submit(self, trouble: str = "none") -> str:
        return submit(self.client, trouble, model=MODEL)["id"]

    def running_job(self, trouble: str) -> str:
        """Return a job whose child runs, and then waits."""
        job_id = self.submit(trouble)
        wait_until(self.client, job_id, lambda job: job["n_stages"] == 3)
        return job_id

    def worker_of(self, job_id: str) -> int:
        """Return the process of the worker that runs a job; 0 if none does."""
        with jobs_of(self.client).database.looking() as connection:
            owner = connection.scalar(select(JobRow.owner).where(JobRow.id == job_id)) or ""
        return int(owner.split("/")[1]) if owner else 0

    def ended_once(self, job_id: str, *, attempts: int) -> dict[str, Any]:
        """Wait for the success of a job, and check its events and its folder."""
        job = wait(self.client, job_id)
        assert job["state"] == "succeeded", job["error"]
        events = events_told(self.client, job_id)
        names = [event.name for event in events]
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        assert (names.count("started"), names.count("finished")) == (attempts, 1)
        assert names[-1] == "finished"
        stored = jobs_of(self.client).peek(job_id)
        assert stored.attempt == attempts
        assert [path.name for path in stored.folder.parent.iterdir()] == [str(attempts)]
        return job


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("dask")
    variables = {
        "COMPILARIUM_DATA_FOLDER": str(folder / "data"),
        "COMPILARIUM_WORKER_MODULE": ODD_WORKER,
        "COMPILARIUM_STOP_GRACE_S": "0.2",
    }
    cluster = DaskProcesses(folder, variables)
    options = ["--engine", "dask", "--scheduler", cluster.address]
    with running(folder, options, **FILES) as server:
        settings = Settings(data_folder=folder / "data", supervisor="outside", engine="dask")
        app = create_app(settings)
        app.testing = False
        try:
            yield World(server, cluster, app.test_client())
        finally:
            app.extensions["jobs"].stop()
            app.extensions["texts"].stop()
            app.extensions["database"].close()
            cluster.end()


@pytest.fixture
def cluster(world: World) -> DaskProcesses:
    """The cluster with two workers."""
    world.cluster.start(2)
    return world.cluster


def test_a_server_without_a_scheduler_answers_and_its_jobs_wait(world: World) -> None:
    world.cluster.end()
    absent = f"the Dask scheduler {world.cluster.address} does not answer"
    until(lambda: world.queue_problem().startswith(absent))
    status, job = world.server.ask("POST", "/api/v1/jobs", {**JOB, "options": QUICK})
    assert (status, job["state"]) == (202, "queued")
    world.cluster.start(1, COMPILARIUM_WORKER_MODULE=Settings().worker_module)
    done = world.ended_once(job["id"], attempts=1)
    assert done["n_stages"] > 3
    until(lambda: world.queue_problem() == "")
    world.cluster.end()


def test_a_job_runs_to_its_end(world: World, cluster: DaskProcesses) -> None:
    first, second = world.submit(), world.submit("until_stopped")
    world.ended_once(first, attempts=1)
    jobs_of(world.client).ask_to_stop(second)
    world.ended_once(second, attempts=1)


def test_one_job_at_a_time_measures_on_a_machine(
    world: World, cluster: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(KINDS, "compile", replace(KINDS["compile"], queue="bench"))
        first, second = world.submit("until_stopped"), world.submit()
    wait_until(world.client, first, lambda job: job["n_stages"] == 3)
    world.ended_once(world.submit(), attempts=1)  # on the other worker
    assert jobs_of(world.client).peek(second).status == "queued"
    jobs_of(world.client).ask_to_stop(first)
    for job_id in (first, second):
        world.ended_once(job_id, attempts=1)


def test_a_job_of_a_killed_worker_ends_once_on_another(
    world: World, cluster: DaskProcesses
) -> None:
    job_id = world.running_job("until_stopped")
    killed = world.worker_of(job_id)
    cluster.kill_worker(killed)
    until(lambda: world.worker_of(job_id) not in (0, killed))
    jobs_of(world.client).ask_to_stop(job_id)
    world.ended_once(job_id, attempts=2)


def test_a_job_outlives_the_scheduler(world: World, cluster: DaskProcesses) -> None:
    job_id = world.running_job("until_stopped")
    (worker,) = (each for each in cluster.workers if each.pid == world.worker_of(job_id))
    cluster.kill_scheduler()
    worker.wait(PATIENCE_S)  # a worker of Dask ends with its scheduler
    assert jobs_of(world.client).peek(job_id).status == "queued", "the worker has returned the job"
    cluster.start(2)
    until(lambda: world.worker_of(job_id) != 0)
    jobs_of(world.client).ask_to_stop(job_id)
    world.ended_once(job_id, attempts=2)


def test_a_second_delivery_has_no_effect(world: World, cluster: DaskProcesses) -> None:
    job_id = world.running_job("until_stopped")
    before = events_told(world.client, job_id)
    settings = Settings(engine="dask", scheduler=cluster.address, **FILES)
    with event_loop() as loop, closing(Cluster(settings, loop)) as connected:

        def delivered(attempt: int, key: str) -> str:
            return connected.client.submit(run_job, job_id, attempt, key=key).result(PATIENCE_S)

        assert delivered(1, "again") == delivered(2, "early") == REFUSED
        assert events_told(world.client, job_id) == before
        jobs_of(world.client).ask_to_stop(job_id)
        world.ended_once(job_id, attempts=1)
        before = events_told(world.client, job_id)
        assert delivered(1, "late") == REFUSED
        same = connected.send(job_id, 1, connected.workers(), measures=False)
        # Dask may still know the first task by its key, and return its result.
        assert same.future.result(PATIENCE_S) in (RAN, REFUSED)
        assert events_told(world.client, job_id) == before


def test_a_cancelled_job_ends_its_child(world: World, cluster: DaskProcesses) -> None:
    job_id = world.running_job("sleep")
    worker = world.worker_of(job_id)
    fork_server = next(pid for pid in children_of(worker) if runs(pid, ODD_WORKER))
    (child,) = children_of(fork_server)
    since = start_time(child)
    assert world.client.delete(f"/api/v1/jobs/{job_id}").status_code == 200
    assert wait(world.client, job_id)["state"] == "cancelled"
    until(lambda: start_time(child) != since)
    world.ended_once(world.submit(), attempts=1)
