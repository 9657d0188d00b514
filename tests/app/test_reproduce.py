"""Tests that the command named by a result reproduces it, as does another process."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import onnx
import pytest
from flask.testing import FlaskClient
from onnx import TensorProto, helper

from app.samples import samples
from tests.app.conftest import QUICK, started

REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def python(words: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def result_of(client: FlaskClient, **request: Any) -> dict[str, Any]:
    job = started(client, "/jobs", kind="compile", **request)
    assert job["state"] == "succeeded", job["error"]
    return client.get(f"/api/v1/jobs/{job['id']}/result").get_json()


def open_model() -> onnx.ModelProto:
    """Return two operators over open sizes, as a model whose name needs quoting in a shell."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [5, 4], [0.25 * i for i in range(20)])
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["a b", "w"], ["m"], "mul"),
            helper.make_node("Relu", ["m"], ["y"], "r"),
        ],
        "g",
        [helper.make_tensor_value_info("a b", TensorProto.FLOAT, ["N", "T", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "T", 4])],
        [weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


REQUESTS: dict[str, dict[str, Any]] = {
    "a sample": {"model": {"sample": "digits_mlp"}},
    "another pipeline in bf16": {
        "model": {"sample": "digits_mlp"},
        "pipeline": "simplify,fuse",
        "options": {"precision": "bf16"},
    },
    "rules left out": {
        "model": {"sample": "digits_cnn"},
        "without": ["batch_norm_is_affine", "fuse"],
        "options": {"precision": "fast", "threads": 2},
    },
    "an upload with open sizes": {"shapes": {"a b": [3, 7, 5]}},
    "an upload whose sizes are assumed": {"options": {"threads": 2}},
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_command_of_a_result_compiles_the_same(real, tmp_path, request_):
    request = {**request_, "options": {**QUICK, **request_.get("options", {})}}
    if "model" not in request:
        data = open_model().SerializeToString()
        name = "- it's $HOME.onnx"
        (tmp_path / name).write_bytes(data)
        sent = real.post("/api/v1/uploads", query_string={"name": name}, data=data).get_json()
        request["model"] = {"upload": sent["id"]}
    result = result_of(real, **request)
    program, *words = shlex.split(result["reproduce"])
    assert program == "compilarium"
    found = json.loads(python(["-m", "compiler", *words, "--json"], tmp_path))
    # In addition to the passes, the page has the sizes.
    passes = [(p["name"], p["changed"], p["n_nodes"]) for p in found["passes"]]
    assert passes == [
        (s["name"], s["changed"], s["n_nodes"])
        for s in result["stages"][1:]
        if s["name"] != "specialise"
    ]
    assert [(k["name"], k["native"], k["origins"], k["flops"]) for k in found["kernels"]] == [
        (k["name"], k["native"], k["origins"], k["flops"]) for k in result["kernels"]
    ]
    assert found["memory"]["peak_bytes"] == result["memory"]["peak_bytes"]


def test_the_command_of_a_report_finds_the_same_besides(real, tmp_path):
    options = {**QUICK, "precision": "bf16", "threads": 2}
    model = {"sample": "digits_mlp"}
    job = result_of(real, model=model, without=["fuse"], options=options)["job"]
    for path, body in (
        ("numerics", {"seed": 3}),
        ("placements", {"platform": "two-sockets", "scheduler": "min_cut", "ahead": 0}),
        ("targets", {"kernel": 0}),
        ("bisect", {"moved": 0}),
    ):
        assert started(real, f"/jobs/{job}/{path}", **body)["state"] == "succeeded"
    beside = real.get(f"/api/v1/jobs/{job}/beside").get_json()
    view = "v=1&model=sample:digits_mlp&stage=3&pane=devices"
    _, *words = shlex.split(f"{beside['report']} --view '{view}'")
    python(["-m", "compiler", *words, "-o", "report.html"], tmp_path)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    held = re.search(r'id="answers"[^>]*>([^<]*)<', html)
    about = re.search(r'id="report"[^>]*>(.*?)</script>', html, re.DOTALL)
    assert held
    assert about
    answers = json.loads(gzip.decompress(base64.b64decode(held[1])))
    compiles = answers["result"]["reproduce"].split(maxsplit=2)[2]
    assert beside["report"].startswith(f"compilarium report {compiles} --find ")
    assert [asked(each) for each in answers["beside"]["jobs"]] == [asked(e) for e in beside["jobs"]]
    assert dict(parse_qsl(json.loads(about[1])["fragment"])) == dict(parse_qsl(view))


def asked(job: dict[str, Any]) -> dict[str, Any]:
    """Return the request of a related job of any kind."""
    return {k: v for k, v in job["request"].items() if k != "job"}


_TRACE = """
import sys, compiler
program = compiler.compile(sys.argv[1], precision=sys.argv[2], tuned=False)
for event in program.trace.events:
    print(event.name, event.changed)
    print(event.after)
    for step in event.steps:
        print(step.rule, step.outcome, step.because, step.took, step.made)
print([(k.name, k.origins) for k in program.kernels], program.memory.peak_bytes)
print(program.emit("llvm"))
"""


@pytest.mark.parametrize("name", ["digits_cnn", "digits_transformer"])
def test_two_processes_write_the_same_trace(name, tmp_path):
    words = ["-c", _TRACE, str(samples()[name].path), "f32"]
    first, second = (python(words, tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "4021"))
    assert len(first) > 10_000
    assert first == second
