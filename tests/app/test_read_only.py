"""Tests that a child only reads: it changes no file of the server, and reads few of the machine."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from app import create_app
from app.arrays import npy_bytes
from app.jobs import machine_facts
from app.jobs.kinds import ABOUT_A_RESULT
from app.jobs.tune import SCHEDULES
from compiler.bench.peers import installed
from tests.app import watched_worker
from tests.app.conftest import QUICK, compiled_job, jobs_of, started

REPOSITORY = Path(__file__).resolve().parents[2]
MEASURED = {**QUICK, "measure": True}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The list of all files that children open."""
    return tmp_path_factory.mktemp("opened") / "list"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory, opened: Path) -> Iterator[FlaskClient]:
    """A client of an application whose children fail when they change the data folder."""
    folder, cache = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(watched_worker.FOLDER, str(folder))
        patch.setenv(watched_worker.OPENED, str(opened))
        patch.setenv("COMPILARIUM_CACHE", str(cache))
        app = create_app(
            {
                "data_folder": folder,
                "job_limit_s": 120.0,
                "worker_module": "tests.app.watched_worker",
            }
        )
        jobs_of(app.test_client()).warm_up()
        yield app.test_client()
        app.extensions["jobs"].stop()
        app.extensions["texts"].stop()


@pytest.fixture(scope="module")
def compiled(watched: FlaskClient) -> str:
    return compiled_job(watched, options=MEASURED)


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


@pytest.fixture(scope="module")
def all_kinds(watched: FlaskClient, compiled: str) -> None:
    """Jobs of every kind, and a compilation with their schedules, which have all succeeded."""
    image = np.zeros((1, 1, 8, 8), np.float32)
    upload = watched.post("/api/v1/uploads?name=x.npy", data=npy_bytes(image)).get_json()["id"]
    other = compiled_job(watched, options=MEASURED, pipeline="fold_constants")
    asked = paths(compiled, other)
    assert asked.keys() == {each.kind for each in ABOUT_A_RESULT}
    asked["run"][1]["inputs"] = {"image": upload}
    if not installed("onnxruntime"):
        del asked["peer"]
    ids: dict[str, str] = {}
    for kind, (path, body) in asked.items():
        job = started(watched, path, **body)
        assert (job["kind"], job["state"]) == (kind, "succeeded"), (kind, job["error"])
        ids[kind] = job["id"]
    inspected = started(watched, "/jobs", kind="inspect", model={"sample": "squeezenet"})
    assert inspected["state"] == "succeeded", inspected["error"]
    tuned = compiled_job(watched, options=MEASURED, tuned=ids["tune"])
    started(watched, f"/jobs/{tuned}/profile", seconds=0.1)


def noted(opened: Path, how: str) -> set[Path]:
    """Return the files that children have changed or read, with this process's name in /proc."""
    found: set[Path] = set()
    for line in opened.read_text().splitlines():
        word, _, path = line.partition(" ")
        if word == how:
            found.add(Path(re.sub(r"^/proc/\d+/", "/proc/self/", path)))
    return found


def is_within(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


@pytest.mark.usefixtures("all_kinds")
def test_jobs_of_every_kind_change_no_file_of_the_server(
    watched: FlaskClient, opened: Path
) -> None:
    changed = noted(opened, "change")
    data = jobs_of(watched).folder.parent
    assert not [path for path in changed if is_within(path, [data])]
    assert [path for path in changed if path.name == SCHEDULES], "the hook notes databases"
    # The server has stored what the children gave back.
    assert next(data.glob(f"jobs/*/*/{SCHEDULES}")).stat().st_size > 0
    (drawn,) = (data / "models").iterdir()
    assert drawn.name.startswith("squeezenet-")
    caches = [p.path for p in machine_facts.places() if p.path and p.is_written]
    others = [
        path for path in changed if not is_within(path, [*caches, Path(tempfile.gettempdir())])
    ]
    assert not others
    assert not list(Path(tempfile.gettempdir()).glob("compilarium-*"))


@pytest.mark.usefixtures("all_kinds")
def test_jobs_read_their_inputs_the_program_and_the_listed_places(
    watched: FlaskClient, opened: Path
) -> None:
    data = jobs_of(watched).folder.parent
    places = [p.path for p in machine_facts.places() if p.path]
    loaded = [p.path for p in machine_facts.places() if p.path and p.is_loaded]
    program = [REPOSITORY, Path(sys.prefix), Path(sys.base_prefix), Path(np.__file__).parents[1]]
    scratch = Path(tempfile.gettempdir())
    own = [*places, *(p.resolve() for p in (*places, *program)), scratch]
    inputs = [data / name for name in ("jobs", "uploads", "models")]
    files = noted(opened, "read") - noted(opened, "change")
    assert not [path for path in files if not is_within(path, own)]
    assert not [path for path in files if is_within(path, [data]) and not is_within(path, inputs)]
    assert not [path for path in files if is_within(path, loaded)], "the fork server reads these"
    assert [path for path in files if is_within(path, [Path("/proc/stat")])], "the hook notes reads"
    # The folder of a job is read only as the input of another job: its parts and its schedules.
    of_jobs = {path for path in files if is_within(path, [inputs[0]])}
    assert {path.parent.name for path in of_jobs if path.name.endswith(".gz")} == {"parts"}
    assert {path.name for path in of_jobs if not path.name.endswith(".gz")} == {SCHEDULES}
