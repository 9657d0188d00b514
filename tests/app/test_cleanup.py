"""Tests of quotas: what exceeds them is removed, except what links and unfinished jobs use."""

from __future__ import annotations

import io
import json
import os
import random
import time
from dataclasses import fields
from pathlib import Path

from app.cleanup import KINDS, Cleanup, Stores, clean
from app.config import Settings
from app.jobs.eviction import Needed
from app.quotas import DAY_S, Growth, Item, Quota, excess, quotas
from tests.app.conftest import change_row, jobs_of, settings_of, submit, until, wait, wait_until

RAW = {"content_type": "application/octet-stream"}
NOW = 1e9


def item(name: str, age_s: float, n_bytes: int = 1, *, used: bool = False) -> Item:
    return Item(Path(name), NOW - age_s, n_bytes, used)


def names(quota: Quota, *items: Item) -> list[str]:
    return [each.path.name for each in excess(items, quota, NOW)]


def upload(client, data: bytes) -> str:
    return client.post("/api/v1/uploads?name=m.onnx", data=data, **RAW).get_json()["id"]


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY_S
    os.utime(path, (then, then))


def test_the_least_recently_used_items_exceed_a_quota():
    three = item("new", 1, 40), item("old", 3, 40), item("middle", 2, 40)
    assert names(Quota(), *three) == []
    assert names(Quota(n_bytes=120), *three) == []
    assert names(Quota(n_bytes=100), *three) == ["old"]
    assert names(Quota(n_items=1), *three) == ["middle", "old"]
    assert names(Quota(age_s=1.5), *three) == ["middle", "old"]
    assert names(Quota(n_bytes=100), item("large", 1, 200), item("small", 2, 90)) == ["large"]


def test_items_in_use_stay_and_count():
    used = item("used", 99, 80, used=True)
    assert names(Quota(n_bytes=100, age_s=10), used, item("a", 1, 20), item("b", 2, 20)) == ["b"]
    assert names(Quota(n_items=0), used) == []


def test_every_kind_has_a_quota(make_app):
    assert set(KINDS) == set(quotas(settings_of(make_app())))


def test_every_setting_of_a_quota_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
    names = [f.name for f in fields(Settings) if "_kept" in f.name]
    assert len(names) >= 8
    assert [name for name in names if f"`{name}`" not in page] == []


def test_old_and_large_data_of_every_kind_are_removed(make_app):
    app = make_app(uploads_kept_days=10, jobs_kept_days=10, logs_kept_days=10, links_kept_days=10)
    client, stores = app.test_client(), Stores.of(app)
    old, fresh = upload(client, b"old"), upload(client, b"fresh")
    age(stores.uploads.folder / f"{old}.onnx", 11)
    jobs = finished_elsewhere(make_app, 2)
    link = client.post("/api/v1/links", json={"fragment": "v=1&model=sample:digits_cnn"})
    change_row(client, jobs[0], ended_s=time.time() - 11 * DAY_S)
    stores.jobs.runner.logs.mkdir(exist_ok=True)
    for name, days in (("child-7.txt", 11), ("child-8.txt", 9)):
        (stores.jobs.runner.logs / name).write_text("words")
        age(stores.jobs.runner.logs / name, days)
    assert clean(stores) == {"links": 0, "jobs": 1, "uploads": 1, "copies": 0, "logs": 1}
    assert [client.get(f"/api/v1/uploads/{i}").status_code for i in (old, fresh)] == [404, 200]
    assert [client.get(f"/api/v1/jobs/{i}").status_code for i in jobs] == [404, 200]
    assert not (stores.jobs.runner.logs / "child-7.txt").exists()
    path = f"/api/v1/links/{link.get_json()['id']}"
    assert client.get(path).status_code == 200
    assert stores.links.expire(time.time() + 1) == 1
    assert client.get(path).status_code == 404


def finished_elsewhere(make_app, n: int) -> list[str]:
    """Return jobs in the same data folder, which the supervisor of a server with quotas that
    nothing exceeds has run."""
    client = make_app().test_client()
    return [wait(client, submit(client, name=i)["id"])["id"] for i in range(n)]


