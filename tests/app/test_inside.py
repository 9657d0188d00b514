"""Tests that every child of a job runs in a sandbox, which shows its inputs and nothing else."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from app import create_app
from app.arrays import npy_bytes
from app.jobs import inside
from app.jobs.isolation import Isolation
from app.jobs.kinds import ABOUT_A_RESULT, KINDS
from app.jobs.limits import Limits
from app.jobs.parts import Parts
from app.jobs.task import MODEL, Task
from app.jobs.tune import SCHEDULES
from compiler.bench.peers import installed
from compiler.errors import CompileError
from compiler.machine.database import Database, Entry
from tests.app import probing_worker
from tests.app.conftest import QUICK, MakeApp, compiled_job, jobs_of, started, wait

MEASURED = {**QUICK, "measure": True}
SECRET = "a secret of the server"
LIMITS = Limits(10.0, 1 << 30, 1 << 20)


@pytest.fixture(scope="module")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of an application with its own fork server and cache."""
    folder, cache = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILARIUM_CACHE", str(cache))
        app = create_app({"data_folder": folder, "job_limit_s": 120.0})
        yield app.test_client()
        app.extensions["jobs"].stop()
        app.extensions["texts"].stop()


def paths(compiled: str, other: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return for each kind about a result the route that starts it, and the body."""
    job = f"/jobs/{compiled}"
    return {
        "place": (f"{job}/placements", {"platform": "gpu", "scheduler": "heft"}),
        "check": (f"{job}/numerics", {}),
        "bisect": (f"{job}/bisect", {"moved": 0.0}),
        "profile": (f"{job}/profile", {"seconds": 0.1, "machine": True}),
        "comparison": (f"{job}/comparison", {"other": other, "seconds": 0.5}),
        "peer": (f"{job}/peer", {"peer": "onnxruntime", "seconds": 0.5}),
        "targets": (f"{job}/targets", {"kernel": 0}),
        "tune": (f"{job}/tuning", {"budget_seconds": 1, "search": "random"}),
        "schedule": (f"{job}/schedules", {"kernel": 0, "text": ""}),
        "export": (f"{job}/stages/0/onnx", {}),
        "run": (f"{job}/run", {"seconds": 0.1}),
    }


COURSE = {"lesson", "judge"}
"""The kinds of jobs that tests/app/test_learn.py runs inside."""


def test_jobs_of_every_kind_succeed_inside(
    sandboxed: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[str] = []
    original = inside.view_of

    def noted(task: Task) -> Any:
        entered.append(task.request["kind"])
        return original(task)

    monkeypatch.setattr("app.jobs.isolation.view_of", noted)
    image = np.zeros((1, 1, 8, 8), np.float32)
    upload = sandboxed.post("/api/v1/uploads?name=x.npy", data=npy_bytes(image)).get_json()["id"]
    compiled = compiled_job(sandboxed, options=MEASURED)
    other = compiled_job(sandboxed, options=MEASURED, pipeline="fold_constants")
    asked = paths(compiled, other)
    assert asked.keys() == {each.kind for each in ABOUT_A_RESULT}
    asked["run"][1]["inputs"] = {"image": upload}
    if not installed("onnxruntime"):
        del asked["peer"]
    ids: dict[str, str] = {}
    for kind, (path, body) in asked.items():
        job = started(sandboxed, path, **body)
        assert (job["kind"], job["state"]) == (kind, "succeeded"), (kind, job["error"])
        ids[kind] = job["id"]
    inspected = started(sandboxed, "/jobs", kind="inspect", model={"sample": "squeezenet"})
    assert inspected["state"] == "succeeded", inspected["error"]
    tuned = compiled_job(sandboxed, options=MEASURED, tuned=ids["tune"])
    profiled = started(sandboxed, f"/jobs/{tuned}/profile", seconds=0.1)
    assert profiled["state"] == "succeeded", profiled["error"]
    expected = {*KINDS, "draw_weights", "measure_machine"} - ({"peer"} - asked.keys()) - COURSE
    assert set(entered) == expected
    data = jobs_of(sandboxed).folder.parent
    assert next(data.glob(f"jobs/*/*/{SCHEDULES}")).stat().st_size > 0
    (drawn,) = (data / "models").iterdir()
    assert drawn.name.startswith("squeezenet-")
    # The children have left nothing outside: the cache has only what the server stored.
    assert {p.name for p in Path(os.environ["COMPILARIUM_CACHE"]).iterdir()} <= {"measured"}


@pytest.fixture
def probed(make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a job's child has reached that tried to get out, and what it sees."""
    monkeypatch.setenv("COMPILARIUM_DATABASE_URL", f"postgresql://user:{SECRET}@host/name")
    client = make_app(worker_module="tests.app.probing_worker").test_client()
    own = client.post("/api/v1/uploads?name=m.txt", data=b"own").get_json()["id"]
    other = client.post("/api/v1/uploads?name=n.txt", data=b"others").get_json()["id"]
    jobs, data = jobs_of(client), tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "s"))
        unix.listen()
        given = {
            "folder": str(data),
            "file": str(data / "uploads" / f"{other}.onnx"),
            "port": listening.getsockname()[1],
            "socket": str(tmp_path / "s"),
            "server": os.getpid(),
            "secrets": [SECRET, str(data)],
        }
        request = {"kind": "compile", "model": {"upload": own}, "shapes": {}, "probe": given}
        job = wait(client, jobs.submit(request, "a model").id)
    assert job["state"] == "succeeded", job["error"]
    return Parts(jobs.find(job["id"]).folder).read(probing_worker.PART)


