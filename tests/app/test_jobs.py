"""Tests of jobs: each ends in the right state, whatever its child process does."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from app.jobs.parts import Parts
from tests.app.conftest import PATIENCE_S, change_row, jobs_of, submit, until, wait, wait_until

MB = 1_000_000


def test_a_job_runs_and_its_stages_are_kept(client):
    job = wait(client, submit(client)["id"])
    assert (job["state"], job["n_stages"], job["error"]) == ("succeeded", 3, None)
    result = client.get(f"/api/v1/jobs/{job['id']}/result").get_json()
    assert result["complete"] is True
    assert [s["name"] for s in result["stages"]] == [
        "imported",
        "simplify",
        "dead_code_elimination",
    ]
    assert [s["graph_stage"] for s in result["stages"]] == [0, 1, 1]
    assert [s["changed"] for s in result["stages"]] == [True, True, False]


@pytest.mark.parametrize(
    ("trouble", "limits", "code", "says"),
    [
        ("use_memory", {"memory_limit_bytes": 1536 * MB}, "E-LIMIT-MEMORY", "1.54 GB"),
        ("write_much", {"output_limit_bytes": 8 * MB}, "E-LIMIT-OUTPUT", "8 MB"),
        ("write_many", {"output_limit_bytes": 8 * MB}, "E-LIMIT-OUTPUT", "8 MB"),
        ("crash", {}, "E-LIMIT-CRASH", "SIGSEGV"),
        ("exit", {}, "E-LIMIT-CRASH", "exit code 7"),
        ("say_nonsense", {}, "E-LIMIT-CRASH", "invalid message"),
        ("refuse", {}, "E-MODEL-CYCLE", "depend on each other"),
        ("have_a_bug", {}, "E-SERVER-BUG", "an assumption did not hold"),
    ],
)
def test_a_job_that_fails_says_why_and_keeps_its_passes(make_app, trouble, limits, code, says):
    client = make_app(**limits).test_client()
    _check_failed(client, wait(client, submit(client, trouble)["id"]), code, says)


@pytest.mark.parametrize("trouble", ["sleep", "compute_for_ever"])
def test_a_job_that_does_not_end_is_stopped_and_keeps_its_passes(make_app, monkeypatch, trouble):
    clock = [0.0]
    monkeypatch.setattr("app.jobs.listener.monotonic", lambda: clock[0])
    client = make_app(job_limit_s=100.0).test_client()
    job = submit(client, trouble)
    wait_until(client, job["id"], lambda j: j["n_stages"] == 3)
    clock[0] += 101.0
    _check_failed(client, wait(client, job["id"]), "E-LIMIT-SECONDS", "100 s, while reading")


def _check_failed(client, job, code, says):
    assert job["state"] == "failed"
    assert job["error"]["code"] == code
    assert says in job["error"]["message"]
    assert job["error"]["hint"]
    assert job["n_stages"] == 3
    result = client.get(f"/api/v1/jobs/{job['id']}/result").get_json()
    assert result["complete"] is False
    assert result["error"] == job["error"]
    assert len(result["stages"]) == 3
    graph = client.get(f"/api/v1/jobs/{job['id']}/stages/1/graph").get_json()
    assert [n["id"] for n in graph["nodes"]] == ["x", "c", "→y"]
    # The next job is not affected.
    assert wait(client, submit(client)["id"])["state"] == "succeeded"


def test_a_child_that_dies_before_any_work_is_a_failed_job(client):
    job = wait(client, submit(client, "exit_at_once")["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "E-LIMIT-CRASH")
    answer = client.get(f"/api/v1/jobs/{job['id']}/result")
    assert answer.status_code == 409
    assert answer.get_json()["error"]["code"] == "E-RESULT-ABSENT"
    assert answer.get_json()["error"]["notes"] == ["failed"]


def test_what_libraries_print_does_not_disturb_the_messages(client):
    assert wait(client, submit(client, "print")["id"])["state"] == "succeeded"


def test_what_a_child_has_started_dies_with_it(client):
    job = wait(client, submit(client, "leave_a_grandchild")["id"])
    assert job["state"] == "succeeded"
    mark = Parts(jobs_of(client).find(job["id"]).folder).read("grandchild")["mark"]
    until(lambda: not _runs(mark))


def _runs(mark: str) -> bool:
    """Return whether a process has this argument."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                return True
    return False


