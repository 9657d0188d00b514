"""Tests of the table of jobs: fences, retries, fairness, and the order of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.store.database import Database
from app.store.jobs import leases, queueing, reading
from app.store.jobs.claiming import Owner, claim, has_work
from app.store.jobs.leases import Lease
from app.store.jobs.order import Waiting, fair_order, startable
from app.store.jobs.queueing import Limits, Wanted
from app.store.jobs.record import Job
from compiler.errors import CompileError

pytestmark = pytest.mark.each_database

FOLDER = Path("jobs")
OWNER = Owner("host/1/a", "host", 15.0, 2)
OTHER = Owner("host/2/b", "host", 15.0, 2)
ERROR = CompileError("E-LIMIT-CRASH", "the server stopped")


def waits(*given: Any) -> list[float | None]:
    return [None] * len(given[2])


LIMITS = Limits(50, 20, waits)


def queue(database: Database, limits: Limits = LIMITS, **fields: Any) -> str:
    """Queue a job, and return its id."""
    request = {"kind": "compile", "n": fields.pop("n", 0)}
    with database.changing() as connection:
        return queueing.submit(connection, Wanted(request, "m", "f", {}, **fields), limits)


def take(database: Database, owner: Owner = OWNER) -> Lease | None:
    with database.changing() as connection:
        return claim(connection, owner, waits)


def taken(database: Database, owner: Owner = OWNER) -> Lease:
    lease = take(database, owner)
    assert lease is not None
    return lease


def job(database: Database, job_id: str) -> Job:
    with database.looking() as connection:
        found = reading.find(connection, FOLDER, job_id)
    assert found is not None
    return found


def names(database: Database, job_id: str) -> list[str]:
    with database.looking() as connection:
        return [event.name for event in reading.events_after(connection, job_id, 0)]


def end(database: Database, lease: Lease, told: Mapping[str, Any] | None = None) -> bool:
    events = [("phase", told)] if told else []
    with database.changing() as connection:
        return leases.end(connection, lease, "succeeded", None, events, 3)


def take_away(database: Database, lease: Lease) -> bool:
    with database.changing() as connection:
        (held,) = (h for h in leases.all_held(connection) if h.lease.job_id == lease.job_id)
        return leases.take_away(connection, held, ERROR)


def test_a_job_goes_from_the_queue_to_its_end(database: Database) -> None:
    job_id = queue(database)
    assert job(database, job_id).folder == FOLDER / job_id
    lease = taken(database)
    assert (lease.attempt, job(database, job_id).status) == (1, "leased")
    assert job(database, job_id).folder == FOLDER / job_id / "1"
    with database.changing() as connection:
        assert leases.record(connection, lease, [("phase", {"phase": "read"})], "read", 0)
    lease.state = "running"
    assert end(database, lease, {"phase": "write"})
    ended = job(database, job_id)
    assert (ended.state, ended.status, ended.n_stages) == ("succeeded", "succeeded", 3)
    assert names(database, job_id) == ["queued", "started", "phase", "phase", "finished"]
    assert ended.n_events == 5


def test_a_late_owner_changes_nothing(database: Database) -> None:
    job_id = queue(database)
    late = taken(database)
    assert take_away(database, late)
    assert job(database, job_id).status == "queued"
    current = taken(database, OTHER)
    assert current.attempt == 2
    before = (job(database, job_id), names(database, job_id))
    with database.changing() as connection:
        assert not leases.record(connection, late, [("phase", {})], "late", 9)
        assert not leases.end(connection, late, "succeeded", None, [("phase", {})], 9)
        assert not leases.queue_again(connection, late, [("phase", {})], "crashed")
        assert leases.heartbeat(connection, [late, current], 15.0) == [late]
    after = job(database, job_id)
    assert (replace(after, seconds=0.0), names(database, job_id)) == (
        replace(before[0], seconds=0.0),
        before[1],
    )
    assert end(database, current)
    assert not end(database, current), "a job ends once"
    assert names(database, job_id).count("finished") == 1


def test_an_owner_that_is_unsure_of_a_write_reads_its_lease_again(database: Database) -> None:
    job_id = queue(database)
    lease = taken(database)
    before = replace(lease)
    with database.changing() as connection:
        assert leases.recall(connection, lease) == 0
        assert lease == before
        assert leases.record(connection, lease, [("phase", {}), ("ready", {})], "read", 1)
    with database.changing() as connection:  # the confirmation of the commit was lost
        assert leases.recall(connection, lease) == 2
        assert (lease.state, lease.n_events) == ("running", job(database, job_id).n_events)
    assert end(database, lease)
    with database.changing() as connection:
        ended = replace(lease)
        assert leases.recall(connection, lease) == 0
        assert lease == ended


def test_a_fence_names_the_state_the_attempt_and_the_owner(database: Database) -> None:
    queue(database)
    lease = taken(database)
    for wrong in (
        replace(lease, state="running"),
        replace(lease, attempt=2),
        replace(lease, owner=OTHER.name),
    ):
        assert not end(database, wrong)
    assert end(database, lease)


def test_a_heartbeat_keeps_a_job_from_others(database: Database) -> None:
    queue(database)
    lease = taken(database)
    with database.looking() as connection:
        (held,) = leases.all_held(connection)
    with database.changing() as connection:
        assert leases.heartbeat(connection, [lease], 15.0) == []
        assert not leases.take_away(connection, held, ERROR)
    assert end(database, lease)


def test_a_job_whose_owners_die_ends_after_its_attempts(database: Database) -> None:
    job_id = queue(database, max_attempts=3)
    for attempt in (1, 2, 3):
        assert taken(database).attempt == attempt
        with database.looking() as connection:
            (held,) = leases.all_held(connection)
        assert take_away(database, held.lease)
    ended = job(database, job_id)
    assert (ended.status, ended.state) == ("crashed", "failed")
    assert ended.error is not None
    assert ended.error["code"] == "E-LIMIT-CRASH"
    assert take(database) is None
    assert names(database, job_id)[-1] == "failed"


def test_a_returned_attempt_does_not_count(database: Database) -> None:
    job_id = queue(database, max_attempts=1)
    for _ in range(3):
        lease = taken(database)
        with database.changing() as connection:
            assert leases.queue_again(connection, lease, [], "returned")
    assert job(database, job_id).status == "queued"


def test_a_cancelled_job_whose_owner_dies_is_not_run_again(database: Database) -> None:
    job_id = queue(database)
    lease = taken(database)
    with database.changing() as connection:
        queueing.cancel(connection, job_id, waits)
        wish = leases.wishes(connection, OWNER.name)[job_id, 1]
    assert (wish.is_cancelled, wish.is_stopped) == (True, False)
    assert take_away(database, lease)
    assert job(database, job_id).state == "cancelled"


def test_each_job_is_taken_by_one_owner(database: Database) -> None:
    for n in range(12):
        queue(database, n=n)
    owners = [Owner(f"host/{n}/x", "host", 15.0, 100) for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda owner: [take(database, owner) for _ in range(4)], owners))
    got = [lease.job_id for each in found for lease in each if lease is not None]
    assert len(got) == len(set(got)) == 12


def test_clients_take_turns_and_none_runs_many_at_a_time(database: Database) -> None:
    first = [queue(database, client="a", n=n) for n in range(3)]
    second = queue(database, client="b")
    assert [job(database, i).position for i in (*first, second)] == [1, 3, 4, 2]
    order = [taken(database).job_id for _ in range(3)]
    assert order == [first[0], second, first[1]]
    with database.looking() as connection:
        assert not has_work(connection, OWNER), "two jobs of this client run"
    assert take(database) is None


def test_one_measuring_job_runs_on_a_machine(database: Database) -> None:
    bench = [queue(database, queue="bench", client=str(n)) for n in range(2)]
    plain = queue(database, client="c")
    lease = taken(database)
    assert lease.job_id == bench[0]
    assert taken(database, OTHER).job_id == plain, "the second job measures too"
    assert take(database, OTHER) is None
    elsewhere = replace(OTHER, machine="another")
    assert taken(database, elsewhere).job_id == bench[1]
    assert end(database, lease)


def test_the_queue_of_a_client_is_bounded(database: Database) -> None:
    limits = Limits(3, 2, waits)
    for n in range(2):
        queue(database, limits, client="a", n=n)
    with pytest.raises(CompileError, match="your jobs waiting: 2") as caught:
        queue(database, limits, client="a")
    assert caught.value.code == "E-LIMIT-QUEUE"
    queue(database, limits, client="b")
    with pytest.raises(CompileError, match="jobs waiting: 3"):
        queue(database, limits, client="c")


def test_the_newest_job_of_a_pane_replaces_the_older_queued_one(database: Database) -> None:
    running = queue(database, client="a", pane="check", n=0)
    lease = taken(database)
    older = queue(database, client="a", pane="check", n=1)
    others = [
        queue(database, client="a", pane="place", n=2),
        queue(database, client="b", pane="check", n=3),
        queue(database, client="a", n=4),
    ]
    newer = queue(database, client="a", pane="check", n=5)
    assert lease.job_id == running
    states = [job(database, i).state for i in (running, older, *others, newer)]
    assert states == ["running", "cancelled", *["queued"] * 4]
    assert names(database, older)[-1] == "cancelled"


def test_far_positions_are_told_seldom(database: Database) -> None:
    ids = [queue(database, replace(LIMITS, n_queued_of_client=99), n=n) for n in range(45)]
    last = ids[-1]
    for _ in range(2):
        end(database, taken(database))
    assert names(database, last) == ["queued"], "at 45 and at 43 is no tenth"
    assert job(database, ids[20]).position == 19
    for _ in range(3):
        end(database, taken(database))
    assert names(database, last) == ["queued", "queued"]
    assert job(database, last).position == 40


def test_jobs_of_a_higher_priority_are_first() -> None:
    jobs = [Waiting("a", 1, "x"), Waiting("b", 2, "y", priority=1), Waiting("c", 3, "x")]
    ordered = fair_order(jobs)
    assert [each.id for each in ordered] == ["b", "a", "c"]
    first = startable(ordered, {"y": 2}, per_client=2, is_measuring=False)
    assert first is not None
    assert first.id == "a"
