"""Tests of the commands `check` and `bisect`."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compilarium import check as check_command
from compiler.bench import peers
from compiler.check import yardstick
from tests.compilarium.commands import invoke, told


def test_check_compares_every_stage_with_the_reference(model: Path) -> None:
    verdict = told("check", model, "--shape", "x=3,3", "--peers", "")
    assert verdict["ok"] is True
    assert verdict["yardstick"] == "onnx.reference"
    stages = [s["stage"] for s in verdict["stages"]]
    assert stages[0] == "imported"
    assert stages[-1] == "program"
    assert "fuse" in stages
    assert verdict["worst_relative_error"] < 1e-5
    assert "passed" in invoke("check", model, "--shape", "x=3,3", "--peers", "").output


def test_check_fails_when_the_numbers_are_wrong(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = yardstick.run_reference

    def wrong(*args: Any) -> Any:
        outputs, note = right(*args)
        return {name: value * np.float32(1.001) for name, value in outputs.items()}, note

    monkeypatch.setattr(yardstick, "run_reference", wrong)
    verdict = told("check", model, "--peers", "", code=1)
    assert verdict["ok"] is False
    assert 5e-4 < verdict["worst_relative_error"] < 2e-3
    assert told("check", model, "--peers", "", "--tolerance", "0.01")["ok"] is True
    assert "FAILED" in invoke("check", model, "--peers", "").output


def test_check_takes_our_reference_where_onnx_cannot_run_the_model(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yardstick, "run_reference", lambda *_: (None, "onnx.reference cannot"))
    verdict = told("check", model, "--peers", "")
    assert (verdict["ok"], verdict["yardstick"]) == (True, "reference")
    assert verdict["note"] == "onnx.reference cannot"


@pytest.mark.parametrize("when", ["load", "run"])
def test_a_peer_that_refuses_a_model_is_told_and_fails_nothing(
    model: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("no such kernel")

    loader = refuse if when == "load" else lambda *_: peers.Peer("onnxruntime", "1", refuse)
    monkeypatch.setitem(peers._LOADERS, "onnxruntime", loader)
    monkeypatch.setattr(check_command, "installed", lambda _: True)
    monkeypatch.setattr(peers, "installed", lambda _: True)
    verdict = told("check", model, "--shape", "x=3,3")
    assert verdict["ok"] is True
    assert verdict["stages"][-1]["stage"] == "onnxruntime"
    text = invoke("check", model, "--shape", "x=3,3").output
    assert "rejects the model: no such kernel" in " ".join(text.split())
    assert "passed" in text
    asked = told("check", model, "--peers", "onnxruntime", code=1 if when == "load" else 0)
    assert when == "run" or asked["error"]["code"] == "E-OPTION-VALUE"


def test_check_and_bench_take_inputs_where_random_ones_mean_nothing(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Gather", ["x", "at"], ["y"])],
        "lookup",
        [value("x", TensorProto.FLOAT, ["N", 3]), value("at", TensorProto.INT64, [2])],
        [value("y", TensorProto.FLOAT, [2, 3])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(proto, tmp_path / "lookup.onnx")
    np.save(tmp_path / "at.npy", np.array([700, 3]))
    np.save(tmp_path / "x.npy", np.ones((701, 3), np.float32))
    given = [f"{k}={tmp_path / k}.npy" for k in ("x", "at")]
    index, both = ["--input", given[1]], ["--input", given[0], "--input", given[1]]
    assert told("check", tmp_path / "lookup.onnx", "--peers", "", *index, code=1)["error"]
    assert told("check", tmp_path / "lookup.onnx", "--peers", "", *both)["ok"] is True
    timed = told("bench", tmp_path / "lookup.onnx", "--seconds", 0, *both)
    assert timed["shapes"] == {"x": [701, 3], "at": [2]}


def test_check_looks_at_every_rewrite_and_value(model: Path) -> None:
    facts = told("check", model, "--shape", "x=3,3", "--peers", "", "--every-rewrite", "--by-node")
    assert facts["rewrites"]["wrong"] == []
    assert facts["narrow"] == []
    assert facts["stages"][0]["against_f64"][0]["ulps"] < 100
    assert all(n["first_wrong"] is None for n in facts["nodes"])
    assert "values with preserved names" in invoke("check", model, "--by-node").output


def test_bisect_says_that_nothing_is_broken(model: Path, tmp_path: Path) -> None:
    facts = told("bisect", model, "--shape", "x=3,3", "-o", tmp_path / "none")
    assert (facts["ok"], facts["broken"], facts["rules"]) == (True, False, [])
    assert not (tmp_path / "none").exists()
    assert "no failure" in invoke("bisect", model, "--program").output


def test_bisect_names_a_broken_pass_and_its_folder_replays(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shown"
    fuse = importlib.import_module("compiler.passes.fusion.fuse")
    right = fuse._fuse

    def wrong(graph: Any, *rest: Any) -> Any:
        made = right(graph, *rest)
        body = made.regions["body"]
        nodes = tuple(replace(n, op="abs") if n.op == "relu" else n for n in body.nodes)
        return replace(made, regions={"body": replace(body, nodes=nodes)})

    with monkeypatch.context() as patch:
        patch.setattr(fuse, "_fuse", wrong)
        facts = told("bisect", model, "--shape", "x=3,3", "-o", folder, code=1)
        assert (facts["kind"], facts["rules"]) == ("wrong", ["fuse"])
        assert facts["reduced"]["nodes"] <= 3
        assert "fuse at" in invoke("bisect", model, "--reduce", 0).output
        assert told("bisect", "--replay", folder, code=1)["ok"] is False
        assert "still wrong" in invoke("bisect", "--replay", folder).output
    assert told("bisect", "--replay", folder)["ok"] is True
    assert "no longer fails" in invoke("bisect", "--replay", folder).output


def test_a_written_model_is_not_offered_to_runtimes_that_cannot_read_it(tmp_path: Path) -> None:
    path = tmp_path / "own.ir"
    path.write_text("graph g(x: f32[2,3]) {\n  y: f32[2,3] = relu(x)\n  return y\n}\n")
    verdict = told("check", path)
    assert verdict["ok"] is True
    assert verdict["note"] == ""
    assert verdict["stages"][-1]["stage"] == "program"
    said = invoke("check", path).output
    assert "onnx" not in said
    refused = invoke("check", path, "--peers", "onnxruntime")
    assert refused.exit_code != 0
    assert "a model written as text" in refused.output
    assert "--emit onnx" in refused.output
