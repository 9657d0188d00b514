"""Tests of check jobs: requests over HTTP, and findings from a child process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient
from onnx import TensorProto, helper, numpy_helper

from app.jobs.check import _commands
from app.jobs.parts import Parts
from app.wire import numerics
from compiler.check.stepwise import Wanted, begin_check
from compiler.options import Options
from compiler.passes.rules.calls import o
from tests.app.conftest import QUICK, compiled_job, jobs_of, started, submit, wait
from tests.app.direct import replace_part
from tests.app.schema import check_shape
from tests.compiler.check.test_stepwise import MODEL
from tests.faults.fault import instead

MLP = {"model": {"sample": "digits_mlp"}}


def checked(client: FlaskClient, job: str, **fields: Any) -> dict[str, Any]:
    return started(client, f"/jobs/{job}/numerics", **fields)


def uploaded(client: FlaskClient, model: Any) -> dict[str, str]:
    answer = client.post("/api/v1/uploads?name=m.onnx", data=model.SerializeToString())
    assert answer.status_code in (200, 201), answer.get_json()
    return {"upload": answer.get_json()["id"]}


def test_every_stage_of_the_compilation_has_a_row(real, compiled):
    job = checked(real, compiled)
    assert (job["kind"], job["state"]) == ("check", "succeeded")
    found = real.get(f"/api/v1/jobs/{job['id']}/numerics").get_json()
    stages = real.get(f"/api/v1/jobs/{compiled}/result").get_json()["stages"]
    assert [(r["stage"], r["name"]) for r in found["rows"]] == [
        (s["stage"], s["name"]) for s in stages
    ]
    assert [r["changed"] for r in found["rows"][1:]] == [s["changed"] for s in stages[1:]]
    assert {r["mark"] for r in found["rows"]} == {"ok"}
    assert found["rows"][found["first_moved"]]["has_moved"]
    assert not any(r["has_moved"] for r in found["rows"][: found["first_moved"]])
    assert found["first_wrong"] is None
    assert found["program"]["mark"] == "ok"
    assert 0 < found["program"]["wide_error"] < 1e-5
    assert found["rewrites"]["wrong"] == []
    assert found["rewrites"]["n_judged"] > 0
    assert found["check_command"].startswith("compilarium check digits_cnn --pipeline ")
    events = real.get(f"/api/v1/jobs/{job['id']}/events").get_data(as_text=True)
    assert '"part": "rewrites"' in events.replace('":"', '": "')


def test_values_by_name_belong_to_nodes_of_their_stage(real, compiled):
    job = checked(real, compiled)["id"]
    rows = real.get(f"/api/v1/jobs/{job}/numerics").get_json()["rows"]
    for row in rows:
        at = row["values_stage"]
        assert at <= row["stage"]
        if at != row["stage"]:
            continue
        found = real.get(f"/api/v1/jobs/{job}/numerics/{at}").get_json()
        graph = real.get(f"/api/v1/jobs/{compiled}/stages/{at}/graph").get_json()
        assert {v["node"] for v in found["values"]} <= {n["id"] for n in graph["nodes"]}
        assert sum(v["moved"] for v in found["values"]) == row["n_moved"]
        assert all(len(v["counts"]) == len(found["places"]) + 1 for v in found["values"])
    assert rows[0]["n_moved"] == 0
    assert real.get(f"/api/v1/jobs/{job}/numerics/999").status_code == 409


def test_the_same_again_is_answered_with_the_job_that_has_done_it(real, compiled):
    first = checked(real, compiled)
    assert checked(real, compiled, seed=0)["id"] == first["id"]
    assert checked(real, compiled, seed=7)["request"]["seed"] == 7


def test_products_of_bf16_are_within_what_they_promise(real):
    job = checked(real, compiled_job(real, **MLP, options={**QUICK, "precision": "bf16"}))["id"]
    found = real.get(f"/api/v1/jobs/{job}/numerics").get_json()
    assert found["tolerance"] > 1e-2
    assert found["rows"][found["first_moved"]]["name"] == "lower_precision"
    assert found["program"]["mark"] == "ok"
    assert "--precision bf16" in found["bisect_command"]


def _model(nodes: list[Any], inputs: list[Any], weights: dict[str, Any]) -> Any:
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = [numpy_helper.from_array(a, k) for k, a in weights.items()]
    graph = helper.make_graph(nodes, "g", inputs, [result], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_open_sizes_have_the_stage_that_gives_them_numbers(real):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 7])
    w = {"w": np.ones((7, 3), np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    job = compiled_job(real, model=uploaded(real, _model(nodes, [x], w)))
    stages = real.get(f"/api/v1/jobs/{job}/result").get_json()["stages"]
    found = real.get(f"/api/v1/jobs/{checked(real, job)['id']}/numerics").get_json()
    assert [r["name"] for r in found["rows"]] == [s["name"] for s in stages]
    assert found["rows"][1]["name"] == "specialise"
    assert not found["rows"][1]["has_moved"]


@pytest.mark.parametrize(
    ("operator", "reads", "w"),
    [
        ("Gather", ["w", "x"], np.ones((0, 3), np.float32)),  # a table without rows
        ("Reshape", ["w", "x"], np.ones(7, np.float32)),  # sizes with a product other than seven
    ],
)
def test_a_model_that_refuses_random_inputs_says_what_it_needs(real, operator, reads, w):
    x = helper.make_tensor_value_info("x", TensorProto.INT64, [2])
    model = _model([helper.make_node(operator, reads, ["y"])], [x], {"w": w})
    job = checked(real, compiled_job(real, model=uploaded(real, model)))
    assert job["state"] == "failed"
    assert job["error"]["message"].startswith("the model refuses random inputs: ")
    assert "compilarium check m.onnx --input NAME=ARRAY.npy" in job["error"]["hint"]
    assert real.get(f"/api/v1/jobs/{job['id']}/numerics").status_code == 409


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"seed": -1}, "seed: needed a number from 0"),
        ({"seed": True}, "seed: needed a number"),
        ({"compiled": "/"}, "needed only the fields seed"),
        ([], "the request: needed an object"),
    ],
)
def test_a_wrong_request_is_told_what_was_needed(client, fields, says):
    job = wait(client, submit(client)["id"])["id"]
    answer = client.post(f"/api/v1/jobs/{job}/numerics", json=fields)
    assert answer.status_code == 400
    assert says in answer.get_json()["error"]["message"]


def test_what_was_not_compiled_cannot_be_checked(client):
    answer = client.post("/api/v1/jobs/nothing/numerics", json={})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "E-REQUEST-UNKNOWN")
    job = wait(client, submit(client)["id"])["id"]
    answer = client.post(f"/api/v1/jobs/{job}/numerics", json={})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (409, "E-RESULT-ABSENT")


def test_a_result_of_other_passes_is_not_mixed_with_these(real):
    job = compiled_job(real, **MLP)
    folder = jobs_of(real).find(job).folder
    result = Parts(folder).read("result")
    result["stages"][3]["name"] = "another"
    replace_part(folder, "result", result)
    error = checked(real, job)["error"]
    assert (error["code"], error["hint"]) == ("E-RESULT-ABSENT", "compile the model again")


def test_a_wrong_rewrite_is_told_with_its_step_and_all_has_the_described_shape():
    with instead("drop_double_negation", lambda x: o.neg(x))():
        going = begin_check(MODEL, Options("algebraic_simplification"), wanted=Wanted(by_node=True))
        found, stages = list(going.stages()), [0, 1]
        judged = list(going.rewrites())
    commands = {"check": "", "bisect": ""}
    payload = numerics.summary({"job": "j", "seed": 0}, going, commands)
    payload["rows"] = [numerics.row(i, f, going, i) for i, f in enumerate(found)]
    numerics.with_stages(payload, going, found, stages)
    events = going.rewrites_done.events
    payload["rewrites"] = numerics.rewrites(1, judged, events, stages)
    assert (payload["first_moved"], payload["first_wrong"]) == (1, 1)
    (wrong,) = payload["rewrites"]["wrong"]
    assert (wrong["stage"], wrong["rule"], wrong["at"]) == (1, "drop_double_negation", "e")
    step = events[0].steps[wrong["step"]]
    assert (step.rule, step.at) == (wrong["rule"], wrong["at"])
    check_shape(payload, "Numerics")


def test_command_lines_leave_out_what_the_commands_do_not_take():
    kept = {"reproduce": "compilarium compile 'a b' --target x --threads 4 --shape x=1,3"}
    made = _commands(kept, {"seed": 3})
    assert made["check"] == "compilarium check 'a b' --threads 4 --shape x=1,3 --by-node --seed 3"
    assert made["bisect"] == "compilarium bisect 'a b' --shape x=1,3 --seed 3"
