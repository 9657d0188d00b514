"""Tests of the distinction of clients: sessions of browsers, and network addresses."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from app.clients import Client, client
from tests.app.test_links import PLACE, post


def of(app, address: str, **headers: str) -> Client:
    with app.test_request_context(environ_base={"REMOTE_ADDR": address}, headers=headers):
        return client()


def test_an_ipv6_subscriber_is_one_address(make_app) -> None:
    app = make_app()
    one = of(app, "2001:db8:1:2:3::4")
    assert one == of(app, "2001:db8:1:2:ffff::1")
    assert one != of(app, "2001:db8:1:3::4")
    assert of(app, "::ffff:192.0.2.1") == of(app, "192.0.2.1") != of(app, "192.0.2.2")


@pytest.mark.parametrize("session", ["", "short", "x" * 23, "x" * 21 + "!"])
def test_a_session_of_another_form_is_none(make_app, session: str) -> None:
    found = of(make_app(), "192.0.2.1", Cookie=f"compilarium-session={session}")
    assert found == Client("", "192.0.2.1")


def test_names_of_clients_are_digests(make_app) -> None:
    found = of(make_app(), "192.0.2.1", Cookie=f"compilarium-session={'x' * 22}")
    assert found.session == "x" * 22
    assert found.key != found.address_key
    assert "192" not in found.key + found.address_key


def test_the_page_begins_a_session_once(client: FlaskClient) -> None:
    cookie = client.get("/").headers["Set-Cookie"]
    assert cookie.startswith("compilarium-session=")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert "Set-Cookie" not in client.get("/").headers
    assert "Set-Cookie" not in client.get("/api/v1/about").headers


def test_a_lesson_begins_a_session_whose_views_have_the_limits_of_the_page(make_app) -> None:
    app = make_app(jobs_per_minute=2, sessions_per_address=2)
    job = {"kind": "inspect", "model": {"sample": "no such"}}
    found = []
    for _ in range(2):
        browser = app.test_client()
        assert "Set-Cookie" in browser.get("/learn/70-fusion").headers
        assert "Set-Cookie" not in browser.get("/embed").headers
        found += [browser.post("/api/v1/jobs?reuse=1", json=job).status_code for _ in range(3)]
    assert found == [404, 404, 429] * 2


def test_with_tls_no_other_host_can_set_the_session(client: FlaskClient) -> None:
    cookie = client.get("/", base_url="https://localhost").headers["Set-Cookie"]
    assert cookie.startswith("__Host-compilarium-session=")
    assert "Secure" in cookie.split("; ")


def test_sessions_have_their_own_limits_until_the_address_is_used_up(make_app) -> None:
    app = make_app(links_per_minute=2, sessions_per_address=2)
    found = []
    for reader in range(3):
        browser = app.test_client()
        browser.get("/")
        found += [post(browser, f"{PLACE}&stage={reader}{n}").status_code for n in range(3)]
    assert found == [201, 201, 429, 201, 201, 429, 429, 429, 429]
