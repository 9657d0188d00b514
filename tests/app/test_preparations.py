"""Tests of inputs and preparations: tasks name what children read, and weights are drawn once."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.jobs import preparations
from app.jobs.kinds import KINDS
from app.jobs.limits import Limits
from app.jobs.result_store import Incoming
from app.jobs.task import COMPILED, LABELLED, MODEL, OTHER, OTHER_SCHEDULES, SCHEDULES, Task
from app.jobs.tune import SCHEDULES as SCHEDULES_FILE
from app.samples import find_sample
from compiler.errors import CompileError
from tests.app.conftest import compiled_job, jobs_of, started
from tests.app.direct import task_of

DRAWN = "shufflenet"
MODEL_OF_SAMPLE = {"sample": "digits_cnn"}
COMPILE: dict[str, Any] = {"kind": "compile", "model": MODEL_OF_SAMPLE, "shapes": {}, "options": {}}


def inspected(client: FlaskClient) -> str:
    job = started(client, "/jobs", kind="inspect", model={"sample": DRAWN})
    assert job["state"] == "succeeded", job["error"]
    return job["id"]


def weights_of(client: FlaskClient) -> Path:
    return jobs_of(client).runner.maker.places.weights


def digest(client: FlaskClient, job: str) -> list[object]:
    result = client.get(f"/api/v1/jobs/{job}/result").get_json()
    return [result["model"], result["stages"][0]["constant_bytes"]]


def test_weights_are_drawn_once_by_the_server_and_older_ones_are_removed(
    real: FlaskClient,
) -> None:
    folder = weights_of(real)
    folder.mkdir(exist_ok=True)
    names = (f"{DRAWN}-{'0' * 16}.onnx", f"{DRAWN}_2-{'0' * 16}.onnx", f"{DRAWN}-notes.onnx")
    for name in names:
        (folder / name).write_text("older")
    first = inspected(real)
    kept = {path.name for path in folder.iterdir()}
    (drawn,) = kept - set(names)
    assert kept == {drawn, *names[1:]}
    facts = (folder / drawn).stat()
    second = inspected(real)
    assert (folder / drawn).stat().st_mtime_ns == facts.st_mtime_ns
    assert digest(real, first) == digest(real, second)
    # The facts describe the sample, not the file with its weights.
    size = find_sample(DRAWN).path.stat().st_size
    assert size < facts.st_size
    result = real.get(f"/api/v1/jobs/{first}/result").get_json()
    assert (result["model"]["bytes"], result["model"]["source"]) == (size, "sample")


def test_without_room_for_weights_the_child_draws_the_same_again(
    real: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = inspected(real)
    for path in weights_of(real).iterdir():
        path.unlink()
    write = Incoming.write

    def full(self: Incoming, piece: memoryview) -> None:
        if self.path.parent == weights_of(real):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, piece)

    with monkeypatch.context() as patch:
        patch.setattr(Incoming, "write", full)
        alone = inspected(real)
    assert list(weights_of(real).iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(preparations, "WEIGHTS_LIMIT_BYTES", 1)
        patch.setattr(jobs_of(real).runner, "limits", _small(jobs_of(real).runner.limits))
        too_large = inspected(real)
    assert list(weights_of(real).iterdir()) == []
    assert digest(real, alone) == digest(real, too_large) == digest(real, stored)


def _small(limits: Limits) -> Limits:
    return replace(limits, output_bytes=2_000_000)


def test_each_kind_gets_the_inputs_that_it_declares(real: FlaskClient, compiled: str) -> None:
    folder = jobs_of(real).find(compiled).folder.resolve()
    needs = {"other": compiled, "inputs": {}, "machine": False}
    optional = {LABELLED, SCHEDULES, OTHER_SCHEDULES, "arrays"}
    for kind, declared in KINDS.items():
        request = {**COMPILE, "kind": kind} if kind in ("compile", "inspect") else {
            "kind": kind, "job": compiled, **needs,
        }  # fmt: skip
        task = task_of(real, **request)
        assert set(declared.inputs) - optional <= task.inputs.keys() <= set(declared.inputs)
        assert all(path.is_absolute() for path in task.inputs.values())
        assert task.inputs.get(COMPILED, folder) == task.inputs.get(OTHER, folder) == folder
        assert (task.model is not None) == (MODEL in declared.inputs)
        assert "request.json" not in os.listdir(folder)
        again = Task.from_json(task.to_json())
        assert (again.inputs, again.model, again.limits) == (task.inputs, task.model, task.limits)


def test_arrays_and_schedules_are_inputs(real: FlaskClient, compiled: str) -> None:
    ids = [
        real.post("/api/v1/uploads?name=x.npy", data=bytes([i])).get_json()["id"] for i in (1, 2)
    ]
    task = task_of(real, kind="run", job=compiled, inputs={"b": ids[0], "a": ids[1]})
    assert [task.inputs[f"array-{i}"].read_bytes() for i in (0, 1)] == [b"\1", b"\2"]
    tuning = jobs_of(real).find(compiled)
    with pytest.raises(CompileError) as caught:
        task_of(real, **COMPILE, tuned=tuning.id)
    assert caught.value.code == "E-RESULT-ABSENT"
    (tuning.folder / SCHEDULES_FILE).touch()
    task = task_of(real, **COMPILE, tuned=tuning.id)
    assert task.inputs[SCHEDULES] == (tuning.folder / SCHEDULES_FILE).resolve()
    (tuning.folder / SCHEDULES_FILE).unlink()


def test_a_model_that_was_evicted_fails_the_job(real: FlaskClient) -> None:
    text = b"graph g(x: f32[2,3]) {\n  y: f32[2,3] = relu(x)\n  return y\n}"
    upload = real.post("/api/v1/uploads?name=model.ir", data=text).get_json()["id"]
    job = compiled_job(real, model={"upload": upload})
    task = task_of(real, kind="check", job=job)
    assert task.model is not None
    assert (task.model.name, task.model.n_bytes) == ("model.ir", len(text))
    task.inputs[MODEL].unlink()
    ended = started(real, f"/jobs/{job}/numerics")
    assert (ended["state"], ended["error"]["code"]) == ("failed", "E-REQUEST-UNKNOWN")
