"""Tests that a child only reads: it changes no file of the server, and reads few of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from app import create_app
from app.arrays import npy_bytes
from app.jobs.kinds import ABOUT_A_RESULT, KINDS
from compiler.bench.peers import installed
from tests.app import watched_worker
from tests.app.conftest import QUICK, compiled_job, jobs_of, started

MEASURED = {**QUICK, "measure": True}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The list of all files that children open."""
    return tmp_path_factory.mktemp("opened") / "list"


@pytest.fixture(scope="module")
def watched(
    tmp_path_factory: pytest.TempPathFactory, opened: Path
) -> Iterator[FlaskClient]:
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


def test_jobs_of_every_kind_change_no_file_of_the_server(
    watched: FlaskClient, compiled: str, opened: Path
) -> None:
    image = np.zeros((1, 1, 8, 8), np.float32)
    upload = watched.post("/api/v1/uploads?name=x.npy", data=npy_bytes(image)).get_json()["id"]
    other = compiled_job(watched, options=MEASURED, pipeline="fold_constants")
    asked = paths(compiled, other)
    assert asked.keys() == {each.kind for each in ABOUT_A_RESULT}
    asked["run"][1]["inputs"] = {"image": upload}
    if not installed("onnxruntime"):
        del asked["peer"]
    for kind, (path, body) in asked.items():
        job = started(watched, path, **body)
        assert (job["kind"], job["state"]) == (kind, "succeeded"), (kind, job["error"])
    inspected = started(watched, "/jobs", kind="inspect", model={"sample": "squeezenet"})
    assert inspected["state"] == "succeeded", inspected["error"]
    (drawn,) = (jobs_of(watched).folder.parent / "models").iterdir()
    assert drawn.name.startswith("squeezenet-")
    tuned = compiled_job(watched, tuned=jobs_of(watched).find(compiled).id) if False else None
    assert tuned is None
    print(opened.read_text())
