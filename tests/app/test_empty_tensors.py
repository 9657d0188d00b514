"""Tests of every job and answer about a model whose tensors have no elements."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.app.conftest import started, wait

EMPTY_BATCH = {"image": [0, 1, 8, 8]}
ABOUT_A_RESULT: dict[str, dict[str, Any]] = {
    "numerics": {},
    "profile": {"seconds": 0.5},
    "bisect": {},
    "placements": {"platform": "gpu"},
    "targets": {"kernel": 0},
    "tuning": {"budget_seconds": 1, "search": "random"},
    "stages/1/onnx": {"fused": False},
}
ANSWERS = ["result", "profile", "provenance", "neighbours", "union", "stages/1/text",
           "stages/1/steps", "stages/1/delta", "kernels/0/loops", "kernels/0/asm",
           "kernels/0/links", "report"]  # fmt: skip


@pytest.fixture(scope="module")
def job(real: FlaskClient) -> dict[str, Any]:
    """The finished compilation for an empty batch."""
    model = {"sample": "digits_cnn"}
    return started(real, "/jobs", kind="compile", model=model, shapes=EMPTY_BATCH)


def test_every_job_about_an_empty_batch_succeeds(real: FlaskClient, job: dict[str, Any]) -> None:
    assert job["state"] == "succeeded", job["error"]
    result = real.get(f"/api/v1/jobs/{job['id']}/result").get_json()
    assert result["accuracy"] is None
    assert result["run"]["skipped"] == result["check"]["skipped"] == ""
    for path, body in ABOUT_A_RESULT.items():
        done = started(real, f"/jobs/{job['id']}/{path}", **body)
        assert done["state"] == "succeeded", (path, done["error"])
    for path in ANSWERS:
        answer = real.get(f"/api/v1/jobs/{job['id']}/{path}")
        assert answer.status_code == 200, (path, answer.get_json())


def test_an_edited_schedule_of_an_empty_result_runs(real: FlaskClient, job: dict[str, Any]) -> None:
    at = f"/api/v1/jobs/{job['id']}"
    kernels = real.get(f"{at}/result").get_json()["kernels"]
    kernel = next(k["kernel"] for k in kernels if "schedule" in k["parts"])
    text = real.get(f"{at}/kernels/{kernel}/schedule").get_json()["text"]
    answer = real.post(f"{at}/schedules", json={"kernel": kernel, "text": text})
    assert answer.status_code == 202, answer.get_json()
    done = wait(real, answer.get_json()["id"])
    assert done["state"] == "succeeded", done["error"]
