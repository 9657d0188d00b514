"""Tests of requests that create something: their answers repeat, and their number is limited."""

from __future__ import annotations

import io
import json

import pytest
from flask.testing import FlaskClient

from app.api import ROUTES
from tests.app.conftest import jobs_of, n_jobs
from tests.app.test_links import PLACE

pytestmark = pytest.mark.each_database

JOB = {"kind": "compile", "model": {"sample": "digits_mlp"}}
RAW = {"content_type": "application/octet-stream"}
KEY = {"Idempotency-Key": "4f2c-1"}


def new_job(client: FlaskClient, headers=None, **fields):
    return client.post("/api/v1/jobs", json={**JOB, **fields}, headers=headers)


def assert_refused(answer, status: int, code: str) -> None:
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (status, code)


def test_exactly_the_routes_that_create_something_are_limited_and_answer_once(client):
    created = {r.name: r.creates for r in ROUTES if r.creates}
    posts = {r.name for r in ROUTES if r.method == "POST"}
    assert posts - set(created) == {"check_pipeline", "check_text", "check_schedule", "stop_tuning"}
    assert created.pop("upload") == "uploads"
    assert created.pop("new_link") == "links"
    assert set(created.values()) == {"jobs"}
    paths = client.get("/api/v1/openapi.json").get_json()["paths"]
    for item in paths.values():
        for operation in item.values():
            names = {p["name"] for p in operation["parameters"]}
            is_creating = operation["operationId"] in {*created, "upload", "new_link"}
            assert ("Idempotency-Key" in names) is is_creating
            assert not is_creating or {"409", "422", "429"} <= set(operation["responses"])


def test_a_repeated_job_is_the_first_job(client):
    first = new_job(client, KEY)
    jobs_of(client).cancel(first.get_json()["id"])
    again = new_job(client, KEY)
    assert (again.status_code, again.get_json()) == (202, first.get_json())
    assert again.headers["Location"] == first.headers["Location"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert n_jobs(client) == 1
    quoted = new_job(client, {"Idempotency-Key": '"4f2c-1"'})
    assert quoted.get_json() == first.get_json()
    assert new_job(client).get_json()["id"] != first.get_json()["id"]


def test_a_key_belongs_to_one_request(client):
    new_job(client, KEY)
    assert_refused(new_job(client, KEY, pipeline="none"), 422, "E-REQUEST-KEY")
    answer = client.post("/api/v1/jobs?reuse=1", json=JOB, headers=KEY)
    assert_refused(answer, 422, "E-REQUEST-KEY")
    answer = client.post("/api/v1/links", json={"fragment": PLACE}, headers=KEY)
    assert_refused(answer, 422, "E-REQUEST-KEY")
    assert n_jobs(client) == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ä"])
def test_a_key_that_is_none_is_refused(client, key):
    answer = new_job(client, {"Idempotency-Key": key})
    assert_refused(answer, 422, "E-REQUEST-KEY")


def test_keys_of_other_clients_are_other_keys(client):
    first = client.post("/api/v1/links", json={"fragment": PLACE}, headers=KEY)
    other = client.post(
        "/api/v1/links",
        json={"fragment": f"{PLACE}&stage=9"},
        headers=KEY,
        environ_base={"REMOTE_ADDR": "192.0.2.9"},
    )
    assert (first.status_code, other.status_code) == (201, 201)


def test_a_request_that_failed_may_be_corrected(client):
    assert_refused(new_job(client, KEY, pipeline="no_such"), 400, "E-PIPELINE-PASS")
    assert new_job(client, KEY, pipeline="none").status_code == 202


def test_an_upload_is_the_same_if_its_content_is(client):
    first = client.post("/api/v1/uploads?name=a", data=b"one", headers=KEY, **RAW)
    again = client.post("/api/v1/uploads?name=a", data=b"one", headers=KEY, **RAW)
    assert again.get_json() == first.get_json()
    assert again.headers["Idempotency-Replayed"] == "true"
    other = client.post("/api/v1/uploads?name=a", data=b"two", headers=KEY, **RAW)
    assert_refused(other, 422, "E-REQUEST-KEY")


def test_a_form_with_another_boundary_is_the_same_upload(client):
    def send():
        form = {"model": (io.BytesIO(b"one"), "a.onnx")}
        headers = {"Idempotency-Key": "form"}
        return client.post("/api/v1/uploads", data=form, headers=headers)

    first, again = send(), send()
    assert (first.status_code, again.get_json()) == (201, first.get_json())
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_repeated_link_is_answered_and_not_counted(make_app):
    client = make_app(links_per_minute=1).test_client()
    for _ in range(3):
        answer = client.post("/api/v1/links", json={"fragment": PLACE}, headers=KEY)
        assert answer.status_code == 201
        assert answer.headers["Location"] == answer.get_json()["path"]


def sending(client: FlaskClient, kind: str, number: int):
    if kind == "uploads":
        return client.post(f"/api/v1/uploads?name={number}", data=b"one", **RAW)
    if kind == "jobs":
        return new_job(client, options={"seed": number})
    return client.post("/api/v1/links", json={"fragment": f"{PLACE}&stage={number}"})


@pytest.mark.parametrize("kind", ["uploads", "jobs", "links"])
def test_a_client_creates_so_many_per_minute(make_app, kind):
    client = make_app(**{f"{kind}_per_minute": 2}, sessions_per_address=2).test_client()
    found = [sending(client, kind, n) for n in range(3)]
    assert [a.status_code for a in found[:2]] == [202 if kind == "jobs" else 201] * 2
    assert_refused(found[2], 429, "E-LIMIT-RATE")
    assert 1 <= int(found[2].headers["Retry-After"]) <= 120
    assert "from one client" in found[2].get_json()["detail"]


def test_limits_are_counted_in_the_database(make_app):
    first = make_app(links_per_minute=2).test_client()
    second = make_app(links_per_minute=2).test_client()  # another server with the same database
    found = [sending(c, "links", n).status_code for n, c in enumerate((first, second, first))]
    assert found == [201, 201, 429]


def test_a_spoofed_address_has_no_effect_without_a_trusted_proxy(make_app):
    client = make_app(links_per_minute=2).test_client()

    def send(c: FlaskClient, number: int) -> int:
        headers = {"X-Forwarded-For": f"198.51.100.{number}"}
        body = json.dumps({"fragment": f"{PLACE}&stage={number}"})
        return c.post("/api/v1/links", data=body, headers=headers).status_code

    assert [send(client, n) for n in range(3)] == [201, 201, 429]
    behind = make_app(links_per_minute=2, trusted_proxies=1).test_client()
    assert [send(behind, n) for n in range(10, 13)] == [201] * 3