def test_a_child_reaches_nothing_outside(probed: dict[str, Any]) -> None:
    assert probed["reached"] == {}
    assert probed["memory"] == []
    assert probed["content"] == ["own"]
    assert len(probed["files"]) == 1
    assert probed["uid"] == 65534
    # The init of bubblewrap, the process that holds the sandbox, and the child.
    assert len(probed["processes"]) == 3
    assert set(probed["environment"]) == {
        *("PATH", "HOME", "PWD", "TMPDIR", "LANG", "PYTHONDONTWRITEBYTECODE"),
        *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "COMPILARIUM_CACHE"),
    }
    assert probed["environment"]["COMPILARIUM_CACHE"] == ""


def test_the_attempts_succeed_outside(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    given = {"folder": str(tmp_path), "file": str(tmp_path / "file")}
    assert probing_worker.read_folder(given) == "file"
    assert probing_worker.read_file(given) == "text"
    assert probing_worker.read_passwords(given)


def test_only_the_parts_of_an_examined_job_are_shown(tmp_path: Path) -> None:
    (tmp_path / "job" / "parts").mkdir(parents=True)
    (tmp_path / "job" / "job.json").write_text("{}")
    task = Task({"kind": "place"}, LIMITS, {"compiled": tmp_path / "job"})
    inputs, within = inside.view_of(task)
    assert within.inputs == {"compiled": Path("/in/compiled")}
    shown = {t: p for t, p in inputs.folders.items() if t.startswith("/in")}
    assert shown == {"/in/compiled/parts": tmp_path / "job" / "parts"}


def test_an_evicted_input_is_an_error_of_the_request(tmp_path: Path) -> None:
    request = {"kind": "place", "model": {"sample": "x"}}
    with pytest.raises(CompileError) as caught:
        Isolation().enclose(Task(request, LIMITS, {"compiled": tmp_path / "gone"}))
    assert caught.value.code == "E-RESULT-ABSENT"


def test_files_are_lent_to_the_sandboxes_of_root_alone(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"x")
    file.chmod(0o600)
    inside.view_of(Task({"kind": "inspect"}, LIMITS, {MODEL: file}))
    facts = file.stat()
    expected = (0o640, 60_599) if os.geteuid() == 0 else (0o600, os.getegid())
    assert (stat.S_IMODE(facts.st_mode), facts.st_gid) == expected


def test_the_users_own_schedules_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    file = tmp_path / "measured" / "schedules.sqlite"
    Database(file).put("m", Entry("c", "name", "text", 1.0, 2.0, 3, "budget", "random", 0))
    inputs, within = inside.view_of(Task({"kind": "inspect"}, LIMITS, {"schedules": file}))
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(inputs.files[str(within.inputs["schedules"])])
    assert Database(copy).entries("m")["c"].schedule == "text"
