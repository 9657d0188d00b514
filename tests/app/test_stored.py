"""Tests of the folders of jobs, and of jobs that earlier versions stored in files."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.jobs.parts import packed, part_file
from app.store.jobs.record import new_id
from app.wire import form
from tests.app.conftest import MakeApp, events_told, jobs_of, submit, wait

pytestmark = pytest.mark.each_database

EVENTS = [["queued", {"position": 1, "wait_s": None}], ["started", {}]]
ENDED = ["finished", {"n_stages": 0, "seconds": 2.0}]


def stored(jobs: Path, state: str, events: list[Any], **facts: Any) -> str:
    """Write a job as earlier versions did, and return its id."""
    job_id = new_id()
    folder = jobs / job_id
    folder.mkdir(parents=True)
    given = {
        "id": job_id, "request": {"kind": "compile", "job": ""}, "model_name": "a model",
        "state": state, "phase": "", "position": 0, "wait_s": None, "n_stages": 0, "error": None,
        "created_s": 100.0, "started_s": 101.0, "ended_s": 103.0, "server_pid": os.getpid(),
        "form": form(), **facts,
    }  # fmt: skip
    (folder / "job.json").write_text(json.dumps(given))
    lines = [json.dumps([n, *event]) for n, event in enumerate(events, 1)]
    (folder / "events.jsonl").write_text("\n".join([*lines, "[9, incomp"]))
    file = part_file(folder, "result")
    file.parent.mkdir()
    file.write_bytes(packed("result", {"version": 1}))
    return job_id


def test_jobs_of_earlier_versions_are_adopted_once(make_app: MakeApp, tmp_path: Path) -> None:
    jobs = tmp_path / "data" / "jobs"
    done = stored(jobs, "succeeded", [*EVENTS, ENDED])
    client = make_app().test_client()
    job = client.get(f"/api/v1/jobs/{done}").get_json()
    assert (job["state"], job["seconds"], job["created"]) == ("succeeded", 2.0, 100.0)
    assert [[e.name, e.data] for e in events_told(client, done)] == [*EVENTS, ENDED]
    assert jobs_of(client).find(done).folder == jobs / done
    assert os.listdir(jobs / done) == ["parts"]
    again = make_app().test_client()
    assert again.get(f"/api/v1/jobs/{done}").get_json() == job
    assert jobs_of(again).find_done({"job": "", "kind": "compile"}) is not None


def test_a_job_whose_server_died_has_failed(make_app: MakeApp, tmp_path: Path) -> None:
    jobs = tmp_path / "data" / "jobs"
    ids = [stored(jobs, state, EVENTS[:1]) for state in ("queued", "running")]
    client = make_app().test_client()
    for job_id in ids:
        job = client.get(f"/api/v1/jobs/{job_id}").get_json()
        assert (job["state"], job["error"]["code"]) == ("failed", "E-LIMIT-CRASH")
        assert [e.name for e in events_told(client, job_id)] == ["queued", "failed"]


def test_a_job_of_a_server_that_runs_and_an_unreadable_job_are_left(
    make_app: MakeApp, tmp_path: Path
) -> None:
    jobs = tmp_path / "data" / "jobs"
    running = stored(jobs, "running", EVENTS, server_pid=os.getppid())
    odd = stored(jobs, "succeeded", EVENTS, request=None)
    (jobs / odd / "job.json").write_text("{")
    client = make_app().test_client()
    for job_id in (running, odd):
        assert client.get(f"/api/v1/jobs/{job_id}").status_code == 404
        assert (jobs / job_id / "job.json").exists()


def test_a_job_whose_results_an_operator_has_removed_is_run_again(make_app: MakeApp) -> None:
    client = make_app().test_client()
    lost, kept = (wait(client, submit(client, name=n)["id"])["id"] for n in range(2))
    shutil.rmtree(jobs_of(client).folder / lost)
    request = jobs_of(client).find(lost).request
    again = make_app().test_client()
    states = [again.get(f"/api/v1/jobs/{job_id}").status_code for job_id in (lost, kept)]
    assert states == [404, 200]
    assert jobs_of(again).find_done(request) is None


def test_old_folders_without_a_row_are_removed(make_app: MakeApp, tmp_path: Path) -> None:
    jobs = tmp_path / "data" / "jobs"
    old, new = jobs / new_id(), jobs / new_id()
    for folder in (old, new):
        (folder / "1").mkdir(parents=True)
    os.utime(old, (1e9, 1e9))
    client = make_app().test_client()
    kept = wait(client, submit(client)["id"])["id"]
    assert sorted(os.listdir(jobs)) == sorted([new.name, kept])
