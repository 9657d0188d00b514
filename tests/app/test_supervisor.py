"""Tests of supervisors: dead ones are replaced, and their jobs are run again."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from app.config import Settings
from app.jobs import supervisor
from app.jobs.enclosure import Enclosure
from app.jobs.fork_server import ForkServer
from app.jobs.limits import ChildKilledError, ChildLostError, ShortageError
from app.jobs.owner import OwnerLock, is_dead, machine_name, remove_dead
from app.jobs.running import Running
from app.jobs.supervisor_process import Keeper, from_line, to_line
from app.store.database import Database
from app.store.jobs import leases, queueing
from app.store.jobs.claiming import Owner, claim
from app.store.jobs.leases import Lease
from app.store.jobs.record import Job
from compiler.errors import CompileError
from sandbox.limits import Limits
from tests.app.conftest import (
    ODD_WORKER,
    PATIENCE_S,
    MakeApp,
    events_told,
    jobs_of,
    settings_of,
    submit,
    until,
    wait,
    wait_until,
)
from tests.app.server_process import children_of, runs

pytestmark = pytest.mark.each_database


def settings(client: FlaskClient) -> Settings:
    return settings_of(client.application)


def claimed(client: FlaskClient, owner: str) -> Lease:
    """Take the next job for an owner on this machine."""
    jobs = jobs_of(client)
    with jobs.database.changing() as connection:
        found = claim(connection, Owner(owner, machine_name(), 15.0, 2), jobs.estimates)
    assert found is not None
    return found


def started_in(client: FlaskClient, job_id: str) -> list[str]:
    return [event.name for event in events_told(client, job_id) if event.name == "started"]


def test_the_job_of_a_dead_supervisor_is_run_again_at_once(make_app: MakeApp) -> None:
    client = make_app(lease_s=3600.0).test_client()
    waiting = make_app(supervisor="outside").test_client()
    job_id = submit(waiting)["id"]
    token = "0" * 12
    lock = settings(waiting).data_folder / "supervisors" / f"{token}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    late = claimed(waiting, f"{machine_name()}/1/{token}")
    jobs_of(client).warm_up()
    assert wait(client, job_id)["state"] == "succeeded"
    assert len(started_in(client, job_id)) == 2
    folder = jobs_of(client).find(job_id).folder
    assert (folder.name, os.listdir(folder.parent)) == ("2", ["2"])
    with jobs_of(client).database.changing() as connection:
        assert not leases.end(connection, late, "failed", None, [], 0)


def test_the_job_of_a_silent_supervisor_is_run_again_after_its_lease(make_app: MakeApp) -> None:
    client = make_app(supervisor="outside").test_client()
    job_id = submit(client)["id"]
    claimed(client, "another/1/0")
    other = make_app(lease_s=0.3).test_client()
    jobs_of(other).warm_up()
    assert wait(other, job_id)["state"] == "succeeded"
    assert jobs_of(other).find(job_id).attempt == 2


def test_a_supervisor_that_has_lost_its_lease_ends_its_child(client: FlaskClient) -> None:
    job_id = submit(client, "sleep")["id"]
    wait_until(client, job_id, lambda job: job["n_stages"] == 3)
    supervisor = jobs_of(client).supervisor
    assert supervisor is not None
    supervisor.stopping.set()  # it takes no further job
    with jobs_of(client).database.changing() as connection:
        (held,) = leases.all_held(connection)
        assert leases.take_away(connection, held, CompileError("E-LIMIT-CRASH", "silent"))
    until(lambda: not supervisor.running)
    assert jobs_of(client).peek(job_id).status == "queued"


def test_jobs_of_a_stopped_server_are_queued_and_run_by_the_next(make_app: MakeApp) -> None:
    first = make_app().test_client()
    running = submit(first, "until_stopped")["id"]
    wait_until(first, running, lambda job: job["n_stages"] == 3)
    waiting = submit(first)["id"]
    jobs_of(first).stop()
    assert jobs_of(first).peek(running).status == "queued"
    second = make_app().test_client()
    jobs_of(second).warm_up()
    jobs_of(second).ask_to_stop(running)
    for job_id in (running, waiting):
        assert wait(second, job_id)["state"] == "succeeded"
    assert jobs_of(second).find(running).attempt == 2


def test_a_supervisor_that_stops_while_it_claims_a_job_leaves_it_in_the_queue(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_app().test_client()
    wait(client, submit(client)["id"])
    supervised, claiming = jobs_of(client).supervisor, threading.Event()
    assert supervised is not None

    def slow_claim(*arguments: Any) -> Lease | None:
        claiming.set()
        assert supervised.stopping.wait(PATIENCE_S)
        return claim(*arguments)

    monkeypatch.setattr(supervisor, "claim", slow_claim)
    job_id = submit(client)["id"]
    assert claiming.wait(PATIENCE_S)
    jobs_of(client).stop()
    assert not supervised.running
    left = jobs_of(client).peek(job_id)
    assert (left.status, left.attempt) == ("queued", 0)


def test_a_child_that_a_signal_ends_is_run_once_more(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = wait(client, submit(client, "crash")["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "E-LIMIT-CRASH")
    assert len(started_in(client, job["id"])) == 2
    assert jobs_of(client).find(job["id"]).status == "crashed"
    exited = wait(client, submit(client, "exit")["id"])
    assert len(started_in(client, exited["id"])) == 1

    failures = [ChildKilledError(CompileError("E-LIMIT-CRASH", "signal SIGBUS"))]
    run = jobs_of(client).runner.run

    def once(*arguments: object) -> None:
        if failures:
            raise failures.pop()
        run(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(jobs_of(client).runner, "run", once)
    again = wait(client, submit(client)["id"])
    assert again["state"] == "succeeded"
    assert [e.name for e in events_told(client, again["id"])].count("finished") == 1


def test_a_job_whose_fork_server_dies_is_run_up_to_three_times(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = ChildLostError(CompileError("E-LIMIT-CRASH", "the child process was lost"))

    def lose(*_: object) -> None:
        raise lost

    monkeypatch.setattr(jobs_of(client).runner, "run", lose)
    job = wait(client, submit(client)["id"])
    assert (job["state"], job["error"]["message"]) == ("failed", lost.message)
    assert len(started_in(client, job["id"])) == 3


def test_a_claim_that_cannot_be_committed_ends_its_child(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait(client, submit(client)["id"])  # the supervisor runs
    changing, failed = Database.changing, list[bool]()

    @contextmanager
    def fail_once(self: Database) -> Generator[Connection]:
        with changing(self) as connection:
            yield connection
            if threading.current_thread().name == "jobs_claims" and not failed:
                failed.append(True)
                raise OSError("the commit fails")

    monkeypatch.setattr(Database, "changing", fail_once)
    job = wait(client, submit(client)["id"])
    assert failed
    assert job["state"] == "succeeded"
    assert len(started_in(client, job["id"])) == 1, "the failed claim left no event"
    assert jobs_of(client).find(job["id"]).attempt == 1


@pytest.mark.parametrize("thread", ["jobs_claims", "jobs_relay", "job-"])
def test_a_commit_whose_confirmation_is_lost_loses_and_doubles_nothing(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, thread: str
) -> None:
    client = make_app(lease_s=2.0).test_client()
    wait(client, submit(client)["id"])  # the supervisor runs
    changing, failed = Database.changing, list[str]()

    @contextmanager
    def unconfirmed(self: Database) -> Generator[Connection]:
        with changing(self) as connection:
            yield connection
        name = threading.current_thread().name
        if name.startswith(thread) and not failed:
            failed.append(name)
            raise OperationalError("COMMIT", {}, OSError("the connection was lost"))

    monkeypatch.setattr(Database, "changing", unconfirmed)
    job_id = submit(client, "until_stopped")["id"]
    wait_until(client, job_id, lambda job: job["n_stages"] == 3)  # written by the relay
    jobs_of(client).ask_to_stop(job_id)
    job = wait(client, job_id)
    assert failed
    assert job["state"] == "succeeded"
    names = [event.name for event in events_told(client, job["id"])]
    last = names[len(names) - names[::-1].index("started") :]
    assert last.count("finished") == names.count("finished") == 1
    assert last.count("imported") == 1
    assert names.count("started") == (2 if thread == "jobs_claims" else 1)


def test_the_end_of_a_job_has_the_events_of_a_write_that_fails_meanwhile(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait(client, submit(client)["id"])  # the supervisor runs
    record, failed = leases.record, list[bool]()

    def fail_late(*arguments: Any) -> bool:
        if not failed:
            failed.append(True)
            time.sleep(1.0)  # the child ends meanwhile
            raise OperationalError("UPDATE", {}, OSError("away"))
        return record(*arguments)

    monkeypatch.setattr(leases, "record", fail_late)
    job = submit(client, "until_stopped")["id"]
    until(lambda: bool(failed))
    supervised = jobs_of(client).supervisor
    assert supervised is not None
    supervised.running[job].is_stopped = True
    assert wait(client, job)["state"] == "succeeded"
    names = [event.name for event in events_told(client, job)]
    assert names.count("imported") == 1


def test_a_job_for_which_there_is_no_thread_waits(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait(client, submit(client)["id"])  # the supervisor runs
    start, failed = threading.Thread.start, list[bool]()

    def fail_once(self: threading.Thread) -> None:
        if self.name.startswith("job-") and not failed:
            failed.append(True)
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", fail_once)
    assert wait(client, submit(client)["id"])["state"] == "succeeded"
    assert failed


@pytest.mark.parametrize("n_failures", [2, 99])
def test_a_job_waits_for_what_the_machine_lacks_but_not_forever(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, n_failures: int
) -> None:
    monkeypatch.setattr(supervisor, "_REST_S", 0.05)
    monkeypatch.setattr(supervisor, "_MOST_RETURNS", 3)
    no_process = ShortageError(CompileError("E-SERVER-BUG", "no process"), counts=False)
    failures = [no_process] * (n_failures - 1) + [OSError(errno.EMFILE, "no descriptor")]
    run = jobs_of(client).runner.run

    def sometimes(*arguments: object) -> None:
        if failures:
            raise failures.pop()
        run(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(jobs_of(client).runner, "run", sometimes)
    job = wait(client, submit(client)["id"])
    stored = jobs_of(client).find(job["id"])
    if n_failures == 2:
        assert (job["state"], stored.attempt, stored.max_attempts) == ("succeeded", 3, 5)
    else:
        assert (job["state"], job["error"]["code"]) == ("failed", "E-SERVER-BUG")
        assert stored.attempt == stored.max_attempts == 5


def test_a_stored_phase_fits_its_column() -> None:
    running = Running(cast(Job, None), Lease("job", 1, "owner"))
    running.hear("phase", {"phase": "a\0" + "b" * 100, "words": "w"})
    news = running.news()
    assert news is not None
    assert news.phase == "a" + "b" * 58


def test_an_owner_is_dead_when_its_lock_is_free(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path)
    assert not is_dead(tmp_path, lock.name, machine_name())
    remove_dead(tmp_path)
    assert lock.path.exists()
    lock.path.with_name("0.lock").touch()
    assert is_dead(tmp_path, f"{machine_name()}/1/0", machine_name())
    assert not is_dead(tmp_path, f"{machine_name()}/1/0", "another machine")
    assert not is_dead(tmp_path, f"{machine_name()}/1/1", machine_name()), "no file: unknown"
    remove_dead(tmp_path)
    assert os.listdir(lock.path.parent) == [lock.path.name]
    lock.release()
    assert not os.listdir(lock.path.parent)


def test_settings_arrive_at_the_supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = Settings(
        data_folder=Path("data"),
        trusted_hosts=("a", "b"),
        lease_s=2.5,
        certificate=Path("certificate.pem"),
        key=Path("key.pem"),
        unsandboxed_local=True,
    )
    whole = replace(given, data_folder=tmp_path / "data")
    assert from_line(to_line(given)) == whole
    relative = replace(given, database_url="sqlite:///x.db")
    assert from_line(to_line(relative)).database_url == f"sqlite:///{tmp_path}/x.db"


def test_a_supervisor_that_is_killed_takes_its_children_along_and_is_restarted(
    make_app: MakeApp,
) -> None:
    client = make_app(supervisor="outside", n_workers=2).test_client()
    keeper = Keeper(settings(client))
    keeper.start()
    try:
        job_id = submit(client, "sleep", model={"sample": "digits_mlp"})["id"]
        wait_until(client, job_id, lambda job: job["n_stages"] == 3)
        assert keeper.process is not None
        killed = keeper.process
        children = children_of(killed.pid)
        fork_server = next(pid for pid in children if runs(pid, "tests.app.odd_worker"))
        (stand_in,) = children_of(fork_server)
        (child,) = children_of(stand_in)
        os.killpg(stand_in, signal.SIGSTOP)  # as during a measurement
        killed.kill()
        until(lambda: not os.path.exists(f"/proc/{fork_server}"))
        until(lambda: not any(map(_runs, (stand_in, child))))
        until(lambda: len(started_in(client, job_id)) == 2)
        assert keeper.process.pid != killed.pid
        assert client.delete(f"/api/v1/jobs/{job_id}").status_code == 200
        assert wait(client, job_id)["state"] == "cancelled"
    finally:
        keeper.stop()
    assert keeper.process is not None
    assert keeper.process.returncode == 0


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_child_has_started_dies_with_the_fork_server_of_a_dead_supervisor(
    tmp_path: Path,
) -> None:
    server = ForkServer(ODD_WORKER, tmp_path)
    child = server.fork(Enclosure(Limits()))
    os.kill(child.pid, signal.SIGSTOP)
    assert server.door is not None
    assert server.process is not None
    server.door.close()  # as when the supervisor ends
    assert server.process.wait(timeout=PATIENCE_S) == 0
    until(lambda: not _runs(child.pid))
    child.stop()


def test_the_command_works_beside_a_server_and_returns_jobs(make_app: MakeApp) -> None:
    client = make_app(supervisor="outside").test_client()
    jobs_of(client).warm_up()
    body = {
        "kind": "compile", "model": {"sample": "digits_mlp"},
        "options": {"measure": False, "check": False, "accuracy": False},
    }  # fmt: skip
    job = client.post("/api/v1/jobs", json=body).get_json()
    folder = str(settings(client).data_folder)
    url = settings(client).database_url
    command = [sys.executable, "-m", "compiler", "work", "--data-folder", folder, "--workers", "1"]
    command += ["--database", url] if url else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "run here" in process.stdout.readline()
        assert wait(client, job["id"])["state"] == "succeeded"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
    assert not os.listdir(Path(folder) / "supervisors")


def test_threads_wait_for_changes_of_other_connections(client: FlaskClient) -> None:
    jobs, found = jobs_of(client), []
    seen = jobs.database.watch.wait(jobs.database.watch.n, 0.0)
    waiter = threading.Thread(
        target=lambda: found.append(jobs.database.watch.wait(seen + 1, PATIENCE_S))
    )
    waiter.start()
    other = Database(jobs.database.url.render_as_string(hide_password=False))
    with other.changing() as connection:  # as another process does, without a poke
        queueing.followed(connection, {}, {"no job"})
    other.close()
    submit(client)
    waiter.join(PATIENCE_S)
    assert found
