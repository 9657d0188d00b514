"""Tests of security headers, and of the origins that may change state."""

from __future__ import annotations

import pytest

JOB = {"kind": "inspect", "model": {"sample": "no such"}}


@pytest.mark.parametrize("path", ["/", "/api/v1/about", "/nothing", "/static/dist/nothing.js"])
def test_every_answer_carries_the_policy(client, path):
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert directives["frame-ancestors"] == "'none'"
    assert "unsafe-inline" not in policy
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 404),
        ({"Sec-Fetch-Site": "same-origin"}, 404),
        ({"Sec-Fetch-Site": "none"}, 404),
        ({"Origin": "http://localhost"}, 404),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_cannot_start_jobs(client, headers, status):
    answer = client.post("/api/v1/jobs", json=JOB, headers=headers)
    assert answer.status_code == status
    if status == 403:
        assert answer.get_json()["error"]["code"] == "E-REQUEST-ORIGIN"


def test_reading_needs_no_origin(client):
    assert client.get("/api/v1/about", headers={"Origin": "http://evil.example"}).status_code == 200


def test_a_local_server_answers_to_its_own_names_only(make_app):
    client = make_app(trusted_hosts=("localhost", "127.0.0.1")).test_client()
    for host in ("localhost", "localhost:8080", "127.0.0.1:8080"):
        assert client.get("/api/v1/about", headers={"Host": host}).status_code == 200
    answer = client.get("/api/v1/about", headers={"Host": "rebound.example"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (403, "E-REQUEST-ORIGIN")
