"""Tests of several machines with one database and one blob store of a network."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.data.backup import back_up, restore
from app.data.check import check
from app.jobs import outbox
from app.jobs.stored_results import COMPLETE, OWN, file_of, folder_for, parts_of, prune_copies
from app.store.blobs.interface import Blobs
from app.store.database import sqlite_url
from app.store.jobs import leases
from app.store.jobs.record import Job
from compiler.errors import CompileError
from tests.app.conftest import (
    QUICK,
    MakeApp,
    events_told,
    jobs_of,
    settings_of,
    started,
    submit,
    until,
    wait,
    wait_until,
)

Host = Callable[..., FlaskClient]


@pytest.fixture
def host(make_app: MakeApp, tmp_path: Path) -> Host:
    """A factory of machines by name: each has its own data folder."""

    def make(name: str, **differences: Any) -> FlaskClient:
        given = {
            "data_folder": tmp_path / name,
            "database_url": sqlite_url(tmp_path),
            "blob_store": f"file://{tmp_path}/store",
            "supervisor": "outside" if name.startswith("web") else "inside",
            **differences,
        }
        return make_app(**given).test_client()

    return make


def at_work(client: FlaskClient) -> FlaskClient:
    """Start the supervisor of a machine."""
    jobs_of(client).warm_up()
    return client


def found(client: FlaskClient, job_id: str) -> tuple[Blobs, Job]:
    jobs = jobs_of(client)
    return jobs.blobs, jobs.find(job_id)


def keys(client: FlaskClient, job_id: str) -> set[str]:
    return {each.key for each in jobs_of(client).blobs.below(f"jobs/{job_id}")}


def test_a_web_server_reads_the_results_of_another_machine(host: Host, tmp_path: Path) -> None:
    web = host("web")
    job_id = submit(web)["id"]
    at_work(host("one"))
    assert wait(web, job_id)["state"] == "succeeded"
    result = web.get(f"/api/v1/jobs/{job_id}/result")
    assert result.status_code == 200
    assert len(result.get_json()["stages"]) == 3
    assert f"jobs/{job_id}/1/parts/result.json.gz" in keys(web, job_id)
    own = tmp_path / "one" / "jobs" / job_id / "1"
    assert (own / OWN).exists()
    assert not (tmp_path / "web" / "jobs" / job_id / "1" / OWN).exists()


def test_a_part_of_a_running_job_is_there_when_its_event_is(host: Host) -> None:
    web = host("web")
    job_id = submit(web, "wait_after_a_part")["id"]
    at_work(host("one"))
    until(lambda: "ready" in {event.name for event in events_told(web, job_id)})
    blobs, job = found(web, job_id)
    assert not job.is_over
    assert parts_of(blobs, job).read("extra") == {"seen": True}
    assert not parts_of(blobs, job).has("other")
    assert not job.folder.exists()  # what may still change is not copied
    web.delete(f"/api/v1/jobs/{job_id}")
    wait(web, job_id)


def test_a_failed_job_keeps_its_results_so_far(host: Host) -> None:
    web = host("web")
    job_id = submit(web, "refuse")["id"]
    at_work(host("one"))
    assert wait(web, job_id)["state"] == "failed"
    assert len(web.get(f"/api/v1/jobs/{job_id}/result").get_json()["stages"]) == 3


class Failing:
    """Lets the first `n` puts of a store fail."""

    def __init__(self, blobs: Blobs, n: int) -> None:
        self.n_left, self.n_failed = n, 0
        self.put_copies = blobs.put_copies

    def __call__(self, keys: Mapping[str, Path]) -> None:
        if self.n_left:
            self.n_left, self.n_failed = self.n_left - 1, self.n_failed + 1
            raise OSError("the store is away")
        self.put_copies(keys)


def test_a_job_waits_for_a_store_that_is_away(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    one = host("one")
    blobs = jobs_of(one).runner.blobs
    failing = Failing(blobs, 2)
    monkeypatch.setattr(blobs, "put_copies", failing)
    monkeypatch.setattr(outbox, "_AGAIN_S", 0.01)
    job_id = submit(one)["id"]
    assert wait(one, job_id)["state"] == "succeeded"
    assert failing.n_failed == 2
    assert f"jobs/{job_id}/1/parts/result.json.gz" in keys(one, job_id)


def test_a_job_fails_when_its_store_is_away_for_long(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = host("one")
    blobs = jobs_of(one).runner.blobs
    monkeypatch.setattr(blobs, "put_copies", Failing(blobs, 10**9))
    monkeypatch.setattr(outbox, "PATIENCE_S", 0.05)
    monkeypatch.setattr(outbox, "_AGAIN_S", 0.01)
    job = wait(one, submit(one)["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "E-SERVER-BUG")


def test_a_late_owner_disturbs_no_later_attempt(host: Host, tmp_path: Path) -> None:
    """The first machine loses its lease while it runs the job, and goes on storing results."""
    web, one = host("web"), host("one", lease_s=3600.0)
    job_id = submit(web, "until_stopped")["id"]
    at_work(one)
    wait_until(web, job_id, lambda job: job["n_stages"] == 3)
    supervisor = jobs_of(one).supervisor
    assert supervisor is not None
    supervisor.stopping.set()  # it takes no further job
    with jobs_of(web).database.changing() as connection:
        (held,) = leases.all_held(connection)
        assert leases.take_away(connection, held, CompileError("E-LIMIT-CRASH", "silent"))
    jobs_of(web).ask_to_stop(job_id)
    at_work(host("two"))
    assert wait(web, job_id)["state"] == "succeeded"
    blobs, job = found(web, job_id)
    assert job.attempt == 2
    before = parts_of(blobs, job).read_compressed("result")
    until(lambda: {each.split("/")[2] for each in keys(web, job_id)} == {"2"})
    late = tmp_path / "late"
    late.write_bytes(b"late")
    blobs.put_copies({f"jobs/{job_id}/1/parts/result.json.gz": late})
    again = parts_of(*found(host("web2"), job_id))
    assert again.read_compressed("result") == before


def test_evicted_jobs_leave_no_blobs(host: Host) -> None:
    one = host("one", n_jobs_kept=1)
    first = submit(one)["id"]
    assert wait(one, first)["state"] == "succeeded"
    assert keys(one, first)
    (row,) = _finished(one)
    assert row.n_bytes > 100
    second = submit(one)["id"]
    assert wait(one, second)["state"] == "succeeded"
    until(lambda: not keys(one, first))
    assert keys(one, second)
    assert one.get(f"/api/v1/jobs/{first}").status_code == 404


def _finished(client: FlaskClient) -> list[Any]:
    from app.store.jobs import reading

    with jobs_of(client).database.looking() as connection:
        return reading.finished(connection)


def test_results_without_a_job_are_removed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.jobs import stored

    one = host("one")
    blobs, stray = jobs_of(one).blobs, "20260101-" + "a" * 20
    blobs.put(f"jobs/{stray}/1/parts/a.json.gz", b"x")
    kept = submit(one)["id"]
    wait(one, kept)
    stored.remove_strays(jobs_of(one).database, blobs)
    assert blobs.children("jobs") == {stray, kept}
    monkeypatch.setattr(stored, "_STRAY_S", -10.0)
    stored.remove_strays(jobs_of(one).database, blobs)
    assert blobs.children("jobs") == {kept}


def test_an_upload_reaches_other_machines(host: Host, tmp_path: Path) -> None:
    web, one = host("web"), host("one")
    uploads = web.application.extensions["uploads"]
    kept = uploads.save(io.BytesIO(b"a model"), "a.onnx")
    there = one.application.extensions["uploads"]
    assert there.find(kept.id) == kept
    file = there.path(kept.id)
    assert file == tmp_path / "one" / "uploads" / f"{kept.id}.onnx"
    assert file.read_bytes() == b"a model"
    uploads.pin(kept.id)
    assert there.is_pinned(kept.id)
    assert there.has_pins()
    with pytest.raises(CompileError):
        there.path("0" * 64)


def test_uploads_beyond_the_quota_are_evicted_unless_they_are_pinned(host: Host) -> None:
    uploads = host("web", uploads_kept_bytes=10).application.extensions["uploads"]
    first = uploads.save(io.BytesIO(b"12345678"), "a.onnx")
    uploads.pin(first.id)
    second = uploads.save(io.BytesIO(b"23456789"), "b.onnx")
    third = uploads.save(io.BytesIO(b"34567890"), "c.onnx")
    assert {each.id for each in (first, third)} == {
        key.stem for key in map(Path, (b.key for b in uploads.blobs.below("uploads")))
    }
    with pytest.raises(CompileError):
        uploads.find(second.id)


def test_a_backup_has_the_blobs_and_goes_to_another_store(host: Host, tmp_path: Path) -> None:
    one = host("one", database_url="")
    uploads = one.application.extensions["uploads"]
    model = uploads.save(io.BytesIO(b"a model"), "a.onnx")
    uploads.pin(model.id)
    job_id = submit(one)["id"]
    assert wait(one, job_id)["state"] == "succeeded"
    settings = settings_of(one.application)
    assert check(settings).findings == []
    result = f"jobs/{job_id}/1/parts/result.json.gz"
    files = back_up(settings, tmp_path / "backup").files
    assert {f"uploads/{model.id}.{end}" for end in ("onnx", "json", "pinned")} < files.keys()
    assert result in files

    jobs_of(one).blobs.put(result, b"damaged")
    jobs_of(one).blobs.put(f"uploads/{model.id}.onnx", b"another model")
    damaged = {each.path for each in check(settings).findings if each.state == "damaged"}
    assert damaged == {result, f"uploads/{model.id}.onnx"}
    jobs_of(one).blobs.delete_below(f"jobs/{job_id}")
    assert ("missing", f"jobs/{job_id}") in {(x.state, x.path) for x in check(settings).findings}

    with pytest.raises(CompileError, match="is not empty"):
        restore(tmp_path / "backup", replace(settings, data_folder=tmp_path / "two"))
    new = replace(
        settings, data_folder=tmp_path / "two", blob_store=f"file://{tmp_path}/second-store"
    )
    restore(tmp_path / "backup", new)
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == ["compilarium.db"]
    assert check(new).findings == []
    again = host("two", database_url="", blob_store=new.blob_store)
    assert again.application.extensions["uploads"].is_pinned(model.id)
    assert again.get(f"/api/v1/jobs/{job_id}/result").status_code == 200


def test_old_copies_beyond_the_quota_are_removed(host: Host, tmp_path: Path) -> None:
    web, one = host("web"), host("one")
    job_id = submit(one)["id"]
    wait(one, job_id)
    blobs, job = found(web, job_id)
    folder = folder_for(blobs, job, tmp_path / "unused")
    assert folder == tmp_path / "web" / "jobs" / job_id / "1"
    assert (folder / COMPLETE).exists()
    assert prune_copies(tmp_path / "web", 0) == 0  # a running job may read it
    old = time.time() - 7200
    for path in (folder, folder / "parts"):
        os.utime(path, (old, old))
    assert prune_copies(tmp_path / "web", 0) == 1
    assert not folder.parent.exists()
    assert prune_copies(tmp_path / "one", 0) == 0  # the supervisor of this attempt may be alive
    assert parts_of(blobs, job).has("result")


def test_a_job_examines_what_another_machine_has_compiled(host: Host, tmp_path: Path) -> None:
    """The inputs of the second job come from the blob store, and its file goes there."""
    real = {"worker_module": "app.jobs.fork_server_process"}
    web, one = host("web", **real), at_work(host("one", **real))
    model = {"sample": "digits_mlp"}
    compiled = started(web, "/jobs", kind="compile", model=model, options=QUICK)
    assert compiled["state"] == "succeeded", compiled["error"]
    jobs_of(one).stop()
    at_work(host("two", **real))
    exported = started(web, f"/jobs/{compiled['id']}/stages/0/onnx")
    assert exported["state"] == "succeeded", exported["error"]
    assert (tmp_path / "two" / "jobs" / compiled["id"] / "1" / COMPLETE).exists()
    assert not (tmp_path / "two" / "jobs" / exported["id"] / "1" / "copies").exists()
    with web.get(f"/api/v1/jobs/{exported['id']}/onnx/file") as answer:
        status, content = answer.status_code, answer.data
    assert (status, content[:1]) == (200, b"\x08")
    blobs, job = found(web, exported["id"])
    assert file_of(blobs, job, "model.onnx").read_bytes() == content
