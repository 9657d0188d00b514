"""Tests of server-sent events: all events arrive in order, also for late subscribers."""

from __future__ import annotations

import itertools
import json
import threading
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from app.store.jobs import leases
from tests.app.conftest import (
    PATIENCE_S,
    events_told,
    jobs_of,
    submit,
    until,
    wait,
    wait_until,
)

pytestmark = pytest.mark.each_database


def events_of(answer) -> list[tuple[int, str, dict]]:
    """Return the events of a stream that has ended."""
    found = []
    for block in answer.get_data(as_text=True).split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in block.splitlines() if not line.startswith(":")
        )
        if "event" in fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def test_a_subscriber_sees_everything_from_the_queue_to_the_end(client):
    job = submit(client)
    answer = client.get(f"/api/v1/jobs/{job['id']}/events")
    assert answer.mimetype == "text/event-stream"
    assert answer.headers["Cache-Control"] == "no-store"
    events = events_of(answer)
    assert [name for _, name, _ in events] == [
        "queued", "started", "phase", "imported", "pass", "pass", "finished",
    ]  # fmt: skip
    assert [number for number, _, _ in events] == list(range(1, 8))
    assert all(data["version"] == 1 for _, _, data in events)
    assert events[4][2] == {
        "version": 1, "stage": 1, "name": "simplify", "seconds": 0.02, "changed": True,
        "n_nodes": 1, "n_applied": 1, "n_declined": 0,
    }  # fmt: skip
    assert events[5][2]["changed"] is False


def test_late_subscribers_get_a_replay_and_others_continue(client):
    job = wait(client, submit(client)["id"])
    url = f"/api/v1/jobs/{job['id']}/events"
    all_events = events_of(client.get(url))
    assert len(all_events) == 7
    assert events_of(client.get(url)) == all_events
    assert events_of(client.get(url, headers={"Last-Event-ID": "4"})) == all_events[4:]
    assert events_of(client.get(f"{url}?after=6")) == all_events[6:]


def test_after_the_end_the_browser_is_told_not_to_come_back(client):
    job = wait(client, submit(client)["id"])
    answer = client.get(f"/api/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": "7"})
    assert (answer.status_code, answer.data) == (204, b"")


def test_a_replay_comes_from_disk_after_a_restart(make_app):
    first = make_app().test_client()
    job = wait(first, submit(first)["id"])
    url = f"/api/v1/jobs/{job['id']}/events"
    assert events_of(make_app().test_client().get(url)) == events_of(first.get(url))


def test_failures_are_told_with_their_error(client):
    job = submit(client, "refuse")
    *_, (_, name, data) = events_of(client.get(f"/api/v1/jobs/{job['id']}/events"))
    assert name == "failed"
    assert data["error"]["code"] == "E-MODEL-CYCLE"
    assert data["n_stages"] == 3


def test_a_silent_stream_is_kept_alive_and_ends_in_time(make_app, monkeypatch):
    client = make_app(heartbeat_s=0.05, stream_limit_s=0.5).test_client()
    clock = itertools.count()
    monkeypatch.setattr("app.api.jobs.monotonic", lambda: next(clock) / 8)
    running = submit(client, "sleep")
    wait_until(client, running["id"], lambda job: job["state"] == "running")
    waiting = submit(client)
    text = client.get(f"/api/v1/jobs/{waiting['id']}/events").get_data(as_text=True)
    # Each request lasts an eighth of a second: the earlier events, then twice no event.
    assert text.count(": still here") == 2
    assert "event: queued" in text
    client.delete(f"/api/v1/jobs/{waiting['id']}")
    client.delete(f"/api/v1/jobs/{running['id']}")


def test_a_stream_that_is_read_during_the_end_of_a_job_has_the_terminal_event(client):
    job_id = submit(client, "sleep")["id"]
    wait_until(client, job_id, lambda found: found["n_stages"] == 3)
    stream = iter(client.get(f"/api/v1/jobs/{job_id}/events", buffered=False).response)
    while b"event: pass" not in next(stream):
        pass
    rest: list[bytes] = []
    reader = threading.Thread(target=lambda: rest.extend(stream))
    reader.start()
    jobs_of(client).cancel(job_id)
    reader.join(timeout=PATIENCE_S)
    assert b"event: cancelled" in b"".join(rest)


def test_no_one_sees_the_end_of_a_job_without_its_terminal_event(client):
    jobs, seen = jobs_of(client), []
    job = jobs.find(submit(client)["id"])

    def ended() -> bool:
        events, is_over = jobs.events_after(job, 0, 0.0)
        seen.append((events[-1].name if events else "", is_over))
        return is_over

    until(ended)
    assert all(name == "finished" for name, is_over in seen if is_over)


def test_a_full_disk_delays_the_end_of_a_job_until_there_is_room(client, monkeypatch):
    fails = [OperationalError("UPDATE", {}, Exception("database or disk is full"))] * 2
    end = leases.end

    def sometimes(*arguments: Any) -> bool:
        if fails:
            raise fails.pop()
        return end(*arguments)

    monkeypatch.setattr(leases, "end", sometimes)
    job_id = submit(client)["id"]
    assert wait(client, job_id)["state"] == "succeeded"
    assert not fails
    assert [event.name for event in events_told(client, job_id)].count("finished") == 1


def test_the_number_of_streams_is_bounded_and_closed_ones_do_not_count(make_app):
    client = make_app(n_streams=2).test_client()
    job = wait(client, submit(client)["id"])
    url = f"/api/v1/jobs/{job['id']}/events"
    for _ in range(5):
        assert client.get(url, buffered=True).status_code == 200
    held = [client.get(url, buffered=False) for _ in range(2)]
    refused = client.get(url)
    assert (refused.status_code, refused.get_json()["error"]["code"]) == (503, "E-LIMIT-QUEUE")
    for answer in held:
        answer.close()
    assert client.get(url).status_code == 200


def test_an_odd_event_number_is_refused(client):
    job = wait(client, submit(client)["id"])
    answer = client.get(f"/api/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": "-1"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "E-REQUEST-BODY")


def test_nothing_but_numbers_and_names_goes_between_the_lines(client):
    job = jobs_of(client).find(wait(client, submit(client)["id"])["id"])
    with jobs_of(client).database.changing() as connection:
        data = {"name": "line\n\nid: 99\nevent: finished\ndata: {}"}
        leases.write_event(connection, job.id, "pass", data)
    number, name, data = events_of(client.get(f"/api/v1/jobs/{job.id}/events"))[-1]
    assert (number, name) == (8, "pass")
    assert data["name"].startswith("line\n\nid")
