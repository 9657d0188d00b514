"""Tests of the fork server, the process that forks a child for each job."""

from __future__ import annotations

import os
import signal
import socket

import pytest

from app.jobs import fork_server_process
from app.jobs.enclosure import Enclosure
from app.jobs.fork_server import Door, Forked, ForkServer
from app.jobs.isolation import Verdict
from app.jobs.parts import Parts
from compiler.errors import CompileError
from sandbox.limits import Limits
from tests.app.conftest import (
    ODD_WORKER,
    PATIENCE_S,
    jobs_of,
    submit,
    until,
    wait,
    wait_until,
)

OUTSIDE = Enclosure(Limits())


@pytest.fixture
def fork_server(fork_servers):
    return fork_servers(ODD_WORKER)


def _ended(child: Forked) -> int | None:
    return child.wait(timeout_s=PATIENCE_S)


def test_jobs_are_forks_of_one_process(make_app):
    client = make_app().test_client()
    wait(client, submit(client)["id"])
    first = jobs_of(client).runner.fork_server.process
    wait(client, submit(client)["id"])
    assert jobs_of(client).runner.fork_server.process is first
    assert first.poll() is None


def test_a_fork_server_that_was_killed_is_replaced(make_app):
    client = make_app().test_client()
    wait(client, submit(client)["id"])
    killed = jobs_of(client).runner.fork_server.process
    killed.kill()
    assert wait(client, submit(client)["id"])["state"] == "succeeded"
    assert jobs_of(client).runner.fork_server.process.pid != killed.pid


def test_a_fork_that_is_refused_leaves_the_fork_server_to_its_children(
    fork_server, tmp_path, monkeypatch
):
    child = fork_server.fork(OUTSIDE)
    with monkeypatch.context() as patch:
        patch.setattr(Door, "ask", _refuse)
        with pytest.raises(CompileError, match="no more processes"):
            fork_server.fork(OUTSIDE)
    child.stdin.close()
    assert _ended(child) == 0
    child.stop()


def _refuse(*_, **__):
    raise OSError("no more processes")


@pytest.mark.parametrize("state", ["unknown", "absent"])
def test_a_job_ends_with_its_fork_server_and_is_run_again(make_app, state):
    """Inside a sandbox, and outside where none can be built."""
    client = make_app().test_client()
    jobs = jobs_of(client)
    jobs.runner.isolation.verdict = Verdict(state)
    job = submit(client, "sleep")["id"]
    wait_until(client, job, lambda facts: facts["n_stages"] == 3)
    jobs.runner.fork_server.process.kill()
    until(lambda: jobs.peek(job).attempt == 2)
    wait_until(client, job, lambda facts: facts["n_stages"] == 3)
    assert client.delete(f"/api/v1/jobs/{job}").status_code == 200
    assert wait(client, job)["state"] == "cancelled"


def test_a_worker_that_cannot_be_imported_is_an_error_of_ours(tmp_path):
    fork_server = ForkServer("tests.app.no_such_module", tmp_path)
    with pytest.raises(CompileError, match="no process can be started") as caught:
        fork_server.fork(OUTSIDE)
    assert caught.value.code == "E-SERVER-BUG"
    fork_server.stop()
    assert "no_such_module" in (tmp_path / "fork-server.txt").read_text()


def test_the_number_of_an_ended_child_is_kept_until_it_is_released(fork_server, tmp_path):
    child = fork_server.fork(OUTSIDE)
    assert child.wait(timeout_s=0.0) is None
    child.stdin.close()  # without a task the child ends
    assert _ended(child) == 0
    os.kill(child.pid, 0)
    child.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_how_a_child_was_killed_is_known(fork_server, tmp_path):
    child = fork_server.fork(OUTSIDE)
    os.kill(child.pid, signal.SIGXCPU)
    assert _ended(child) == -signal.SIGXCPU
    child.stop()


def test_nobody_knows_how_a_child_ends_whose_fork_server_has_gone(tmp_path):
    fork_server = ForkServer(ODD_WORKER, tmp_path)
    child = fork_server.fork(OUTSIDE)
    fork_server.stop()
    with pytest.raises(CompileError, match="was lost"):
        _ended(child)
    child.stop()


def test_a_child_leads_a_group_of_its_own(fork_server, tmp_path):
    one, other = (fork_server.fork(OUTSIDE) for _ in range(2))
    assert [os.getpgid(c.pid) for c in (one, other)] == [one.pid, other.pid]
    one.stop()
    os.kill(other.pid, 0)
    other.stop()


def test_a_child_holds_nothing_of_the_fork_server(make_app):
    client = make_app().test_client()
    job = wait(client, submit(client, "list_open_files")["id"])
    files = Parts(jobs_of(client).peek(job["id"]).folder).read("files")["files"]
    # The task, the log twice, the messages, and the listed folder.
    assert len(files) == 5


def test_a_fork_server_without_descriptors_for_the_pipes_forks_nothing() -> None:
    """The child would read the requests of the server in place of its task."""
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(OSError, match="Too many open files"):
        fork_server_process._answer({}, theirs, {"do": "fork", "role": "worker"}, ())
