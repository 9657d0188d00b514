"""Tests of the server that `compilarium serve` starts, over a real connection."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from flask import Flask

from app.serve import address, is_local, listen, settings_for
from compiler.errors import CompileError
from tests.app.conftest import PATIENCE_S, jobs_of, submit, until

NAMES = ("127.0.0.1", "localhost")


@pytest.fixture
def served(make_app) -> Iterator[tuple[object, int]]:
    """An application with small limits, served by a thread, and its port."""
    with serving(make_app(trusted_hosts=NAMES)) as both:
        yield both


@contextmanager
def serving(app: Flask) -> Generator[tuple[Flask, int]]:
    server = listen(app, "127.0.0.1", 0)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    try:
        yield app, server.port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_it_answers(served):
    status, payload = ask(served[1], "GET", "/api/v1/about")
    assert status == 200
    assert payload["limits"]["upload_limit_bytes"] == 100_000


def test_a_client_that_sends_too_much_still_reads_the_answer(served):
    status, payload = ask(served[1], "POST", "/api/v1/uploads?name=a", bytes(20_000_000))
    assert (status, payload["error"]["code"]) == (413, "E-UPLOAD-SIZE")


def test_an_upload_that_trickles_in_is_given_up(make_app):
    with (
        serving(make_app(upload_limit_s=1.0, trusted_hosts=NAMES)) as (_, port),
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection,
    ):
        head = "POST /api/v1/uploads HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + b"a")
        answer = connection.recv(65536)
        while chunk := connection.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"E-LIMIT-SECONDS" in answer


def test_an_upload_that_ends_early_is_refused(served):
    with socket.create_connection(("127.0.0.1", served[1]), timeout=PATIENCE_S) as connection:
        head = "POST /api/v1/uploads HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + b"a")
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"E-REQUEST-BODY" in answer


def test_events_arrive_while_the_job_runs(served):
    app, port = served
    client = app.test_client()
    job = submit(client, "sleep")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", f"/api/v1/jobs/{job['id']}/events")
    answer = connection.getresponse()
    seen = []
    while "pass" not in seen:
        line = answer.readline().decode()
        assert line, "the stream ended"
        if line.startswith("event: "):
            seen.append(line[7:].strip())
    assert client.get(f"/api/v1/jobs/{job['id']}").get_json()["state"] == "running"
    client.delete(f"/api/v1/jobs/{job['id']}")
    assert "event: cancelled" in answer.read().decode()
    connection.close()


def test_the_server_answers_while_many_follow_one_job(served):
    app, port = served
    client = app.test_client()
    job = submit(client, "sleep")
    followers = [
        http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S) for _ in range(8)
    ]
    for follower in followers:
        follower.request("GET", f"/api/v1/jobs/{job['id']}/events")
        assert follower.getresponse().status == 200
    assert ask(port, "GET", f"/api/v1/jobs/{job['id']}")[1]["state"] in ("queued", "running")
    jobs_of(client).cancel(job["id"])
    for follower in followers:
        follower.close()


def test_a_port_that_is_taken_is_a_clear_error(make_app, served):
    with pytest.raises(CompileError) as caught:
        listen(make_app(), "127.0.0.1", served[1])
    assert caught.value.code == "E-OPTION-VALUE"
    assert "in use" in caught.value.message


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.org", False)],
)
def test_a_local_server_trusts_its_own_names_only(host, local, tmp_path):
    assert is_local(host) is local
    assert (settings_for(host, tmp_path).trusted_hosts is not None) is local


def test_addresses_can_be_opened():
    assert address("127.0.0.1", 80) == "http://127.0.0.1:80/"
    assert address("0.0.0.0", 80) == "http://127.0.0.1:80/"
    assert address("::1", 80) == "http://[::1]:80/"


def test_the_command_says_its_address_once_and_ends_when_told(tmp_path, repository):
    arguments = ["serve", "--port", "0", "--data-folder", str(tmp_path / "data")]
    with subprocess.Popen(
        [sys.executable, "-m", "compiler", *arguments],
        stdout=subprocess.PIPE,
        cwd=repository,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
    ) as process:
        first = process.stdout.readline()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", first).group(1))
        assert ask(port, "GET", "/api/v1/about")[0] == 200
        supervisor = _child_of(process.pid)
        fork_server = _child_of(supervisor)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
        assert process.stdout.read() == ""
    assert not os.path.exists(f"/proc/{supervisor}")
    until(lambda: not os.path.exists(f"/proc/{fork_server}"))


def _child_of(pid: int) -> int:
    """Wait for a child of a process, and return it."""
    children: list[str] = []

    def has_some() -> bool:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children[:] = file.read().split()
        return bool(children)

    until(has_some)
    return int(children[0])


def test_the_limit_of_uploads_is_an_option(tmp_path, make_app):
    assert settings_for("127.0.0.1", tmp_path).upload_limit_bytes == 64_000_000
    settings = settings_for("127.0.0.1", tmp_path, 3_000_000_000)
    assert settings.upload_limit_bytes == 3_000_000_000
    assert settings.uploads_kept_bytes == 12_000_000_000
    page = make_app(upload_limit_bytes=500_000_000).test_client().get("/").get_data(as_text=True)
    assert "up to 500 MB; parsed" in page
