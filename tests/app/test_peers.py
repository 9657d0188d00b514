"""Tests of comparisons with other runtimes."""

from __future__ import annotations

import pytest

from app.jobs.peer import PeerRequest
from compiler.bench import peers
from compiler.errors import CompileError
from tests.app.conftest import QUICK, compiled_job, started

MEASURED = {**QUICK, "measure": True}


def test_the_runtimes_of_the_server_are_listed_with_their_command(real, monkeypatch):
    monkeypatch.setattr(peers, "installed", lambda name: name == "onnxruntime")
    rows = real.get("/api/v1/peers").get_json()["peers"]
    assert [row["name"] for row in rows] == list(peers.names())
    assert [row["name"] for row in rows if row["is_installed"]] == ["onnxruntime"]
    assert {row["install"] for row in rows} == {"pip install onnxruntime", "pip install openvino"}


def test_a_model_is_timed_together_with_onnx_runtime(real):
    job = compiled_job(real, options=MEASURED)
    made = started(real, f"/jobs/{job}/peer", peer="onnxruntime", seconds=0.5)
    assert made["state"] == "succeeded", made["error"]
    found = real.get(f"/api/v1/jobs/{made['id']}/peer").get_json()
    assert (found["peer"], found["title"]) == ("onnxruntime", "ONNX Runtime")
    assert found["relative_error"] < 1e-5
    assert found["low"] <= found["ratio"] <= found["high"]
    assert found["ratio"] == pytest.approx(
        found["theirs"]["median_s"] / found["ours"]["median_s"], rel=0.5
    )


def test_a_peer_that_is_not_installed_is_refused_with_its_command(real, monkeypatch):
    monkeypatch.setattr(peers, "installed", lambda name: False)
    with pytest.raises(CompileError, match="openvino is not installed") as caught:
        peers.load_peer("openvino", b"")
    assert caught.value.hint == "pip install openvino"
    with pytest.raises(CompileError, match="peer: needed one of"):
        PeerRequest.from_json("a job", {"peer": "another"})


def test_a_compilation_that_did_not_run_is_not_compared(real):
    answer = real.post(f"/api/v1/jobs/{compiled_job(real)}/peer", json={"peer": "onnxruntime"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (409, "E-RESULT-ABSENT")