def test_a_running_job_can_be_cancelled(client, monkeypatch):
    monkeypatch.setattr("app.jobs.queue.CANCEL_S", PATIENCE_S)
    job = submit(client, "sleep")
    wait_until(client, job["id"], lambda j: j["n_stages"] == 3)
    cancelled = client.delete(f"/api/v1/jobs/{job['id']}")
    assert cancelled.status_code == 200
    assert cancelled.get_json()["state"] == "cancelled"
    result = client.get(f"/api/v1/jobs/{job['id']}/result").get_json()
    assert (result["state"], result["complete"], len(result["stages"])) == ("cancelled", False, 3)


def test_a_job_can_be_asked_to_end_early_while_it_waits_or_runs(client):
    running, waiting = submit(client, "until_stopped"), submit(client, "until_stopped")
    wait_until(client, running["id"], lambda j: j["n_stages"] == 3)
    jobs_of(client).ask_to_stop(waiting["id"])
    jobs_of(client).ask_to_stop(running["id"])
    for job in (running, waiting):
        assert wait(client, job["id"])["state"] == "succeeded"


def test_waiting_jobs_know_their_place_and_can_be_cancelled(client):
    first = submit(client, "sleep")
    wait_until(client, first["id"], lambda j: j["state"] == "running")
    second, third = submit(client), submit(client)
    assert (second["position"], third["position"]) == (1, 2)
    assert client.delete(f"/api/v1/jobs/{second['id']}").get_json()["state"] == "cancelled"
    assert client.get(f"/api/v1/jobs/{third['id']}").get_json()["position"] == 1
    client.delete(f"/api/v1/jobs/{first['id']}")
    assert wait(client, third["id"])["state"] == "succeeded"


def test_a_finished_job_stays_as_it_is_when_cancelled(client):
    job = wait(client, submit(client)["id"])
    assert client.delete(f"/api/v1/jobs/{job['id']}").get_json() == job


def test_the_queue_is_bounded(make_app):
    client = make_app(queue_limit=1).test_client()
    first = submit(client, "sleep")
    wait_until(client, first["id"], lambda j: j["state"] == "running")
    submit(client)
    body = {"kind": "compile", "model": {"sample": "digits_mlp"}}
    answer = client.post("/api/v1/jobs", json=body)
    assert answer.status_code == 503
    assert answer.get_json()["error"]["code"] == "E-LIMIT-QUEUE"
    assert int(answer.headers["Retry-After"]) > 0


def test_jobs_outlive_the_server(make_app):
    client = make_app().test_client()
    job = wait(client, submit(client)["id"])
    again = make_app().test_client()
    assert again.get(f"/api/v1/jobs/{job['id']}").get_json() == job
    assert again.get(f"/api/v1/jobs/{job['id']}/stages/2/text").status_code == 200


def test_a_job_of_another_version_is_not_there_and_says_why(make_app):
    client = make_app().test_client()
    job = wait(client, submit(client)["id"])
    beside = wait(client, submit(client, job=job["id"])["id"])
    request = jobs_of(client).find(job["id"]).request
    assert jobs_of(client).find_done(request) is not None
    for each in (job, beside):
        change_row(client, each["id"], form="")  # as in jobs from before this field existed
    again = make_app().test_client()
    for path in ("", "/result", "/beside", "/report"):
        answer = again.get(f"/api/v1/jobs/{job['id']}{path}")
        assert answer.status_code == 404
        assert "another version of the program" in answer.get_json()["error"]["message"]
    assert again.get(f"/api/v1/jobs/{beside['id']}").status_code == 404
    # An equal request starts a new job.
    assert jobs_of(again).find_done(request) is None


def test_old_jobs_are_forgotten(make_app):
    client = make_app(n_jobs_kept=2).test_client()
    ids = [wait(client, submit(client)["id"])["id"] for _ in range(4)]
    folder = jobs_of(client).folder
    until(lambda: len(os.listdir(folder)) <= 2)
    assert sorted(os.listdir(folder)) == sorted(ids[-2:])
    assert client.get(f"/api/v1/jobs/{ids[0]}").status_code == 404
