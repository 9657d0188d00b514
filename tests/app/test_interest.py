"""Tests of the clients of a job: shared requests, clients that leave, and waiting times."""

from __future__ import annotations

import time

import pytest
from flask.testing import FlaskClient

from app.jobs.interest import Interests, Signs
from app.jobs.queue import JobQueue
from app.jobs.silence import Silence
from app.jobs.waiting import Durations
from tests.app.conftest import PATIENCE_S, events_told, jobs_of, submit, until, wait, wait_until

pytestmark = pytest.mark.each_database

REQUEST = {
    "kind": "compile", "model": {"sample": "none"}, "pipeline": "sleep", "shapes": {},
    "options": {},
}  # fmt: skip


def obtained(client: FlaskClient, **fields: object) -> str:
    return jobs_of(client).obtain({**REQUEST, **fields}, "a model").id


def state_of(client: FlaskClient, job_id: str) -> str:
    return client.get(f"/api/v1/jobs/{job_id}").get_json()["state"]


def test_equal_requests_share_a_job_until_all_clients_cancel_it(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.jobs.queue.CANCEL_S", PATIENCE_S)
    running, queued = obtained(client), obtained(client, pipeline="none")
    wait_until(client, running, lambda job: job["state"] == "running")
    assert obtained(client) == running
    assert obtained(client, pipeline="none") == queued
    assert obtained(client, pipeline="other") not in (running, queued)
    for job_id, state in ((queued, "queued"), (running, "running")):
        assert client.delete(f"/api/v1/jobs/{job_id}").get_json()["state"] == state
        assert client.delete(f"/api/v1/jobs/{job_id}").get_json()["state"] == "cancelled"
    assert obtained(client) != running


def test_a_finished_job_is_shared_only_on_request(client: FlaskClient) -> None:
    job_id = obtained(client, pipeline="none")
    wait(client, job_id)
    assert jobs_of(client).obtain({**REQUEST, "pipeline": "none"}, "m", done=True).id == job_id
    assert obtained(client, pipeline="none") != job_id


def test_a_job_whose_clients_have_left_is_cancelled(make_app) -> None:
    client = make_app(abandoned_after_s=0.2, heartbeat_s=0.05).test_client()
    job_id = obtained(client)
    wait_until(client, job_id, lambda job: job["state"] == "running")
    streams = [client.get(f"/api/v1/jobs/{job_id}/events", buffered=False) for _ in range(2)]
    streams[0].close()
    time.sleep(1.5)
    assert jobs_of(client).peek(job_id).state == "running"
    streams[1].close()
    wait_for_end(jobs_of(client), job_id)
    assert jobs_of(client).peek(job_id).state == "cancelled"


def wait_for_end(jobs: JobQueue, job_id: str) -> None:
    """Wait without a question about the job, which would keep the job alive."""
    until(lambda: jobs.peek(job_id).is_over)


def test_a_client_without_a_stream_keeps_its_job(make_app) -> None:
    client = make_app(abandoned_after_s=0.1).test_client()
    job_id = obtained(client)
    wait_until(client, job_id, lambda job: job["state"] == "running")
    # Of two clients with this request, one follows the job and leaves.
    assert obtained(client) == job_id
    client.get(f"/api/v1/jobs/{job_id}/events", buffered=False).close()
    time.sleep(1.5)
    assert jobs_of(client).peek(job_id).state == "running"
    client.delete(f"/api/v1/jobs/{job_id}")
    client.delete(f"/api/v1/jobs/{job_id}")


def test_reconnections_and_questions_count_as_interest(make_app) -> None:
    client = make_app(supervisor="outside", abandoned_after_s=1e6).test_client()
    jobs, now = jobs_of(client), [0.0]
    silence = Silence(gap_s=1e6, clock=lambda: now[0])

    def left() -> list[str]:
        jobs._write_signs()
        return jobs._left(silence, 20.0)

    job_id = obtained(client)
    assert obtained(client) == job_id
    jobs.interests.opened(job_id, again=False)
    jobs.interests.closed(job_id)
    jobs.interests.opened(job_id, again=True)
    jobs.interests.closed(job_id)
    assert left() == []
    now[0] = 100.0  # one of two clients has never opened a stream
    assert left() == []
    assert jobs.release(job_id).state == "queued"
    assert left() == []
    now[0] = 130.0
    assert left() == [job_id]
    jobs.find(job_id)
    assert left() == []
    now[0] = 160.0
    assert left() == [job_id]
    assert jobs.release(job_id).state == "cancelled"
    assert left() == []


def test_an_open_stream_is_a_sign_of_interest_each_time() -> None:
    interests = Interests()
    for _ in range(2):
        interests.opened("a", again=False)
    assert interests.take() == Signs({"a": 2}, {"a"})
    interests.closed("a")
    interests.seen("b")
    assert interests.take() == Signs({}, {"a", "b"})
    interests.closed("a")
    signs = interests.take()
    assert signs == Signs({}, {"a"})
    interests.put_back(signs)
    assert interests.take() == signs
    assert interests.take() == Signs({}, set())


def test_silence_is_measured_by_the_clock_of_the_observer() -> None:
    now = [0.0]
    silence = Silence(gap_s=10.0, clock=lambda: now[0])
    assert silence.look({"a": 1e9}) == {"a": 0.0}
    now[0] = 6.0
    assert silence.look({"a": 1e9, "b": 0}) == {"a": 6.0, "b": 0.0}
    now[0] = 8.0
    assert silence.look({"a": 1e3, "b": 0}) == {"a": 0.0, "b": 2.0}, "a clock that jumped back"
    now[0] = 30.0  # the observer was stopped: it has not seen whether others were silent
    assert silence.look({"a": 1e3, "b": 0}) == {"a": 0.0, "b": 0.0}


def test_waiting_times_follow_from_recent_jobs() -> None:
    durations = Durations()
    assert durations.waits([], ["compile"], 1) == [0.0]
    assert durations.waits([("compile", 1.0)], ["compile"], 1) == [None]
    for seconds in (2.0, 10.0, 30.0):
        durations.add("compile", seconds)
    durations.add("check", 4.0)
    assert durations.waits([("compile", 4.0)], ["check", "compile", "tune"], 1) == [6, 10, 20]
    assert durations.waits([("compile", 4.0), ("compile", 50.0)], ["check"], 2) == [0.0]
    assert durations.waits([("compile", 4.0)], ["tune", "check", "check"], 1) == [6, None, None]
    assert durations.waits([("compile", 4.0)], ["tune", "check", "check"], 2) == [0, 6, 10]


def test_a_queued_job_has_its_place_and_its_waiting_time(client: FlaskClient) -> None:
    wait(client, submit(client)["id"])
    running = submit(client, "sleep")
    wait_until(client, running["id"], lambda job: job["state"] == "running")
    second, third = submit(client), submit(client)
    assert [second["position"], third["position"]] == [1, 2]
    assert 0 <= second["wait_s"] <= third["wait_s"]
    (event,) = events_told(client, third["id"])
    assert event.data == {"position": 2, "wait_s": third["wait_s"]}
    client.delete(f"/api/v1/jobs/{running['id']}")
    assert wait(client, third["id"])["wait_s"] is None


def test_a_client_is_a_session_or_an_address_and_its_panes_replace_their_jobs(make_app) -> None:
    client = make_app(supervisor="outside", queued_per_client=1).test_client()
    body = {"kind": "compile", "model": {"sample": "digits_mlp"}, "options": {"seed": 0}}

    def asked(seed: int, session: str = "", pane: str = "") -> tuple[int, str]:
        body["options"] = {"seed": seed}
        client.set_cookie("compilarium-session", session)
        headers = {"Compilarium-Pane": pane}
        answer = client.post("/api/v1/jobs", json=body, headers=headers)
        return answer.status_code, answer.get_json().get("id", "")

    one, other = "a" * 22, "b" * 22
    older = asked(1, one, "compile")
    assert older[0] == 202
    assert asked(2, one, "check")[0] == 503, "one job of a client waits"
    assert asked(2, other)[0] == 202
    newer = asked(3, one, "compile")
    assert newer[0] == 202
    assert state_of(client, older[1]) == "cancelled"
    assert state_of(client, newer[1]) == "queued"
    assert asked(4, pane="<odd>")[0] == 202, "an odd name is no pane"
    assert asked(5, pane="<odd>")[0] == 503, "the address is the client without a session"
