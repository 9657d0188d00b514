"""Tests of bisection jobs: the rules that change a model's results, and a job without them."""

from __future__ import annotations

import shlex
from typing import Any

import onnx
import pytest
from flask.testing import FlaskClient

from tests.app.conftest import compiled_job, started, wait
from tests.app.schema import check_shape


def bisected(client: FlaskClient, job: str, **fields: Any) -> dict[str, Any]:
    done = started(client, f"/jobs/{job}/bisect", **fields)
    assert done["state"] == "succeeded", done["error"]
    found = client.get(f"/api/v1/jobs/{done['id']}/bisect").get_json()
    check_shape(found, "Bisection")
    return {**found, "id": done["id"]}


def test_the_rule_that_moves_the_numbers_is_found_and_shown_on_a_small_model(real, compiled):
    found = bisected(real, compiled, moved=0)
    [rewrite] = found["rewrites"]
    assert rewrite["rule"] == "batch_norm_is_affine"
    assert found["rules"] == ["batch_norm_is_affine"]
    steps = real.get(
        f"/api/v1/jobs/{compiled}/stages/{rewrite['stage']}/steps?limit=5000"
    ).get_json()
    step = steps["steps"][rewrite["step"]]
    assert (step["rule"], step["at"]) == (rewrite["rule"], rewrite["at"])
    small = found["reduced"]
    assert small["n_nodes"] == 1 < found["n_nodes"]
    assert small["opens"]
    with real.get(f"/api/v1/jobs/{found['id']}/bisect/file") as file:
        data = file.data
    assert len(data) == small["onnx_bytes"] > 0
    model = onnx.load_from_string(data)
    assert [node.op_type for node in model.graph.node] == ["BatchNormalization"]


def test_a_model_whose_numbers_are_right_has_no_such_set(real, compiled):
    found = bisected(real, compiled)
    assert (found["kind"], found["rewrites"], found["reduced"]) == ("", [], None)
    assert real.get(f"/api/v1/jobs/{found['id']}/bisect/file").status_code == 409


def test_a_compilation_leaves_rules_out_and_says_so(real, compiled):
    rule = "batch_norm_is_affine"
    job = compiled_job(real, without=[rule])
    result = real.get(f"/api/v1/jobs/{job}/result").get_json()
    assert f"--without {rule}" in result["reproduce"]
    paths = [f"/api/v1/jobs/{job}/stages/{row['stage']}/steps" for row in result["stages"]]
    steps = [step for path in paths for step in real.get(path).get_json()["steps"]]
    applied = [step["rule"] for step in steps if step["outcome"] == "applied"]
    assert applied
    assert rule not in applied


def test_what_leaves_rules_out_is_checked_and_bisected_without_them(real, compiled):
    rule = "batch_norm_is_affine"
    assert rule in bisected(real, compiled, moved=0)["rules"]
    job = compiled_job(real, without=[rule])
    assert rule not in bisected(real, job, moved=0)["rules"]
    made = real.post(f"/api/v1/jobs/{job}/numerics", json={}).get_json()
    assert wait(real, made["id"])["state"] == "succeeded"
    checked = real.get(f"/api/v1/jobs/{made['id']}/numerics").get_json()
    result = real.get(f"/api/v1/jobs/{job}/result").get_json()
    changed = [row["stage"] for row in checked["rows"] if row["changed"] and row["stage"]]
    assert changed == [row["stage"] for row in result["stages"] if row["changed"] and row["stage"]]
    for verb in ("check", "bisect"):
        words = shlex.split(checked[f"{verb}_command"])
        assert words[:2] == ["compilarium", verb]
        assert words[words.index("--without") + 1] == rule


@pytest.mark.parametrize(
    "body", [{"moved": -1}, {"moved": "all"}, {"moved": 2}, {"seed": -1}, {"other": 1}, []]
)
def test_a_request_of_another_form_is_refused(real, compiled, body):
    assert real.post(f"/api/v1/jobs/{compiled}/bisect", json=body).status_code == 400


@pytest.mark.parametrize("without", [["a"] * 201, ["a" * 201], "a", [1]])
def test_rules_to_leave_out_are_names(real, without):
    body = {"kind": "compile", "model": {"sample": "digits_cnn"}, "without": without}
    assert real.post("/api/v1/jobs", json=body).status_code == 400
