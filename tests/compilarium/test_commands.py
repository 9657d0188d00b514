"""Tests of all commands: printed text, written files and exit codes."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compilarium import doctor
from compilarium.group import COMMANDS
from compilarium.options import Bytes
from compiler.machine import keep, measure
from sandbox import bubblewrap
from tests.compilarium.commands import invoke, told
from tests.databases import Databases


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a sum over axes given by an input, and a concatenation of strings."""
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
    assert "shown for axes=" in text


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
    assert (
        "1 launch of generated code, 0 fallbacks"
        in invoke("compile", model, "--shape", "x=2,3").output
    )
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
    assert len(told("compile", model, "--without", "fuse")["kernels"]) > len(facts["kernels"])
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


def test_run_shows_each_kernel_beside_what_it_needs_at_least(model: Path) -> None:
    asked = ("run", model, "--random", 3, "--shape", "x=4,3", "--profile", 2)
    profile = told(*asked)["profile"]
    assert profile
    assert all(k["predicted_s"] > 0 and k["bound"] for k in profile)
    assert all(k["low_s"] <= k["median_s"] <= k["high_s"] for k in profile)
    assert profile[0]["kernel"] in invoke(*asked).output


def test_run_writes_a_trace_that_viewers_open(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    asked = ("run", model, "--random", 3, "--shape", "x=4,3", "--trace", file)
    assert "perfetto" in invoke(*asked).output
    facts = told(*asked, "--profile", 3)
    assert facts["trace"] == str(file)
    trace = json.loads(file.read_text(encoding="utf-8"))
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    medians = {k["kernel"]: k["median_s"] for k in facts["profile"]}
    timed = {e["name"]: e["dur"] / 1e6 for e in events if "rounds" in e["args"]}
    assert timed == pytest.approx(medians)
    assert {"fuse", "passes"} <= {e["name"] for e in events}
    assert trace["otherData"]["model"] == str(model)


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


def test_doctor_names_a_cache_that_others_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    (finding,) = doctor._cache()
    assert (finding.topic, finding.state) == ("cache", "missing")
    assert f"{tmp_path / 'cache'} may be written by other users" in finding.words
    assert finding.fix == f"chmod go-w {tmp_path / 'cache'}"
    (tmp_path / "cache").chmod(0o755)
    (finding,) = doctor._cache()
    assert finding.state == "ok"
    assert "0 programs, 0 objects" in finding.words


def test_doctor_checks_the_database_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("app.config.site_folder", lambda name: tmp_path / name)
    (finding,) = doctor._database()
    assert finding.state == "ok"
    assert "does not exist yet" in finding.words
    file = tmp_path / "compilarium" / "compilarium.db"
    file.parent.mkdir()
    file.write_bytes(b"no database" * 100)
    (finding,) = doctor._database()
    assert finding.state == "broken"
    assert f"{file} is damaged" in finding.words
    assert "backup" in finding.fix


def test_doctor_asks_the_database_of_the_environment(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_DATABASE_URL", databases.migrated())
    (finding,) = doctor._database()
    assert (finding.state, finding.fix) == ("ok", "")
    monkeypatch.setenv("COMPILARIUM_DATABASE_URL", f"postgresql://me:secret@/x?host={tmp_path}")
    (finding,) = doctor._database()
    assert finding.state == "broken"
    assert "secret" not in finding.words
    assert "COMPILARIUM_DATABASE_URL" in finding.fix


def test_doctor_finds_everything_needed_here() -> None:
    facts = told("doctor")
    topics = {f["topic"]: f for f in facts["findings"]}
    assert facts["ok"] is True
    assert topics["machine code"]["state"] == "ok"
    assert all(f["fix"] for f in facts["findings"] if f["state"] != "ok")
    output = invoke("doctor").output
    assert "machine code" in output
    assert "The process has no capabilities and cannot gain any." in output


def test_doctor_shows_the_self_test_of_the_sandbox() -> None:
    facts = told("doctor")
    topics = {f["topic"]: f for f in facts["findings"]}
    assert [f for f in facts["sandbox"]["findings"] if not f["ok"]] == []
    assert topics["sandbox"]["state"] == "ok"
    assert facts["sandbox"]["ok"] is True
    assert {f["way"] for f in facts["sandbox"]["findings"]} == {"fresh", "joined", "outside"}


def test_doctor_names_the_remedy_for_a_missing_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "program", lambda: None)
    facts = told("doctor")
    topics = {f["topic"]: f for f in facts["findings"]}
    assert facts["ok"] is True, "own models need no sandbox"
    assert facts["sandbox"]["ok"] is False
    assert topics["sandbox"]["state"] == "missing"
    assert "apt-get install bubblewrap" in topics["sandbox"]["fix"]
    assert "apt-get install bubblewrap" in " ".join(invoke("doctor").output.split())


def test_doctor_names_a_failed_assertion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "SHARED_MEMORY_BYTES", 64 << 20)
    topics = {f["topic"]: f for f in told("doctor")["findings"]}
    broken = topics["sandbox: shared memory is bounded"]
    assert broken["state"] == "broken"
    assert "holds 67,108,864 bytes" in broken["words"]
    assert broken["fix"]


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
        (("compile", "{model}", "--without", "fuze"), "E-OPTION-VALUE"),
        (("check", "{model}", "--without", "fuze"), "E-OPTION-VALUE"),
        (("bisect", "{model}", "--without", "fuze"), "E-OPTION-VALUE"),
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


def test_an_archive_of_arrays_is_no_array(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    np.savez(file, x=np.zeros(3))
    result = invoke("run", model, "--input", f"x={file}")
    assert result.exit_code == 1
    assert "E-INPUT-FILE" in result.stderr
    file.write_bytes(file.read_bytes()[:40])
    assert "E-INPUT-FILE" in invoke("run", model, "--input", f"x={file}").stderr


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
    assert "nothing is recomputed" in made["memory"]["limit"]
    assert "live at the peak" in made["memory"]["order"]
    wrong = told("compile", model, *shape, "--memory-limit", "8 parsecs", code=1)
    assert wrong["error"]["code"] == "E-OPTION-VALUE"
