"""The commands as a shell sees them: what they print, write, and exit with."""

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper, numpy_helper

from compiler.check import model as model_check
from compiler.cli import check as check_command
from compiler.cli import peers
from compiler.cli.group import COMMANDS, commands
from compiler.cli.options import Bytes
from compiler.machine import keep, measure


def invoke(*args: object) -> Result:
    result = CliRunner().invoke(commands, [str(a) for a in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def told(*args: object, code: int = 0) -> Any:
    """What a command says with --json; the error stream holds nothing that looks like a bug."""
    result = invoke(*args, "--json")
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x[N,3] -> relu(x @ w + b): one open dimension, three nodes."""
    value = helper.make_tensor_value_info
    chance = np.random.default_rng(0)
    weights = {"w": (3, 5), "b": (5,)}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="dense"),
            helper.make_node("Add", ["h", "b"], ["s"], name="shift"),
            helper.make_node("Relu", ["s"], ["y:0"], name="act"),
        ],
        "tiny",
        [value("x", TensorProto.FLOAT, ["N", 3])],
        [value("y:0", TensorProto.FLOAT, ["N", 5])],
        [
            numpy_helper.from_array(chance.standard_normal(s).astype(np.float32), n)
            for n, s in weights.items()
        ],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path_factory.mktemp("models") / "tiny.onnx"
    onnx.save(proto, path)
    return path


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sum over axes that an input gives, and beside it strings put together."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("ReduceSum", ["x", "axes"], ["s"], name="total"),
            helper.make_node("StringConcat", ["a", "a"], ["t"], name="words"),
        ],
        "mixed",
        [
            value("x", TensorProto.FLOAT, ["N", 3]),
            value("axes", TensorProto.INT64, [1]),
            value("a", TensorProto.STRING, [4]),
        ],
        [value("s", TensorProto.FLOAT, None), value("t", TensorProto.STRING, [4])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    path = tmp_path_factory.mktemp("models") / "mixed.onnx"
    onnx.save(proto, path)
    return path


def test_every_command_has_words_for_help() -> None:
    overview = invoke("--help").output
    for name in COMMANDS:
        assert name in overview
        result = invoke(name, "--help")
        assert result.exit_code == 0
        assert "Usage: " in result.output


def test_inspect_counts_what_is_in_a_model(model: Path) -> None:
    facts = told("inspect", model, "--shape", "x=2,3")
    assert facts["inputs"] == {"x": "f32[2,3]"}
    assert facts["outputs"] == {"y:0": "f32[2,5]"}
    assert facts["operators"] == {"matmul": 1, "add": 1, "relu": 1}
    assert facts["n_parameters"] == 20
    assert facts["macs"] == 2 * 3 * 5
    assert facts["peak_bytes"] >= 2 * 2 * 5 * 4
    assert facts["intensity_flops_per_byte"] > 0
    assert told("inspect", model)["macs"] is None
    assert "multiply-adds" in invoke("inspect", model).output


def test_inspect_says_how_a_model_will_run(model: Path, mixed: Path) -> None:
    running = told("inspect", model, "--shape", "x=2,3")["running"]
    assert running["operators"] == {
        op: {"native": 1, "view": 0, "constant": 0, "reference": 0}
        for op in ("matmul", "add", "relu")
    }
    assert running["flops"] == running["native_flops"] == 2 * (2 * 3 * 5) + 2 * 5 + 2 * 5
    assert (running["n_fallback"], running["sizes"]) == (0, "")
    assert told("inspect", model)["running"]["sizes"] == "one program serves all sizes"

    running = told("inspect", mixed, "--shape", "x=4,3")["running"]
    (fallback,) = running["fallbacks"]
    assert (fallback["node"], fallback["operator"]) == ("words", "onnx.StringConcat")
    assert fallback["because"]
    assert running["operators"]["reduce_sum"]["native"] == 1
    assert running["parameters"].keys() == {"axes"}
    text = invoke("inspect", mixed).output
    assert fallback["because"] in text
    assert "told for axes=" in text


def test_inspect_asks_for_shapes_where_those_it_assumes_do_not_fit(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"], name="fold")],
        "rows",
        [value("x", TensorProto.FLOAT, [1, "T"])],
        [value("y", TensorProto.FLOAT, [3, 5])],
        [numpy_helper.from_array(np.array([3, 5]), "shape")],
    )
    path = tmp_path / "rows.onnx"
    onnx.save(helper.make_model(graph, ir_version=9), path)
    running = told("inspect", path)["running"]
    assert running["assumed_shapes"] == {"x": [1, 16]}
    assert "16 elements" in running["problem"]
    assert "--shape" in invoke("inspect", path).output
    running = told("inspect", path, "--shape", "x=1,15")["running"]
    assert (running["problem"], running["n_fallback"]) == ("", 0)


def test_commands_say_when_and_why_code_was_made_while_running(mixed: Path, model: Path) -> None:
    for command in (("run", "--random", 1), ("bench", "--seconds", 0), ("check", "--peers", "")):
        (made,) = told(command[0], mixed, *command[1:])["specializations"]
        assert made["parameters"].keys() == {"axes"}
        assert made["seconds"] > 0
        assert "axes=[" in made["because"]
        assert made["because"] in invoke(command[0], mixed, *command[1:]).output
    facts = told("run", model, "--random", 1)
    assert (facts["serves_all_sizes"], facts["specializations"]) == (True, [])
    assert facts["notes"] == told("compile", model)["notes"] == ["one program serves all sizes"]


def test_compile_summarises_and_emits(model: Path, mixed: Path, tmp_path: Path) -> None:
    facts = told("compile", model, "--shape", "x=2,3")
    assert [p["name"] for p in facts["passes"]]
    assert sorted(o for k in facts["kernels"] for o in k["origins"]) == ["act", "dense", "shift"]
    assert facts["memory"]["peak_bytes"] >= facts["memory"]["lower_bound_bytes"]
    assert "1 native kernel, 0 fallbacks" in invoke("compile", model, "--shape", "x=2,3").output
    assert "serves all sizes" in invoke("compile", model).output
    assert "first run" in invoke("compile", mixed).output
    for kind, words in (("graph", "graph tiny"), ("loops", "kernel "), ("llvm", "define void")):
        assert words in invoke("compile", model, "--shape", "x=2,3", "--emit", kind).output
    target = tmp_path / "tiny.o"
    args = ("compile", model, "--shape", "x=2,3", "--emit", "object", "-o", target)
    assert told(*args)["bytes"] == target.stat().st_size > 0
    exported = tmp_path / "tiny.onnx"
    for options, n_nodes in ((), 2), (("--fused",), 1):
        told("compile", model, "--shape", "x=2,3", "--emit", "onnx", *options, "-o", exported)
        onnx.checker.check_model(exported, full_check=True)
        assert len(onnx.load(exported).graph.node) == n_nodes
    other = ("--target", "aarch64", "--emit", "asm", "--pipeline", "none")
    assert "fmla" in invoke("compile", model, "--shape", "x=4,3", *other).output


def test_run_takes_arrays_and_writes_outputs(model: Path, tmp_path: Path) -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "out"
    facts = told("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", out)
    assert facts["outputs"]["y:0"]["shape"] == [2, 5]
    assert facts["outputs"]["y:0"]["file"] == str(out / "y_0.npy")
    weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(model).graph.initializer}
    expected = np.maximum(x @ weights["w"] + weights["b"], 0)
    np.testing.assert_allclose(np.load(out / "y_0.npy"), expected, rtol=1e-5)


def test_run_makes_random_inputs_on_request(model: Path) -> None:
    facts = told("run", model, "--random", 7, "--shape", "x=4,3")
    assert facts["outputs"]["y:0"]["shape"] == [4, 5]
    assert facts == {**told("run", model, "--random", 7, "--shape", "x=4,3"),
                     "seconds": facts["seconds"]}  # fmt: skip
    assert "y:0" in invoke("run", model, "--random", 7).output


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
    right = model_check.run_reference

    def wrong(*args: Any) -> Any:
        outputs, note = right(*args)
        return {name: value * np.float32(1.001) for name, value in outputs.items()}, note

    monkeypatch.setattr(model_check, "run_reference", wrong)
    verdict = told("check", model, "--peers", "", code=1)
    assert verdict["ok"] is False
    assert 5e-4 < verdict["worst_relative_error"] < 2e-3
    assert told("check", model, "--peers", "", "--tolerance", "0.01")["ok"] is True
    assert "FAILED" in invoke("check", model, "--peers", "").output


def test_check_takes_our_reference_where_onnx_cannot_run_the_model(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_check, "run_reference", lambda *_: (None, "onnx.reference cannot"))
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
    assert "refuses the model: no such kernel" in " ".join(text.split())
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
    assert "values that keep their names" in invoke("check", model, "--by-node").output


def test_bisect_says_that_nothing_is_broken(model: Path, tmp_path: Path) -> None:
    facts = told("bisect", model, "--shape", "x=3,3", "-o", tmp_path / "none")
    assert (facts["ok"], facts["broken"], facts["rules"]) == (True, False, [])
    assert not (tmp_path / "none").exists()
    assert "nothing is broken" in invoke("bisect", model, "--program").output


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


def test_bench_times_in_turns(model: Path) -> None:
    facts = told("bench", model, "--shape", "x=2,3", "--against", "onnxruntime", "--seconds", "0")
    assert set(facts["programs"]) == {"compilarium", "onnxruntime"}
    assert all(p["n_rounds"] >= 10 for p in facts["programs"].values())
    ratio = facts["ratios"]["onnxruntime"]
    assert 0 < ratio["low"] <= ratio["of_minima"] * 1.0001
    assert ratio["relative_error"] < 1e-5
    assert (
        "onnxruntime" in invoke("bench", model, "--against", "onnxruntime", "--seconds", "0").output
    )


PROBLEM = "id,lower,upper,size\na,0,2,100\nb,2,4,50\nc,1,3,30\n"


def test_tune_tells_what_it_tried_and_compile_uses_it(model: Path, tmp_path: Path) -> None:
    database = tmp_path / "schedules.sqlite"
    asked = ("tune", model, "--shape", "x=60,3", "--budget", "1s", "--search", "random")
    facts = told(*asked, "--database", database)
    assert facts["search"] == "random"
    assert facts["tuned_s"] <= facts["untuned_s"]
    assert [k["why_stopped"] for k in facts["kernels"]] == ["budget"]
    assert "times as fast" in invoke(*asked, "--database", database).output
    assert told("compile", model, "--shape", "x=60,3", "--database", database)["ok"]
    assert told("compile", model, "--no-tuned")["ok"]
    refused = told("tune", model, "--budget", "soon", code=1)
    assert refused["error"]["code"] == "E-OPTION-VALUE"


def test_plan_solves_a_problem(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    solution = tmp_path / "s.csv"
    facts = told("plan", problem, "-o", solution, "--capacity", 130)
    assert (facts["peak_bytes"], facts["lower_bound_bytes"]) == (130, 130)
    lines = solution.read_text().splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert len(lines) == 4
    assert told("plan", problem, "--alignment", 64)["peak_bytes"] == 158
    assert "lower bound" in invoke("plan", problem, "--planner", "hill_climb").output


def test_plan_says_when_the_capacity_is_too_small(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    error = told("plan", problem, "--capacity", 129, code=1)["error"]
    assert error["code"] == "E-PLAN-CAPACITY"
    assert "no plan needs less than 130 bytes" in error["notes"]


def test_plan_takes_pins_shared_places_and_alignments_from_columns(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(
        "id,lower,upper,size,shares,pinned,alignment\n"
        "a,0,2,30,s,,\nb,3,5,20,s,,\nc,0,5,10,,64,\nd,2,4,7,,,16\n"
    )
    facts = told("plan", problem, "-o", tmp_path / "s.csv")
    assert facts["offsets"]["a"] == facts["offsets"]["b"]
    assert (facts["offsets"]["c"], facts["offsets"]["d"] % 16) == (64, 0)
    assert (facts["peak_bytes"], facts["stopped"]) == (74, "optimal")
    again = told("plan", tmp_path / "s.csv", "--planner", "naive")
    assert again["n_buffers"] == 4


@pytest.mark.parametrize(
    "text",
    [
        "id,lower,upper,size\na,0,3,4\nb,0,9999999999999999999999999,4\n",
        "id,lower,upper,size\na,0,3,4\nb,0,3,1e9\n",
        "id,lower,upper,size\na,0,3,4\n,0,3,1\n",
        "id,lower,upper,size,alignment\na,0,3,4,\nb,0,3,1,3\n",
        'id,lower,upper,size\na,0,3,4\n"b,0,3,1\n',
        "id,lower,upper,size\na,0,3,4\nb,0,3\x001,4\n",
        "id,lower,upper,size\na,0,3,4\n" + "b" * 200_000 + ",0,3,4\n",
    ],
    ids=["step", "float", "no id", "alignment", "quote", "zero byte", "long"],
)
def test_plan_names_the_line_of_a_row_that_makes_no_sense(tmp_path: Path, text: str) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(text)
    error = told("plan", problem, code=1)["error"]
    assert error["code"] == "E-PLAN-INPUT"
    assert error["where"]["line"] == 3


def test_plan_refuses_pins_that_cannot_be_kept(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size,pinned\na,0,3,4,0\nb,2,4,4,3\n")
    assert told("plan", problem, code=1)["error"]["code"] == "E-PLAN-INPUT"


def test_run_shows_each_kernel_beside_what_it_needs_at_least(model: Path) -> None:
    asked = ("run", model, "--random", 3, "--shape", "x=4,3", "--profile", 2)
    profile = told(*asked)["profile"]
    assert profile
    assert all(k["predicted_s"] > 0 and k["bound"] for k in profile)
    assert profile[0]["kernel"] in invoke(*asked).output


def test_doctor_measures_and_keeps_the_speeds_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    monkeypatch.setattr(measure, "ROUNDS", 3)
    monkeypatch.setattr(measure, "LARGEST_BYTES", 1 << 20)
    assert not keep.known().is_measured
    facts = told("doctor", "--measure")
    assert Path(facts["file"]).is_file()
    assert keep.known().flops_per_second == facts["machine"]["flops_per_second"]


def test_doctor_finds_everything_needed_here() -> None:
    facts = told("doctor")
    topics = {f["topic"]: f for f in facts["findings"]}
    assert facts["ok"] is True
    assert topics["machine code"]["state"] == "ok"
    assert all(f["fix"] for f in facts["findings"] if f["state"] != "ok")
    assert "machine code" in invoke("doctor").output


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("inspect", "absent.onnx"), "E-MODEL-FILE"),
        (("compile", "{model}", "--pipeline", "nonsense"), "E-PIPELINE-PASS"),
        (("compile", "{model}", "--target", "z80"), "E-TARGET-NAME"),
        (("compile", "{model}", "--precision", "int8"), "E-OPTION-VALUE"),
        (("compile", "{model}", "--shape", "x=a,b"), "E-OPTION-VALUE"),
        (("compile", "{model}", "--shape", "x=2,3", "--shape", "x=2,3"), "E-OPTION-VALUE"),
        (("compile", "{model}", "--shape", "q=2,3"), "E-INPUT-NAME"),
        (("compile", "{mixed}", "--emit", "llvm"), "E-SHAPE-OPEN"),
        (("compile", "{model}", "-o", "somewhere"), "E-OPTION-VALUE"),
        (("compile", "{model}", "--emit", "graph", "--fused"), "E-OPTION-VALUE"),
        (("compile", "{model}", "--emit", "graph", "-o", "{tmp}/no/such/x"), "E-OUTPUT-FILE"),
        (("run", "{model}"), "E-INPUT-NAME"),
        (("run", "{model}", "--input", "x"), "E-OPTION-VALUE"),
        (("run", "{model}", "--input", "q=a.npy"), "E-INPUT-NAME"),
        (("run", "{model}", "--input", "x={tmp}/absent.npy"), "E-INPUT-FILE"),
        (("bisect",), "E-OPTION-VALUE"),
        (("bisect", "--replay", "{tmp}"), "E-REPRO-FOLDER"),
        (("bench", "{model}", "--against", "no_such_peer"), "E-OPTION-VALUE"),
        (("bench", "{model}", "--threads", "300"), "E-OPTION-VALUE"),
        (("run", "{model}", "--random", "1", "--threads", "0"), "E-OPTION-VALUE"),
        (("plan", "{tmp}/absent.csv"), "E-PLAN-INPUT"),
        (("plan", "{model}"), "E-PLAN-INPUT"),
    ],
)
def test_what_the_user_caused_is_said_once_and_exits_with_one(
    args: tuple[str, ...], code: str, model: Path, mixed: Path, tmp_path: Path
) -> None:
    filled = [a.format(model=model, mixed=mixed, tmp=tmp_path) for a in args]
    result = invoke(*filled)
    assert result.exit_code == 1
    assert result.stderr.count(code) == 1
    assert "Traceback" not in result.output
    data = told(*filled, code=1)
    assert data["ok"] is False
    assert data["error"]["code"] == code
    assert data["error"]["hint"]


def test_words_that_are_no_options_exit_with_two() -> None:
    assert invoke("compile").exit_code == 2
    assert invoke("no_such_command").exit_code == 2
    assert invoke("compile", "m", "--precision", "f17").exit_code == 2


def test_a_negative_seed_is_refused(model: Path) -> None:
    result = invoke("run", model, "--random", "-1")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_why_tells_the_fate_of_a_node_and_of_a_pair(model: Path) -> None:
    fate = told("why", model, "dense")
    assert fate["kind"] == "kept"
    assert [c["rule"] for c in fate["chapters"]] == ["fuse"]
    pair = told("why", model, "dense", "act")
    assert pair["verdict"] == "together"
    assert told("why", model, "dense", "act", "--pipeline", "O0")["verdict"] == "not neighbours"


def test_why_knows_no_such_node(model: Path) -> None:
    error = told("why", model, "nobody", code=1)["error"]
    assert error["code"] == "E-NODE-NAME"


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("8MB", 8_000_000), ("512KiB", 524_288), ("1.5 kb", 1500), ("7", 7), ("2GiB", 2**31)],
)
def test_a_number_of_bytes_has_units(text: str, nbytes: int):
    assert Bytes().convert(text, None, None) == nbytes


def test_a_memory_limit_is_kept_or_refused(model: Path):
    shape = ("--shape", "x=4,3")
    made = told("compile", model, *shape, "--memory-limit", "1MB", "--order", "list")
    assert "nothing runs again" in made["memory"]["limit"]
    assert "live at the peak" in made["memory"]["order"]
    wrong = told("compile", model, *shape, "--memory-limit", "8 parsecs", code=1)
    assert wrong["error"]["code"] == "E-OPTION-VALUE"
