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


def policy(client, path: str) -> str:
    return client.get(path).headers["Content-Security-Policy"]


def test_the_view_of_a_fragment_is_framed_by_this_site_only(client):
    answer = client.get("/embed")
    assert answer.status_code == 200
    assert "data-own" in answer.get_data(as_text=True)
    opened = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self';" in opened
    closed = opened.replace("frame-ancestors 'self'", "frame-ancestors 'none'")
    assert closed == policy(client, "/")


def test_a_lesson_shows_frames_of_this_site_only_and_no_other_page_shows_any(client):
    assert policy(client, "/learn/70-fusion") == f"{policy(client, '/')}; frame-src 'self'"
    for path in ("/", "/learn", "/glossary", "/embed", "/embed/s/abcdefgh"):
        assert "frame-src" not in policy(client, path)


def test_the_view_of_a_fragment_is_kept_by_the_browser_with_its_policy(client):
    tag = client.get("/embed").headers["ETag"]
    again = client.get("/embed", headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert "frame-ancestors 'self'" in again.headers["Content-Security-Policy"]


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
