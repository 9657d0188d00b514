"""The rules that move the numbers of a compiled model: found by a job, and left out by another."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import onnx
import pytest
from flask.testing import FlaskClient

from app import create_app
from app.api import ROUTES
from app.api.openapi import description
from tests.app.conftest import wait
from tests.app.schema import check

OPTIONS = {"measure": False, "check": False, "accuracy": False}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of an application whose children do real work; all tests here share it."""
    app = create_app({"data_folder": tmp_path_factory.mktemp("data"), "keep_spare_child": False})
    yield app.test_client()
    app.extensions["jobs"].stop()


def compiled(client: FlaskClient, **fields: Any) -> str:
    body = {"kind": "compile", "model": {"sample": "digits_cnn"}, "options": OPTIONS, **fields}
    job = client.post("/api/v1/jobs", json=body).get_json()["id"]
    assert wait(client, job)["state"] == "succeeded"
    return job


@pytest.fixture(scope="module")
def cnn(real: FlaskClient) -> str:
    return compiled(real)


def bisected(client: FlaskClient, job: str, **fields: Any) -> dict[str, Any]:
    answer = client.post(f"/api/v1/jobs/{job}/bisect", json=fields)
    assert answer.status_code == 202, answer.get_json()
    done = wait(client, answer.get_json()["id"], 120.0)
    assert done["state"] == "succeeded", done["error"]
    found = client.get(f"/api/v1/jobs/{done['id']}/bisect").get_json()
    described = description(ROUTES)
    check(found, described["components"]["schemas"]["Bisection"], described)
    return {**found, "id": done["id"]}


def test_the_rule_that_moves_the_numbers_is_found_and_shown_on_a_small_model(real, cnn):
    found = bisected(real, cnn, moved=0)
    [rewrite] = found["rewrites"]
    assert rewrite["rule"] == "batch_norm_is_affine"
    assert found["rules"] == ["batch_norm_is_affine"]
    steps = real.get(f"/api/v1/jobs/{cnn}/stages/{rewrite['stage']}/steps?limit=5000").get_json()
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


def test_the_example_of_the_document_has_the_described_shape(repository):
    text = (repository / "docs" / "checking.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    described = description(ROUTES)
    check(json.loads(block), described["components"]["schemas"]["Bisection"], described)


def test_a_model_whose_numbers_are_right_has_no_such_set(real, cnn):
    found = bisected(real, cnn)
    assert (found["kind"], found["rewrites"], found["reduced"]) == ("", [], None)
    assert real.get(f"/api/v1/jobs/{found['id']}/bisect/file").status_code == 409


def test_a_compilation_leaves_rules_out_and_says_so(real, cnn):
    rule = "batch_norm_is_affine"
    job = compiled(real, without=[rule])
    result = real.get(f"/api/v1/jobs/{job}/result").get_json()
    assert f"--without {rule}" in result["reproduce"]
    paths = [f"/api/v1/jobs/{job}/stages/{row['stage']}/steps" for row in result["stages"]]
    steps = [step for path in paths for step in real.get(path).get_json()["steps"]]
    applied = [step["rule"] for step in steps if step["outcome"] == "applied"]
    assert applied
    assert rule not in applied


def test_what_leaves_rules_out_is_checked_and_bisected_without_them(real, cnn):
    rule = "batch_norm_is_affine"
    assert rule in bisected(real, cnn, moved=0)["rules"]
    job = compiled(real, without=[rule])
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
def test_a_request_of_another_form_is_refused(real, cnn, body):
    assert real.post(f"/api/v1/jobs/{cnn}/bisect", json=body).status_code == 400


@pytest.mark.parametrize("without", [["a"] * 201, ["a" * 201], "a", [1]])
def test_rules_to_leave_out_are_names(real, without):
    body = {"kind": "compile", "model": {"sample": "digits_cnn"}, "without": without}
    assert real.post("/api/v1/jobs", json=body).status_code == 400
