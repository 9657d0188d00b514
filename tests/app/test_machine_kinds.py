"""Tests of kinds of machines: jobs run on a suitable machine, and times are never mixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.jobs import supervisor as supervisor_module
from app.jobs.limits import Limits
from app.jobs.machine_facts import take_facts
from app.jobs.machines import needed_kind, this_machine
from app.jobs.task import Task
from app.store.database import Database, sqlite_url
from app.store.jobs import queueing, reading, supervisors
from app.store.jobs.claiming import Owner, claim, has_work
from app.store.jobs.queueing import Wanted
from app.store.jobs.record import Job
from app.store.jobs.supervisors import Machine
from app.wire import profiles
from compiler.bench.disturbance import Watch
from compiler.errors import CompileError
from compiler.machine import name as machine_name
from compiler.machine.database import machine_key
from compiler.machine.keep import key_of, kind_of
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target, host
from tests.app.conftest import MakeApp, change_row, jobs_of, settings_of, submit, until, wait

NEW = Owner("new/1/a", "new", 15.0, 9, "kind-a")
OLD = Owner("old/1/b", "old", 15.0, 9, "kind-b")
LIMITS = queueing.Limits(50, 20, lambda *given: [None] * len(given[2]))
FOLDER = Path("jobs")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(sqlite_url(tmp_path))
    yield made
    made.close()


def queued(database: Database, needs: str = "", **request: str) -> str:
    wanted = Wanted({"kind": "compile", **request}, "m", "f", {}, needs=needs)
    with database.changing() as connection:
        return queueing.submit(connection, wanted, LIMITS)


def claimed(database: Database, owner: Owner) -> str:
    with database.changing() as connection:
        lease = claim(connection, owner, LIMITS.waits)
    return lease.job_id if lease else ""


def ran(job_id: str, machine: str, processor: str) -> Job:
    return Job(job_id, FOLDER, {}, "m", "succeeded", machine=machine, processor=processor)


def test_a_machine_takes_only_jobs_of_its_kind(database: Database) -> None:
    first, second = queued(database, "kind-b", n="1"), queued(database, n="2")
    with database.looking() as connection:
        assert has_work(connection, NEW)
    assert claimed(database, NEW) == second
    with database.looking() as connection:
        assert not has_work(connection, NEW)
        assert has_work(connection, OLD)
    assert claimed(database, NEW) == ""
    assert claimed(database, OLD) == first
    with database.looking() as connection:
        job = reading.find(connection, FOLDER, first)
    assert job is not None
    assert (job.machine, job.processor) == ("old", "kind-b")


def test_a_job_needs_the_kind_of_machine_of_what_it_examines() -> None:
    a, b = ran("a", "new", "kind-a"), ran("b", "old", "kind-b")
    both = [Machine("new", "kind-a", {}), Machine("old", "kind-b", {})]
    assert needed_kind([], both) == ""
    assert needed_kind([ran("c", "", "")], both) == ""  # of an earlier version
    assert needed_kind([a], both) == "kind-a"
    assert needed_kind([b, replace(b, id="d")], both) == "kind-b"
    assert needed_kind([b], []) == "kind-b"  # the job waits for its machine
    with pytest.raises(CompileError, match="new and old, so their times are not comparable"):
        needed_kind([a, b], both)
    with pytest.raises(CompileError, match="like old") as caught:
        needed_kind([b], both[:1])
    assert caught.value.code == "E-MACHINE-ABSENT"


def test_earlier_results_of_machines_that_have_left_are_not_reused(database: Database) -> None:
    job_id = queued(database)
    assert claimed(database, OLD) == job_id
    with database.changing() as connection:
        (held,) = reading.line(connection).running
        connection.exec_driver_sql(f"UPDATE jobs SET state = 'succeeded' WHERE id = '{held.id}'")
    digest = queueing.digest_of({"kind": "compile"})

    def done(*kinds: str) -> bool:
        with database.looking() as connection:
            return reading.find_done(connection, FOLDER, digest, "f", kinds) is not None

    assert done()
    assert done("kind-a", "kind-b")
    assert not done("kind-a")


def test_findings_about_an_equal_compilation_count_on_the_same_kind(database: Database) -> None:
    compiled = [queued(database) for _ in range(2)]
    other = queued(database, job=compiled[1])
    for job_id, owner in zip((*compiled, other), (NEW, NEW, NEW), strict=True):
        assert claimed(database, owner) == job_id

    def kinds(*given: str) -> list[str]:
        with database.changing() as connection:
            for job_id, kind in zip((*compiled, other), given, strict=True):
                values = f"processor = '{kind}', state = 'succeeded'"
                connection.exec_driver_sql(f"UPDATE jobs SET {values} WHERE id = '{job_id}'")
            return [job.id for job in reading.examining(connection, FOLDER, compiled[0], "f")]

    assert kinds("kind-a", "kind-a", "kind-a") == [other]
    assert kinds("kind-a", "", "kind-a") == [other]
    assert kinds("kind-b", "kind-a", "kind-a") == []
    assert kinds("kind-a", "kind-a", "kind-b") == []


def about(client: FlaskClient, job_id: str, **fields: str) -> Job:
    request = {"kind": "compile", "pipeline": "none", "job": job_id, **fields}
    return jobs_of(client).submit(request, "a model")


def test_a_job_about_an_absent_kind_is_refused(client: FlaskClient) -> None:
    compiled = submit(client)["id"]
    assert wait(client, compiled)["machine"] == this_machine(settings_of(client.application)).name
    assert about(client, compiled).state in ("queued", "running")
    change_row(client, compiled, processor="another", machine="old")
    with pytest.raises(CompileError) as caught:
        about(client, compiled)
    assert caught.value.code == "E-MACHINE-ABSENT"
    with pytest.raises(CompileError) as caught:
        about(client, "", tuned=compiled)
    assert caught.value.code == "E-MACHINE-ABSENT"


def test_a_queued_job_whose_machine_has_left_ends(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "SEEN_S", 0.5)
    client = make_app(supervisor="outside").test_client()
    job_id = submit(client)["id"]
    change_row(client, job_id, needs="another")
    working = make_app(lease_s=1.0).test_client()
    jobs_of(working).warm_up()
    job = wait(client, job_id)
    assert (job["state"], job["error"]["code"]) == ("failed", "E-MACHINE-ABSENT")


def test_the_machines_at_work_are_listed(make_app: MakeApp) -> None:
    client = make_app(supervisor="outside").test_client()
    assert client.get("/api/v1/about").get_json()["machines"] == []
    working = make_app(machine_name="ann").test_client()
    jobs_of(working).warm_up()

    def listed() -> Sequence[str]:
        found = client.get("/api/v1/about").get_json()["machines"]
        return [each["name"] for each in found if each["facts"]["n_processors"] > 0]

    until(lambda: listed() == ["ann"])
    jobs_of(working).stop()
    assert listed() == []


def test_supervisors_of_one_machine_are_one_machine(database: Database) -> None:
    with database.changing() as connection:
        for name in ("ann/1/a", "ann/2/b"):
            supervisors.report(connection, name, Machine("ann", "kind-a", {"n": 1}))
        supervisors.report(connection, "bob/1/a", Machine("bob", "kind-b", {}))
        found = supervisors.machines(connection, 60.0)
        assert supervisors.machines(connection, -60.0) == []
    assert found == [Machine("ann", "kind-a", {"n": 1}), Machine("bob", "kind-b", {})]


def test_measured_times_name_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_name, "_given", "")
    task = Task({"kind": "compile"}, Limits(1.0, 1, 1), machine="ann")
    take_facts(Task.from_json(task.to_json()))
    found = profiles.disturbance(Watch(1).disturbance())
    assert found["machine"] == "ann"
    assert found["words"].endswith("Machine: ann.")


@pytest.mark.parametrize(
    "change",
    [
        {"features": "+other"},
        {"cpu": "other"},
        {"l1d_bytes": 1},
        {"l2_bytes": 1},
        {"l3_bytes": 1},
        {"triple": "riscv64-unknown-linux-gnu"},
    ],
)
def test_speeds_and_schedules_of_different_kinds_have_different_keys(
    change: dict[str, str | int],
) -> None:
    this: Target = host()
    other: Target = replace(this, **change)  # type: ignore[arg-type]
    assert kind_of(this) == kind_of(host()) != kind_of(other)
    assert key_of(this) != key_of(other)
    assert machine_key(CodeOptions(this)) != machine_key(CodeOptions(other))