def test_a_job_that_a_request_names_during_the_clean_up_stays(make_app, monkeypatch):
    app = make_app(jobs_kept_days=1, supervisor="outside")
    client, stores = app.test_client(), Stores.of(app)
    named, other = finished_elsewhere(make_app, 2)
    for each in (named, other):
        change_row(client, each, ended_s=time.time() - 2 * DAY_S)

    def meanwhile(*arguments):
        submit(client, "sleep", job=named)
        return excess(*arguments)

    monkeypatch.setattr("app.jobs.eviction.excess", meanwhile)
    assert stores.jobs.prune() == 1
    assert [client.get(f"/api/v1/jobs/{i}").status_code for i in (named, other)] == [200, 404]
    assert not (stores.jobs.folder / other).exists()


def test_jobs_are_limited_by_the_size_of_their_results(make_app):
    app = make_app(jobs_kept_bytes=100_000)
    client, stores = app.test_client(), Stores.of(app)
    jobs = finished_elsewhere(make_app, 3)
    for number, job in enumerate(jobs):
        (jobs_of(client).find(job).folder / "large").write_bytes(bytes(60_000))
        change_row(client, job, ended_s=time.time() - DAY_S + number)
    assert stores.jobs.prune() == 2
    assert [client.get(f"/api/v1/jobs/{i}").status_code for i in jobs] == [404, 404, 200]


def test_what_an_unfinished_job_uses_stays(make_app):
    app = make_app(uploads_kept_bytes=0, n_jobs_kept=0, uploads_kept_days=1, jobs_kept_days=1)
    client, stores = app.test_client(), Stores.of(app)
    model = upload(client, b"model of the examined job")
    supervised = make_app(n_jobs_kept=9).test_client()
    first = wait(client, submit(supervised, model={"upload": model})["id"])["id"]
    running = submit(supervised, "sleep", job=first)["id"]
    wait_until(client, running, lambda job: job["state"] == "running")
    age(stores.uploads.folder / f"{model}.onnx", 5)
    change_row(client, first, ended_s=time.time() - 5 * DAY_S)
    unused = upload(client, b"unused")
    age(stores.uploads.folder / f"{unused}.onnx", 5)
    removed = clean(stores)
    assert (removed["jobs"], removed["uploads"]) == (0, 1)
    assert client.get(f"/api/v1/uploads/{model}").status_code == 200
    assert client.get(f"/api/v1/jobs/{first}").status_code == 200
    client.delete(f"/api/v1/jobs/{running}")
    until(lambda: not jobs_of(client).needed().jobs)
    clean(stores)
    assert client.get(f"/api/v1/uploads/{model}").status_code == 404
    assert client.get(f"/api/v1/jobs/{first}").status_code == 404


def test_uploads_stay_that_any_field_of_an_unfinished_request_names(make_app):
    app = make_app(uploads_kept_days=1)
    client, stores = app.test_client(), Stores.of(app)
    array, other = upload(client, b"an array"), upload(client, b"another array")
    running = submit(client, "sleep", kind="run", inputs={"x": array})["id"]
    wait_until(client, running, lambda job: job["state"] == "running")
    for each in (array, other):
        age(stores.uploads.folder / f"{each}.onnx", 5)
    assert stores.jobs.needed() == Needed({running}, {array})
    assert clean(stores)["uploads"] == 1
    assert client.get(f"/api/v1/uploads/{array}").status_code == 200


def test_a_chain_of_examined_jobs_is_needed_with_its_uploads(client):
    """Also the jobs of other supervisors, and jobs that examine each other."""
    stores, model = Stores.of(client.application), "a" * 64
    first = wait(client, submit(client, model={"upload": model})["id"])["id"]
    second = wait(client, submit(client, job=first, tuned=first)["id"])["id"]
    assert stores.jobs.needed() == Needed()
    request = json.dumps({"job": first, "other": second})
    change_row(client, second, state="running", owner="another/1/0", request=request)
    assert stores.jobs.needed() == Needed({first, second}, {model})


