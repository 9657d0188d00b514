"""Tests of /metrics: its figures, its readers, and counts that workers share."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.exc import OperationalError

from app.metrics.folder import VARIABLE, allocate_counts, shared_counts
from app.metrics.stored import StoredBytes
from tests.app.conftest import submit, until, wait
from tests.app.server_process import JOB, SLEEPING_WORKER, running

Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(text: str) -> Figures:
    """Return the samples by name and labels."""
    families = text_string_to_metric_families(text)
    samples = (sample for family in families for sample in family.samples)
    return {(s.name, frozenset(s.labels.items())): s.value for s in samples}


def figures(client: FlaskClient) -> Figures:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    return parsed(answer.text)


def value(found: Figures, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def n_requests(found: Figures, route: str, status: int = 200, method: str = "GET") -> float | None:
    labels = {"method": method, "route": route, "status": str(status)}
    return value(found, "compilarium_requests_total", **labels)


def test_requests_are_counted_by_template_and_status(client: FlaskClient) -> None:
    for name in ("secret-a", "secret-b"):
        assert client.get(f"/api/v1/jobs/{name}").status_code == 404
        client.get(f"/{name}")
        client.open("/", method=name.upper())
    client.get("/api/v1/about")
    found = figures(client)
    assert n_requests(found, "/api/v1/jobs/<job_id>", 404) == 2
    assert n_requests(found, "unknown", 404) == 2
    assert n_requests(found, "unknown", 405, "unknown") == 2
    assert n_requests(found, "/api/v1/about") == 1
    assert value(found, "compilarium_request_seconds_count", route="/api/v1/about") == 1
    assert value(found, "compilarium_request_seconds_bucket", route="/api/v1/about", le="+Inf") == 1
    assert "secret" not in str(found).lower()


def test_requests_of_the_server_to_itself_are_not_counted(client: FlaskClient) -> None:
    job = wait(client, submit(client, model={"upload": "0" * 64})["id"])["id"]
    assert client.get(f"/api/v1/jobs/{job}/report").status_code == 200
    found = figures(client)
    assert n_requests(found, "/api/v1/jobs/<job_id>/report") == 1
    assert n_requests(found, "/api/v1/jobs/<job_id>/result") is None


def test_jobs_queue_supervisors_and_bytes_are_figures_of_this_moment(client: FlaskClient) -> None:
    wait(client, submit(client)["id"])
    wait(client, submit(client, "refuse")["id"])
    running_id = submit(client, "sleep")["id"]
    until(lambda: client.get(f"/api/v1/jobs/{running_id}").get_json()["state"] == "running")
    submit(client)
    client.post("/api/v1/uploads", data=b"x" * 1234)
    until(lambda: value(figures(client), "compilarium_supervisors") == 1)
    found = figures(client)
    for state in ("succeeded", "failed", "running", "queued"):
        assert value(found, "compilarium_jobs", kind="compile", state=state) == 1
    assert value(found, "compilarium_queue_length") == 1
    assert (value(found, "compilarium_stored_bytes", folder="uploads") or 0) >= 1234
    assert (value(found, "compilarium_stored_bytes", folder="jobs") or 0) > 0
    assert (value(found, "compilarium_stored_bytes", folder="files") or 0) > 0
    assert (value(found, "process_resident_memory_bytes") or 0) > 1e6


def test_without_the_database_the_other_figures_remain(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise OperationalError("SELECT", {}, OSError("away"))

    monkeypatch.setattr("app.metrics.exposition.census", away)
    found = figures(client)
    assert value(found, "compilarium_queue_length") is None
    assert (value(found, "process_resident_memory_bytes") or 0) > 1e6


@pytest.mark.parametrize(
    ("token", "address", "headers", "status"),
    [
        ("", "127.0.0.1", {}, 200),
        ("", "::1", {}, 200),
        ("", "192.0.2.1", {}, 403),
        ("", "192.0.2.1", {"Authorization": "Bearer "}, 403),
        ("", "127.0.0.1", {"X-Forwarded-For": "192.0.2.1"}, 403),
        ("", "192.0.2.1", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("secret", "127.0.0.1", {}, 200),
        ("secret", "192.0.2.1", {"Authorization": "Bearer secret"}, 200),
        ("secret", "192.0.2.1", {"Authorization": "Bearer secre"}, 403),
        ("secret", "192.0.2.1", {"Authorization": "Bearer séc"}, 403),
        ("secret", "192.0.2.1", {"Authorization": "Basic c2VjcmV0"}, 403),
        ("secret", "127.0.0.1", {"Via": "1.1 a"}, 403),
    ],
)
def test_the_figures_are_for_this_machine_and_holders_of_the_token(
    make_app, token: str, address: str, headers: dict[str, str], status: int
) -> None:
    client = make_app(metrics_token=token).test_client()
    answer = client.get("/metrics", headers=headers, environ_base={"REMOTE_ADDR": address})
    assert answer.status_code == status
    if status == 403:
        assert answer.get_json()["error"]["code"] == "E-REQUEST-ACCESS"


def test_behind_a_trusted_proxy_the_address_is_that_of_its_client(make_app) -> None:
    client = make_app(trusted_proxies=1).test_client()
    for address, status in (("192.0.2.1", 403), ("127.0.0.1", 200)):
        answer = client.get("/metrics", headers={"X-Forwarded-For": address})
        assert answer.status_code == status


def test_a_replaced_worker_continues_the_counts(tmp_path: Path) -> None:
    with running(tmp_path, worker_module=SLEEPING_WORKER) as server:

        def counted() -> float:
            with closing(server.connect()) as connection:
                connection.request("GET", "/metrics")
                answer = connection.getresponse()
                assert answer.status == 200
                return n_requests(parsed(answer.read().decode()), "/api/v1/about") or 0.0

        for _ in range(3):
            assert server.ask("GET", "/api/v1/about")[0] == 200
        server.ask("POST", "/api/v1/jobs", JOB)
        assert counted() == 3
        worker = server.worker
        os.kill(worker, signal.SIGKILL)
        until(lambda: server.worker != worker)
        assert server.ask("GET", "/api/v1/about")[0] == 200
        assert counted() == 4
        assert len(list((tmp_path / "data" / "metrics").iterdir())) == 1
    assert list((tmp_path / "data" / "metrics").iterdir()) == []


def test_counts_of_killed_servers_are_removed(tmp_path: Path) -> None:
    dead = tmp_path / "metrics" / str(2**22 + 1)  # beyond the largest process id
    alive = tmp_path / "metrics" / str(os.getppid())
    for folder in (dead, alive):
        folder.mkdir(parents=True)
    with shared_counts(tmp_path):
        own = Path(os.environ[VARIABLE])
        assert {own.name, alive.name} == {each.name for each in (tmp_path / "metrics").iterdir()}
    assert VARIABLE not in os.environ
    assert not own.exists()


def test_sizes_are_measured_at_intervals(tmp_path: Path) -> None:
    assert StoredBytes(tmp_path / "none").sizes() == {"files": 0}
    kept, now = StoredBytes(tmp_path), StoredBytes(tmp_path, kept_s=0.0)
    for stored in (kept, now):
        assert stored.sizes() == {"files": 0}
    (tmp_path / "jobs" / "a").mkdir(parents=True)
    (tmp_path / "jobs" / "a" / "x").write_bytes(b"123")
    (tmp_path / "jobs" / "link").symlink_to("/")
    (tmp_path / "compilarium.db").write_bytes(b"12345")
    assert kept.sizes() == {"files": 0}
    assert now.sizes() == {"files": 5, "jobs": 3}


def test_counts_have_their_space_before_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write to a mapped file without space on the disk kills the process."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    allocate_counts()
    found = [file.stat() for file in tmp_path.iterdir()]
    assert len(found) == 2
    assert all(512 * each.st_blocks >= each.st_size > 200_000 for each in found)


def test_a_full_disk_only_leaves_a_warning_about_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr(os, "posix_fallocate", full)
    allocate_counts()
    assert "no space" in caplog.text
