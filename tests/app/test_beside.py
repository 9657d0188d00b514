"""Tests of the list of related jobs of a compilation, also after a restart of the server."""

from __future__ import annotations

from app.api import ROUTES
from app.api.openapi import description
from app.jobs.queue import JobQueue
from app.quotas import Quota
from app.store.database import Database, sqlite_url
from tests.app.conftest import jobs_of, settings_of, submit, wait


def test_finished_jobs_about_a_result_are_listed_the_newest_first(client):
    compiled = wait(client, submit(client)["id"])["id"]
    first, second = (wait(client, submit(client, job=compiled, seed=i)["id"]) for i in range(2))
    wait(client, submit(client, "refuse", job=compiled)["id"])
    wait(client, submit(client, job="20260101-" + "0" * 20)["id"])
    found = client.get(f"/api/v1/jobs/{compiled}/beside").get_json()
    assert [job["id"] for job in found["jobs"]] == [second["id"], first["id"]]
    described = description(ROUTES)["components"]["schemas"]
    assert set(found) == set(described["Beside"]["properties"])


def test_what_was_asked_for_just_the_same_has_the_same_beside_it(client):
    one, two = (wait(client, submit(client)["id"])["id"] for _ in range(2))
    other = wait(client, submit(client, options={"threads": 2})["id"])["id"]
    beside = wait(client, submit(client, job=one)["id"])["id"]
    found = {
        job: [each["id"] for each in client.get(f"/api/v1/jobs/{job}/beside").get_json()["jobs"]]
        for job in (one, two, other)
    }
    assert found == {one: [beside], two: [beside], other: []}


def test_they_are_found_on_disk_by_another_server(client):
    compiled = wait(client, submit(client)["id"])["id"]
    beside = wait(client, submit(client, job=compiled)["id"])["id"]
    settings = settings_of(client.application)
    again = JobQueue(settings, Database(sqlite_url(settings.data_folder)))
    assert [job.id for job in again.beside(compiled)] == [beside]
    again.stored.quota = Quota(n_items=1)
    assert again.prune() == 1
    assert again.beside(beside) == again.beside(compiled) == []
    assert [job.id for job in jobs_of(client).beside(compiled)] == []


def test_nothing_is_beside_a_job_that_is_not_there(client):
    assert client.get(f"/api/v1/jobs/20260101-{'0' * 20}/beside").status_code == 404
