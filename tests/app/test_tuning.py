"""Tests of tuning jobs: reported candidates, and schedules stored for the requesting user only."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.jobs.tune import SCHEDULES
from tests.app.conftest import QUICK, submit, wait
from tests.app.schema import check_shape

COMPILE = {"kind": "compile", "model": {"sample": "digits_mlp"}, "options": QUICK}


def test_candidates_are_told_and_what_was_found_is_used_by_who_asks(real: FlaskClient) -> None:
    model = {**COMPILE, "shapes": {"image": [1, 1, 8, 8]}}
    compiled = wait(real, real.post("/api/v1/jobs", json=model).get_json()["id"])
    rows = real.get(f"/api/v1/jobs/{compiled['id']}/result").get_json()["kernels"]
    kernel = max((k for k in rows if k["native"]), key=lambda k: k["flops"])["kernel"]
    asked = {"budget_seconds": 1, "search": "random", "kernel": kernel}
    posted = real.post(f"/api/v1/jobs/{compiled['id']}/tuning", json=asked).get_json()
    # The search is stopped at once, but one batch is still tried, checked and stored.
    assert real.post(f"/api/v1/jobs/{posted['id']}/tuning/stop").status_code == 202
    done = wait(real, posted["id"])
    assert (done["kind"], done["state"]) == ("tune", "succeeded"), done["error"]
    found = real.get(f"/api/v1/jobs/{done['id']}/tuning").get_json()
    check_shape(found, "Tuning")
    (row,) = found["kernels"]
    assert kernel in row["kernels"]
    assert row["policy"]
    assert [t["number"] for t in found["trials"]] == list(range(1, len(found["trials"]) + 1))
    assert len(found["trials"]) >= 1
    assert found["model"]["tuned_s"] <= found["model"]["untuned_s"]
    folder = real.application.extensions["jobs"].find(done["id"]).folder
    assert (folder / SCHEDULES).is_file()
    again = real.post("/api/v1/jobs", json={**model, "tuned": done["id"]})
    assert wait(real, again.get_json()["id"])["state"] == "succeeded"
    # The command names the schedules as a file, with the URL of this file.
    same = real.get(f"/api/v1/jobs/{again.get_json()['id']}/result").get_json()["reproduce"]
    words, _, where = same.partition("  # file: ")
    kept = real.get(where)
    name = kept.headers["Content-Disposition"].partition("filename=")[2]
    assert shlex.split(words)[-4:-2] == ["--database", name]
    assert kept.data == (folder / SCHEDULES).read_bytes()
    assert real.get(f"/api/v1/jobs/{compiled['id']}/tuning/schedules").status_code == 409
    wrong = real.post("/api/v1/jobs", json={**model, "tuned": compiled["id"]})
    assert wrong.get_json()["error"]["code"] == "E-RESULT-ABSENT"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"budget_seconds": 1e6}, "budget_seconds: needed a number from 1 to "),
        ({"budget_seconds": True}, "budget_seconds"),
        ({"search": "luck"}, "search: needed one of annealing"),
        ({"kernel": -1}, "kernel"),
        ({"seed": -1}, "seed"),
        ({"database": "/etc"}, "needed only the fields"),
    ],
)
def test_a_wrong_request_is_told_what_was_needed(client: FlaskClient, body: Any, says: str) -> None:
    job = wait(client, submit(client)["id"])["id"]
    answer = client.post(f"/api/v1/jobs/{job}/tuning", json=body)
    assert answer.status_code == 400
    assert says in answer.get_json()["error"]["message"]
