"""Tests of profiles: within a compilation, by a separate job, and as Chrome trace events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.jobs.parts import Parts
from app.jobs.task import COMPILED
from compiler.errors import CompileError
from compiler.machine.machine import estimated
from compiler.targets.target import host
from tests.app.conftest import QUICK, compiled_job, events_told, jobs_of, started, submit, wait
from tests.app.direct import replace_part, run_directly, task_of


@pytest.fixture(scope="module")
def compiled(real: FlaskClient) -> str:
    """A model that was compiled and measured."""
    return compiled_job(real, options={**QUICK, "measure": True})


def get(client: FlaskClient, path: str) -> Any:
    answer = client.get(f"/api/v1/jobs/{path}")
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()


def test_every_time_has_an_interval_and_every_kernel_its_shares(real, compiled):
    found, result = get(real, f"{compiled}/profile"), get(real, f"{compiled}/result")
    run = found["run"]
    assert run["min_s"] <= run["low_s"] <= run["median_s"] <= run["high_s"]
    assert run["median_s"] <= run["slow_s"]
    assert run["repeats"] == result["run"]["repeats"] >= 3
    launched = [k["kernel"] for k in result["kernels"] if k["inside"] is None]
    assert [row["kernel"] for row in found["kernels"]] == launched
    for row in found["kernels"]:
        kernel = result["kernels"][row["kernel"]]
        assert row["min_s"] <= row["low_s"] <= row["median_s"] <= row["high_s"]
        assert (row["median_s"], row["high_s"]) == (kernel["median_s"], kernel["high_s"])
        assert set(row["shares"]) <= set(kernel["origins"])
        assert sum(row["shares"].values()) == pytest.approx(1.0)
        assert row["bytes"] == kernel["bytes_read"] + kernel["bytes_written"]
        assert row["predicted_s"] > row["roof_s"] > 0
        assert sum(row["traffic"].values()) == pytest.approx(row["bytes"], rel=0.5)


def test_the_ceilings_are_those_of_this_machine(real, compiled):
    machine = get(real, f"{compiled}/profile")["machine"]
    assert machine["n_processors"] == host().n_cores
    assert [x["level"] for x in machine["levels"]] == ["L1", "L2", "L3", "DRAM"]
    assert machine["levels"][0]["bytes"] == host().l1d_bytes
    assert any(p["is_used"] for p in machine["peaks"])
    assert (machine["measured"] is not None) == machine["is_measured"]
    if not machine["is_measured"]:
        peak = estimated(host()).flops_per_second
        assert machine["peaks"][0]["flops_per_second"] == peak


def test_it_can_be_timed_again_for_longer(real, compiled):
    asked = {"seconds": 0.4}
    answer = real.post(f"/api/v1/jobs/{compiled}/profile", json=asked)
    assert answer.status_code == 202, answer.get_json()
    again = wait(real, answer.get_json()["id"])
    assert (again["kind"], again["state"]) == ("profile", "succeeded")
    events = events_told(real, again["id"])
    shares = [e.data["share"] for e in events if e.name == "round"]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    first, second = get(real, f"{compiled}/profile"), get(real, f"{again['id']}/profile")
    assert [k["kernel"] for k in second["kernels"]] == [k["kernel"] for k in first["kernels"]]
    assert second["kernels"] != first["kernels"]
    # Another measurement, requested for the second job: the compiled model is the same.
    third = real.post(f"/api/v1/jobs/{again['id']}/profile", json=asked).get_json()
    assert third["request"]["job"] == compiled


def test_the_machine_is_measured_before_when_asked(make_app, tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    real = make_app(worker_module="app.jobs.fork_server_process").test_client()
    job = compiled_job(real, options={**QUICK, "measure": True})
    again = started(real, f"/jobs/{job}/profile", seconds=0.1, machine=True)
    assert again["state"] == "succeeded"
    machine = get(real, f"{again['id']}/profile")["machine"]
    assert machine["is_measured"]
    assert machine["measured"] > 1.7e9
    assert list(tmp_path.rglob("machine-*.json"))
    told = [e.data["share"] for e in events_told(real, again["id"]) if e.name == "round"]
    assert any(0 < share < 1 for share in told)


def test_a_trace_has_the_passes_and_the_sum_of_the_kernels(real, compiled):
    answer = real.get(f"/api/v1/jobs/{compiled}/profile/trace")
    assert f"{compiled}.trace.json" in answer.headers["Content-Disposition"]
    events = [e for e in answer.get_json()["traceEvents"] if e["ph"] == "X"]
    found, result = get(real, f"{compiled}/profile"), get(real, f"{compiled}/result")
    timed = [e for e in events if "rounds" in e["args"]]
    assert sum(e["dur"] for e in timed) == pytest.approx(
        sum(k["median_s"] for k in found["kernels"]) * 1e6
    )
    names = [result["kernels"][k["kernel"]]["name"] for k in found["kernels"]]
    assert [e["name"] for e in timed] == names
    assert {s["name"] for s in result["stages"][1:]} <= {e["name"] for e in events}


def test_other_kernels_than_before_are_not_timed_in_their_name(real, compiled):
    kept = jobs_of(real).find(compiled).folder
    result = Parts(kept).read("result")
    renamed = [{**k, "name": f"{k['name']}_old"} for k in result["kernels"]]
    replace_part(kept, "result", {**result, "kernels": renamed})
    again = real.post(f"/api/v1/jobs/{compiled}/profile", json={"seconds": 0.1}).get_json()
    kept_error = wait(real, again["id"])["error"]
    replace_part(kept, "result", result)
    assert kept_error["code"] == "E-RESULT-ABSENT"
    assert kept_error["hint"] == "compile the model again"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"seconds": 0}, "seconds: needed a number from 0.1 to 20"),
        ({"seconds": 21}, "seconds: needed"),
        ({"seconds": True}, "seconds: needed"),
        ({"seconds": "2"}, "seconds: needed"),
        ({"machine": 1}, "machine: needed true or false"),
        ({"compiled": "/"}, "only the fields"),
        ([], "needed an object"),
    ],
)
def test_a_wrong_request_is_told_what_was_needed(real, compiled, fields, says):
    answer = real.post(f"/api/v1/jobs/{compiled}/profile", json=fields)
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "E-REQUEST-BODY"
    assert says in answer.get_json()["error"]["message"]


def test_what_did_not_run_has_no_profile(client):
    job = wait(client, submit(client)["id"])["id"]
    for ask in (client.get, lambda path: client.post(path, json={})):
        answer = ask(f"/api/v1/jobs/{job}/profile")
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (409, "E-RESULT-ABSENT")
    assert client.get("/api/v1/jobs/nothing/profile/trace").status_code == 404


def test_a_compilation_that_is_gone_is_told(real, compiled):
    gone = f"20260101-{'0' * 20}"
    jobs = jobs_of(real)
    request = {"kind": "profile", "job": gone, "machine": False, "seconds": 1.0}
    ended = wait(real, jobs.submit(request, "a model").id)
    assert ended["error"]["code"] == "E-RESULT-ABSENT"
    assert gone in ended["error"]["notes"][0]
    # The folder of the job may also go while the child reads it.
    task = task_of(real, **{**request, "job": compiled})
    task = replace(task, inputs={**task.inputs, COMPILED: jobs.folder})
    with pytest.raises(CompileError) as e:
        run_directly(task, jobs.folder)
    assert e.value.code == "E-RESULT-ABSENT"
