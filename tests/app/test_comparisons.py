"""Tests of comparisons of two compilations that are timed together."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.jobs.comparison import ComparisonRequest
from compiler.bench.versus import N_COPIES
from tests.app.conftest import QUICK, compiled_job, started

MEASURED = {**QUICK, "measure": True}


@pytest.fixture(scope="module")
def pair(real: FlaskClient) -> tuple[str, str]:
    """A model compiled with and without fusion."""
    default = real.get("/api/v1/pipelines").get_json()["presets"]
    text = next(p["text"] for p in default if p["name"] == "default")
    unfused = re.sub(r"(^|,)\s*fuse(\{[^}]*\})?\s*(?=,|$)", "", text)
    assert unfused != text
    a = compiled_job(real, options=MEASURED)
    return a, compiled_job(real, options=MEASURED, pipeline=unfused)


def compared(client: FlaskClient, a: str, b: str, **fields: Any) -> dict[str, Any]:
    job = started(client, f"/jobs/{a}/comparison", other=b, seconds=1.0, **fields)
    assert job["state"] == "succeeded", job["error"]
    answer = client.get(f"/api/v1/jobs/{job['id']}/comparison").get_json()
    return {**answer, "id": job["id"]}


def test_both_programs_are_timed_and_the_unfused_one_is_not_faster(real, pair):
    a, b = pair
    found = compared(real, a, b)
    assert found["other"] == b
    assert found["low"] <= found["ratio"] <= found["high"]
    assert found["verdict"] in ("slower", "same")
    assert found["is_native"]
    assert (found["n_copies"], found["threads"]) == (N_COPIES, 1)
    for side, job in (("a", a), ("b", b)):
        kernels = real.get(f"/api/v1/jobs/{job}/result").get_json()["kernels"]
        assert [k["kernel"] for k in found[side]["kernels"]] == list(range(len(kernels)))
        assert 0 < found[side]["launches_s"]
        assert found[side]["run"]["low_s"] <= found[side]["run"]["median_s"]
    assert found["disturbance"]["n_processors"] >= 1


def test_an_equal_comparison_is_found_unless_asked_to_measure_again(real, pair):
    first = compared(real, *pair)
    assert compared(real, *pair)["id"] == first["id"]
    again = compared(real, *pair, again=True)
    assert again["id"] != first["id"]
    newest = compared(real, *pair, again=True)
    assert newest["id"] != again["id"]
    assert compared(real, *pair)["id"] == newest["id"]


def test_all_measurements_of_a_pair_have_equal_stored_requests():
    again = ComparisonRequest("a", other="b", again=True)
    assert again.to_json() == ComparisonRequest("a", other="b").to_json()
    assert again.again


def test_the_profile_states_the_disturbance(real, pair):
    for job in pair:
        profile = real.get(f"/api/v1/jobs/{job}/profile").get_json()
        run = real.get(f"/api/v1/jobs/{job}/result").get_json()["run"]
        assert profile["disturbance"] == run["disturbance"]
        assert set(profile["disturbance"]["causes"]) <= {"waiting", "steal", "busy", "shared"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"model": {"sample": "digits_mlp"}}, "differ in their model"),
        ({"options": {**MEASURED, "seed": 7}}, "differ in their seed"),
    ],
)
def test_compilations_that_differ_are_not_compared(real, pair, fields, says):
    other = compiled_job(real, **{"options": MEASURED, **fields})
    answer = real.post(f"/api/v1/jobs/{pair[0]}/comparison", json={"other": other})
    assert answer.status_code == 400
    assert says in answer.get_json()["error"]["message"]


def test_a_compilation_that_did_not_run_is_not_compared(real, pair):
    unmeasured = compiled_job(real)
    answer = real.post(f"/api/v1/jobs/{pair[0]}/comparison", json={"other": unmeasured})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (409, "E-RESULT-ABSENT")
    answer = real.post(f"/api/v1/jobs/{pair[0]}/comparison", json={"other": "nothing"})
    assert answer.status_code == 404
