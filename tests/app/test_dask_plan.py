"""Tests of which jobs are sent to which Dask workers, and of permitted addresses of schedulers."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from sqlalchemy import update

from app import readiness
from app.config import Settings
from app.jobs.supervisor_process import from_line, to_line
from app.jobs.transport import cluster as cluster_module
from app.jobs.transport import roster as roster_module
from app.jobs.transport.cluster import Cluster, DaskWorker, Ticket
from app.jobs.transport.plan import Place, choices
from app.jobs.transport.roster import Roster
from app.jobs.transport.scheduler import require_scheduler, security_of
from app.jobs.transport.tasks import enlist, run_job
from app.store.jobs import supervisors
from app.store.jobs.claiming import Attempt, Owner, claim
from app.store.jobs.reading import Line, Live
from app.store.jobs.record import State
from app.store.jobs.supervisors import Machine
from app.store.models import SupervisorRow
from app.wire import form
from compilarium.group import commands
from compiler.errors import CompileError
from tests.app.conftest import MakeApp, jobs_of, submit


def live(name: str, client: str = "", state: State = "queued", **more: Any) -> Live:
    return Live(name, int(name[1:]), client or name, state=state, **more)


def sent(
    jobs: list[Live],
    places: list[Place],
    on_way: Mapping[str, frozenset[str]] | None = None,
    held_back: tuple[str, ...] = (),
) -> dict[str, str]:
    """Return the workers of the jobs that are sent now, by the jobs."""
    found = choices(Line(jobs), places, on_way or {}, held_back, per_client=2)
    return {each.job.id: "".join(sorted(each.addresses)) for each in found}


A, B = Place("a", "ann", "x", 1), Place("b", "bob", "y", 1, measures=True)


def test_a_job_is_sent_only_to_workers_that_are_free() -> None:
    jobs = [live("j1"), live("j2"), live("j3")]
    assert sent(jobs, [A, B]) == {"j1": "ab", "j2": "ab"}
    assert sent(jobs, [replace(A, n_free=0), B]) == {"j1": "b"}
    assert sent(jobs, [A, replace(B, n_free=2)]) == {"j1": "ab", "j2": "ab", "j3": "ab"}
    assert sent(jobs, []) == {}
    assert sent(jobs, [A, B], {"j1": frozenset("ab")}) == {"j2": "ab"}, "j1 is not claimed yet"
    assert sent(jobs, [A, B], {"j1": frozenset("c")}) == {"j2": "ab", "j3": "ab"}
    assert sent(jobs, [A, B], held_back=("j1", "j2")) == {"j3": "ab"}


def test_the_order_of_the_queue_stays_fair() -> None:
    jobs = [live("j1", "ann"), live("j2", "ann"), live("j3", "bob")]
    assert list(sent(jobs, [A, B])) == ["j1", "j3"]
    running = [live("j0", "ann", "running"), *jobs]
    assert list(sent(running, [A, B])) == ["j3", "j1"]
    most = [live("j8", "ann", "running"), *running]
    assert list(sent(most, [A, B])) == ["j3"], "ann has as many running jobs as she may have"
    on_way = {"j1": frozenset("c")}
    assert list(sent(running, [A, B], on_way)) == ["j3"], "j1 counts as running"


def test_jobs_go_to_suitable_machines() -> None:
    assert sent([live("j1", needs="y")], [A, B]) == {"j1": "b"}
    assert sent([live("j1", needs="z")], [A, B]) == {}
    measuring = live("j1", queue="bench")
    assert sent([measuring], [A, B]) == {"j1": "b"}
    assert sent([measuring, live("j2", queue="bench")], [A, B]) == {"j1": "b"}
    other = live("j0", state="running", queue="bench", machine="bob")
    assert sent([other, measuring], [A, B]) == {}
    assert sent([measuring, live("j2")], [A, replace(B, n_free=0)]) == {"j2": "a"}


def test_only_the_sent_attempt_is_claimed(make_app: MakeApp) -> None:
    jobs = jobs_of(make_app(supervisor="outside").test_client())
    client = make_app(supervisor="outside").test_client()
    first, second = submit(client)["id"], submit(client, "sleep")["id"]
    owner = Owner("a/1/x", "a", 15.0, 9)

    def claimed(job_id: str, number: int) -> str:
        with jobs.database.changing() as connection:
            lease = claim(connection, owner, jobs.estimates, Attempt(job_id, number))
        return lease.job_id if lease else ""

    assert (claimed(second, 2), claimed(second, 0), claimed("no job", 1)) == ("", "", "")
    assert claimed(second, 1) == second
    assert claimed(second, 1) == "", "a second delivery takes nothing"
    assert claimed(second, 2) == "", "nor does an attempt that has not been queued"
    assert jobs.peek(first).status == "queued"


# Workers.


@dataclass
class FakeFuture:
    result_: Any = None
    status: str = "pending"

    def done(self) -> bool:
        return self.status != "pending"

    def result(self, timeout: float) -> Any:
        return self.result_


@dataclass
class FakeCluster:
    present: dict[str, DaskWorker] = field(default_factory=dict)
    asked: dict[str, FakeFuture] = field(default_factory=dict)
    n_asked: int = 0

    def workers(self) -> Mapping[str, DaskWorker]:
        return self.present

    def enlist(self, address: str, form: str) -> Ticket:
        assert form
        self.n_asked += 1
        self.asked[address] = FakeFuture()
        return Ticket(self.asked[address])

    def answer(self, address: str, **result: str) -> None:
        self.asked[address].result_, self.asked[address].status = result, "finished"


def test_workers_receive_jobs_once_their_supervisors_report() -> None:
    fake, found, nobody = FakeCluster(), Roster(), dict[str, Machine]()
    cluster = cast(Cluster, fake)
    found.look(cluster, nobody)
    assert found.problem([]) == "the Dask cluster has no workers; jobs wait"
    fake.present = {"a": DaskWorker(1, False), "b": DaskWorker(2, True)}
    found.look(cluster, nobody)
    fake.answer("a", problem="it has another version of the program")
    fake.answer("b", owner="bob/1/x")
    found.look(cluster, nobody)
    assert found.places(nobody, {}) == [], "its supervisor uses another database"
    assert "another version" in found.problem([])
    at_work = {"bob/1/x": Machine("bob", "y", {})}
    places = found.places(at_work, {"bob/1/x": 1})
    assert places == [Place("b", "bob", "y", 1, measures=True)]
    assert found.problem(places) == ""
    fake.present = {"a": DaskWorker(1, False)}
    found.look(cluster, at_work)
    assert found.places(at_work, {}) == []


def test_a_worker_that_cannot_run_jobs_is_asked_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake, found = FakeCluster({"a": DaskWorker(1, False)}), Roster()
    for _ in range(3):
        found.look(cast(Cluster, fake), {})
    assert fake.n_asked == 1
    fake.asked["a"].status = "lost"
    found.look(cast(Cluster, fake), {})
    assert found.problem([]) == "no worker of the Dask cluster can run jobs (lost); jobs wait"
    assert fake.n_asked == 1
    late = time.monotonic() + 60.0
    monkeypatch.setattr(roster_module, "monotonic", lambda: late)
    found.look(cast(Cluster, fake), {})
    assert fake.n_asked == 2


# What operators see.


def queue_problem(client: FlaskClient) -> str:
    checks = client.get("/readyz").get_json()["checks"]
    return next(each["problem"] for each in checks if each["name"] == "queue")


def test_the_problem_of_a_sender_is_that_of_the_queue(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_KEPT_S", 0.0)
    client = make_app(supervisor="outside", engine="dask").test_client()
    silence = "no process that sends jobs to Dask has reported within 15 s"
    assert queue_problem(client) == silence
    jobs = jobs_of(client)
    for problem in ("the scheduler is away", ""):
        with jobs.database.changing() as connection:
            supervisors.report_sender(connection, "sender/1", problem)
        assert queue_problem(client) == problem
    with jobs.database.changing() as connection:
        supervisors.report_sender(connection, "sender/2", "the scheduler is away")
        assert supervisors.n_at_work(connection, 15.0) == 0
        assert supervisors.machines(connection, 15.0) == []
    assert queue_problem(client) == "", "one sender with a cluster is enough"
    with jobs.database.changing() as connection:
        connection.execute(update(SupervisorRow).values(heartbeat_s=time.time() - 16))
    assert queue_problem(client) == silence


def test_an_absent_scheduler_costs_no_threads_and_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_module, "_CONNECT_S", 0.2)
    settings, found = Settings(engine="dask", scheduler="tcp://127.0.0.1:1"), list[int]()
    with cluster_module.event_loop() as loop:
        for _ in range(3):
            with pytest.raises(OSError, match="Timed out"):
                Cluster(settings, loop)
            found.append(threading.active_count() + len(os.listdir("/proc/self/fd")))
    assert found[2] == found[1]


def test_a_worker_without_settings_of_a_server_refuses_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("COMPILARIUM_DATABASE_URL", "COMPILARIUM_DATA_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    assert "neither COMPILARIUM_DATABASE_URL nor" in enlist(form())["problem"]
    assert "another version" in enlist("another form")["problem"]
    assert run_job("20261127-0123456789abcdef0123", 1) == "CompileError"


# The scheduler.


def refusal(**settings: Any) -> str:
    with pytest.raises(CompileError) as caught:
        require_scheduler(Settings(engine="dask", **settings))
    assert caught.value.code == "E-OPTION-VALUE"
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:8786"]
)
def test_a_scheduler_on_this_machine_needs_no_tls(address: str) -> None:
    require_scheduler(Settings(engine="dask", scheduler=address))
    assert security_of(Settings(engine="dask", scheduler=address)) is None


@pytest.mark.parametrize("address", ["tcp://10.1.2.3:8786", "tcp://scheduler:8786"])
def test_a_scheduler_of_a_network_without_tls_needs_a_setting(address: str) -> None:
    assert "has no TLS" in refusal(scheduler=address)
    require_scheduler(Settings(engine="dask", scheduler=address, insecure_scheduler=True))


def test_a_public_scheduler_needs_tls() -> None:
    public = "tcp://8.8.8.8:8786"
    assert "public address 8.8.8.8" in refusal(scheduler=public, insecure_scheduler=True)


@pytest.mark.parametrize("address", ["", "host:8786", "tcp://host", "ws://host:1", "tcp://h:x"])
def test_other_addresses_are_refused(address: str) -> None:
    assert "needs the address of a scheduler" in refusal(scheduler=address)
    require_scheduler(Settings(scheduler=address))


def test_tls_needs_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file.pem"
    given = {"scheduler": "tls://h:1", "scheduler_authority": file, "scheduler_certificate": file}
    assert "the setting scheduler_authority, and there is no file" in refusal(**given)
    file.touch()
    assert refusal(**given) == "a scheduler with TLS needs the setting scheduler_key"
    whole = Settings(engine="dask", **given, scheduler_key=file)
    require_scheduler(whole)
    security = security_of(whole)
    assert security.require_encryption
    assert security.get_tls_config_for_role("client")["key"] == str(file)
    monkeypatch.chdir(tmp_path)
    relative = replace(whole, scheduler_key=Path("file.pem"))
    assert from_line(to_line(relative)).scheduler_key == file


def test_without_the_package_the_hint_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "distributed" else find(name)
    )
    assert refusal(scheduler="tcp://127.0.0.1:1").endswith("which is not installed")
    result = CliRunner().invoke(commands, ["serve", "--engine", "dask", "--scheduler", "tcp://a:1"])
    assert result.exit_code == 1
    assert "pip install 'compilarium[dask]'" in result.output