def test_models_of_links_stay_until_their_links_are_gone(make_app):
    app = make_app(uploads_kept_bytes=0, uploads_kept_days=1, links_kept_days=5)
    client, stores = app.test_client(), Stores.of(app)
    linked, failed = upload(client, b"linked"), upload(client, b"pinned for a link that failed")
    assert client.get(f"/api/v1/uploads/{linked}").status_code == 404, "no room without a link"
    linked = upload(client, b"linked")
    fragment = {"fragment": f"v=1&model=upload:{linked}"}
    assert client.post("/api/v1/links", json=fragment).status_code == 201
    failed = upload(client, b"pinned for a link that failed")
    stores.uploads.pin(failed)
    for each in (linked, failed):
        age(stores.uploads.folder / f"{each}.onnx", 3)
    assert clean(stores)["uploads"] == 0, "a recent pin may be of a link that is being stored"
    for each in (linked, failed):
        age(stores.uploads.folder / f"{each}.pinned", 3)
    assert clean(stores)["uploads"] == 1
    assert client.get(f"/api/v1/uploads/{linked}").status_code == 200
    stores.links.expire(time.time() + 1)
    assert clean(stores)["uploads"] == 1
    assert client.get(f"/api/v1/uploads/{linked}").status_code == 404


def test_stored_data_are_looked_at_when_a_share_of_the_quota_was_added() -> None:
    growth = Growth(Quota(n_bytes=5000, n_items=200))
    assert growth.is_much_with(1), "at first, the stored data are unknown"
    growth.reset()
    assert [growth.is_much_with(30) for _ in range(4)] == [False, False, False, True]
    growth.reset()
    assert [growth.is_much_with(1) for _ in range(5)] == [False, False, False, False, True]
    assert all(Growth(Quota(n_items=2)).is_much_with(1) for _ in range(3))
    endless = Growth(Quota())
    endless.reset()
    assert not endless.is_much_with(10**12)


def test_an_upload_looks_at_all_files_only_if_they_may_exceed_the_quota(make_app, monkeypatch):
    """With thousands of stored models, a look takes as long as the upload itself."""
    stores = Stores.of(make_app(uploads_kept_bytes=5000))
    looks: list[str] = []
    look = stores.uploads.prune
    monkeypatch.setattr(stores.uploads, "prune", lambda keep: looks.append(keep) or look(keep))

    def save(n_bytes: int) -> str:
        return stores.uploads.save(io.BytesIO(random.randbytes(n_bytes)), "m.onnx").id

    saved = [save(10) for _ in range(5)]
    assert looks == saved[:1]
    large = save(4980)
    assert looks == [saved[0], large]
    assert sum(path.stat().st_size for path in stores.uploads.folder.glob("*.onnx")) <= 5000


def test_a_job_looks_at_all_jobs_only_if_they_may_exceed_the_quota(make_app, monkeypatch):
    jobs = jobs_of(make_app(n_jobs_kept=100).test_client())
    looks: list[str] = []
    monkeypatch.setattr(jobs.stored, "prune", lambda: looks.append(""))
    jobs.stored._growth.reset()
    for _ in range(2):
        jobs.stored.add("20260101-0123456789abcdef0123")
    assert not looks
    jobs.stored.add("20260101-0123456789abcdef0123")
    assert len(looks) == 1


def test_facts_without_a_content_are_removed(client):
    stores = Stores.of(client.application)
    upload(client, b"some bytes")
    for name in ("0" * 64 + ".json", "1" * 64 + ".2.3.partial"):
        (stores.uploads.folder / name).write_text("{}")
        age(stores.uploads.folder / name, 1)
    clean(stores)
    assert len(list(stores.uploads.folder.iterdir())) == 2


def test_one_failing_kind_does_not_stop_the_others(make_app, monkeypatch, caplog):
    app = make_app(uploads_kept_days=1)
    client, stores = app.test_client(), Stores.of(app)
    old = upload(client, b"old")
    age(stores.uploads.folder / f"{old}.onnx", 2)
    monkeypatch.setattr(stores.jobs, "prune", lambda: 1 / 0)
    assert clean(stores) == {"links": 0, "jobs": 0, "uploads": 1, "copies": 0, "logs": 0}
    assert "jobs were not cleaned up" in caplog.text


def test_a_server_cleans_up_at_its_start_and_again(make_app):
    app = make_app(uploads_kept_days=1)
    client, stores = app.test_client(), Stores.of(app)
    cleaning = Cleanup(app, every_s=0.01)
    for number in range(2):
        each = upload(client, bytes([number]))
        age(stores.uploads.folder / f"{each}.onnx", 2)
        if not number:
            cleaning.start()
        until(lambda each=each: client.get(f"/api/v1/uploads/{each}").status_code == 404)
    cleaning.stop()
