"""Tests of server-sent events: all events arrive in order, also for late subscribers."""

from __future__ import annotations

import itertools
import json
import threading

import pytest

from app.jobs.records import Job
from tests.app.conftest import PATIENCE_S, jobs_of, submit, wait, wait_until


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
    jobs = jobs_of(client)
    job = jobs.find(submit(client, "sleep")["id"])
    wait_until(client, job.id, lambda found: found["n_stages"] == 3)
    stream = iter(client.get(f"/api/v1/jobs/{job.id}/events", buffered=False).response)
    while b"event: pass" not in next(stream):
        pass
    jobs.cancels[job.id].set()
    with jobs.changed:  # as when the job has a new state, and its terminal event is being added
        state, job.state = job.state, "cancelled"
        rest: list[bytes] = []
        reader = threading.Thread(target=lambda: rest.extend(stream))
        reader.start()
        reader.join(timeout=0.2)
        job.state = state
    reader.join(timeout=PATIENCE_S)
    assert b"event: cancelled" in b"".join(rest)


def test_a_full_disk_does_not_hide_the_end_of_a_job(client, monkeypatch):
    job = jobs_of(client).find(wait(client, submit(client)["id"])["id"])

    def full(_: Job) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Job, "save", full)
    with pytest.raises(OSError, match="no space"):
        job.end("cancelled")
    assert job.events[-1].name == "cancelled"


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
    jobs = jobs_of(client)
    job = jobs.find(wait(client, submit(client)["id"])["id"])
    job.add("pass", {"name": "line\n\nid: 99\nevent: finished\ndata: {}"})
    number, name, data = events_of(client.get(f"/api/v1/jobs/{job.id}/events"))[-1]
    assert (number, name) == (8, "pass")
    assert data["name"].startswith("line\n\nid")
