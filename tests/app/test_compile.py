"""Tests of compilation jobs of real models: all parts of the result exist and agree."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import numpy as np
import onnx
import pytest
from flask.testing import FlaskClient
from onnx import TensorProto, helper, numpy_helper

from app.wire.deltas import applied
from compiler.schedule.language.move import MOVES
from compiler.schedule.nest import Nest
from tests.app.conftest import started, wait
from tests.app.schema import check

assert Nest.__doc__

HOSTILE = '"><script>alert(1)</script>\n\u202e'


@pytest.fixture(scope="module")
def digits(real) -> dict[str, Any]:
    """The result of compiling the convolutional sample."""
    return compiled(real, {"sample": "digits_cnn"})


def compiled(client: FlaskClient, model: dict, state: str = "succeeded", **fields: Any) -> dict:
    job = started(client, "/jobs", kind="compile", model=model, **fields)
    assert job["state"] == state, job["error"]
    return client.get(f"/api/v1/jobs/{job['id']}/result").get_json()


def uploaded(client: FlaskClient, model: onnx.ModelProto) -> dict[str, str]:
    data = model.SerializeToString()
    answer = client.post("/api/v1/uploads?name=m.onnx", data=data)
    return {"upload": answer.get_json()["id"]}


def part(client: FlaskClient, result: dict, path: str) -> dict:
    answer = client.get(f"/api/v1/jobs/{result['job']}/{path}")
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()


def model_of(nodes, inputs, outputs, constants=(), name="g") -> onnx.ModelProto:
    graph = helper.make_graph(nodes, name, inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def f32(name: str, shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def test_the_summary_tells_everything(digits):
    assert digits["complete"] is True
    assert digits["model"]["source"] == "sample"
    assert digits["model"]["n_nodes"] == digits["stages"][0]["n_nodes"]
    assert sum(o["count"] for o in digits["model"]["operators"]) == digits["model"]["n_nodes"]
    phases = [t["phase"] for t in digits["timings"]]
    assert phases == ["read", "passes", "code", "measure", "listing", "check", "accuracy", "links"]
    assert digits["stages"][-1]["n_nodes"] < digits["stages"][0]["n_nodes"]
    assert digits["reproduce"].startswith("compilarium compile digits_cnn --pipeline ")
    run = digits["run"]
    assert 0 < run["min_s"] <= run["low_s"] <= run["median_s"] <= run["high_s"]


def test_kernels_are_measured_and_have_origins(digits, real):
    onnx_names = {o["name"] for o in part(real, digits, "provenance")["onnx"]}
    assert digits["kernels"]
    for number, kernel in enumerate(digits["kernels"]):
        assert kernel["kernel"] == number
        assert kernel["median_s"] >= kernel["min_s"] > 0
        assert set(kernel["origins"]) <= onnx_names
        assert kernel["text_kernel"] <= number
    heaviest = max(digits["kernels"], key=lambda k: k["flops"])
    assert heaviest["native"]
    assert heaviest["gflops"] == pytest.approx(heaviest["flops"] / heaviest["median_s"] / 1e9)


def test_numbers_and_accuracy_survive_compiling(digits):
    assert digits["check"]["skipped"] == ""
    assert all(o["relative_error"] < 1e-4 for o in digits["check"]["outputs"])
    accuracy = digits["accuracy"]
    assert accuracy["n"] == accuracy["n_agree"] == 355
    assert accuracy["reference"] == accuracy["compiled"] > 0.9


def test_the_memory_plan_has_no_overlap(digits):
    buffers = digits["memory"]["buffers"]
    assert digits["memory"]["peak_bytes"] >= digits["memory"]["lower_bound_bytes"] > 0
    for i, a in enumerate(buffers):
        for b in buffers[:i]:
            together = a["start"] < b["end"] and b["start"] < a["end"]
            overlap = (
                a["offset"] < b["offset"] + b["size"] and b["offset"] < a["offset"] + a["size"]
            )
            assert not (together and overlap and a["size"] and b["size"])


def test_every_stage_has_a_graph_whose_marks_lead_to_the_next(digits, real):
    before: dict | None = None
    for row in digits["stages"]:
        graph = part(real, digits, f"stages/{row['stage']}/graph")
        assert graph["graph_stage"] == row["graph_stage"]
        ids = {n["id"] for n in graph["nodes"]}
        assert len(ids) == len(graph["nodes"])
        assert all(source in ids and target in ids for source, target, *_ in graph["edges"])
        if before is not None:
            old = {n["id"] for n in before["nodes"]}
            constants = {c["name"] for c in graph["constants"]}
            old_constants = {c["name"] for c in before["constants"]}
            assert set(graph["added"]) == (ids - old) | (constants - old_constants)
            assert set(graph["removed"]) == (old - ids) | (old_constants - constants)
            assert set(graph["changed"]) <= (old & ids) | (constants & old_constants)
            assert set(graph["refined"]) <= (old & ids) - set(graph["changed"])
            kinds = ("added", "changed", "refined", "removed")
            assert row["changed"] or not any(graph[kind] for kind in kinds)
        before = graph


def test_the_deltas_of_stages_put_together_are_their_graphs(digits, real):
    graph = None
    n_sent = n_whole = 0
    for row in digits["stages"]:
        path = f"stages/{row['stage']}"
        if row["graph_stage"] != row["stage"]:
            answer = real.get(f"/api/v1/jobs/{digits['job']}/{path}/delta")
            assert answer.status_code == 404
            continue
        delta = part(real, digits, f"{path}/delta")
        graph = applied(graph, delta)
        assert graph == part(real, digits, f"{path}/graph")
        n_sent += sum(len(items) for _, _, items in delta["nodes"])
        n_whole += len(graph["nodes"])
    assert n_sent < 0.8 * n_whole


def test_the_text_and_its_spans_belong_together(digits, real):
    for row in digits["stages"]:
        text = part(real, digits, f"stages/{row['stage']}/text")
        graph = part(real, digits, f"stages/{row['stage']}/graph")
        value_of = {n["id"]: next(filter(None, n["outputs"]), "") for n in graph["nodes"]}
        lines = text["text"].split("\n")
        assert len(lines) == text["n_lines"]
        for first, _, name in text["spans"]:
            assert value_of.get(name, name) in lines[first].replace('"', "")


def test_a_diff_has_the_lines_that_changed(digits, real):
    changed = next(
        s for s in digits["stages"][1:] if s["n_nodes"] != digits["stages"][0]["n_nodes"]
    )
    diff = part(real, digits, f"stages/{changed['stage']}/diff")
    assert diff["n_removed"] > 0
    assert sum(r[0] == "-" for r in diff["rows"]) == diff["n_removed"]
    nothing = part(real, digits, f"stages/{changed['stage']}/diff?against={changed['stage']}")
    assert (nothing["n_added"], nothing["n_removed"]) == (0, 0)
    whole = part(real, digits, f"stages/{changed['stage']}/diff?against=0&context=1000")
    assert all(r[0] != "…" for r in whole["rows"])


def test_steps_name_values_of_the_graphs_around_them(digits, real):
    n_steps = 0
    for row in digits["stages"][1:]:
        steps = part(real, digits, f"stages/{row['stage']}/steps")
        assert steps["n_steps"] == row["n_applied"] + row["n_declined"]
        applied = part(real, digits, f"stages/{row['stage']}/steps?outcome=applied&limit=1")
        assert applied["n_steps"] == row["n_applied"]
        assert len(applied["steps"]) == min(1, row["n_applied"])
        assert all(s["because"] for s in steps["steps"])
        n_steps += steps["n_steps"]
    assert n_steps > 0


def test_the_union_draws_every_node_of_every_stage_once(digits, real):
    union = part(real, digits, "union")
    found = {n["id"]: n["stages"] for n in union["nodes"]}
    for row in digits["stages"]:
        graph = part(real, digits, f"stages/{row['stage']}/graph")
        inside = {i for i, ranges in found.items() if any(a <= row["stage"] < b for a, b in ranges)}
        assert inside == {n["id"] for n in graph["nodes"]}
    assert union["n_drawn"] == union["n_nodes"] == len(found)


def test_every_part_of_every_kernel_can_be_read(digits, real):
    for kernel in digits["kernels"]:
        for name in kernel["parts"]:
            text = part(real, digits, f"kernels/{kernel['kernel']}/{name}")
            assert (text["kernel"], text["part"]) == (kernel["kernel"], name)
            assert text["text"].strip()
            if name in ("llvm", "asm"):
                assert kernel["function"] in text["text"]


@pytest.mark.parametrize("what", ["graph", "loops", "llvm", "asm"])
def test_the_whole_program_can_be_downloaded(digits, real, what):
    answer = real.get(f"/api/v1/jobs/{digits['job']}/download/{what}")
    assert answer.status_code == 200
    assert answer.mimetype == "text/plain"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert len(answer.get_data(as_text=True).splitlines()) > 10


def test_each_line_of_a_schedule_has_its_words_and_the_loops_after_it(digits, real):
    n_moves = 0
    for row in digits["kernels"]:
        if "schedule" not in row["parts"] or row["text_kernel"] != row["kernel"]:
            continue
        found = part(real, digits, f"kernels/{row['kernel']}/schedule")
        lines = found["text"].split("\n") if found["text"] else []
        assert len(found["steps"]) == len(lines)
        for line, step in zip(lines, found["steps"], strict=True):
            name = line.partition(": ")[2].partition("(")[0]
            assert step["words"] == MOVES[name].words
            assert " in 0.." in step["outline"]
        n_moves += len(lines)
    assert n_moves > 5


def test_provenance_leads_from_each_node_to_its_kernels(digits, real):
    rows = {o["name"]: o for o in part(real, digits, "provenance")["onnx"]}
    first = part(real, digits, "stages/0/graph")
    for node in first["nodes"]:
        for origin in node["origins"]:
            assert node["id"] in rows[origin]["nodes"]["0"]
    for kernel in digits["kernels"]:
        for origin in kernel["origins"]:
            assert kernel["kernel"] in rows[origin]["kernels"]
            assert not kernel["native"] or kernel["function"] in rows[origin]["functions"]


def test_lines_of_the_assembly_lead_back_to_the_loops(digits, real):
    kernel = next(k for k in digits["kernels"] if "conv" in k["name"])
    number = kernel["kernel"]
    texts = {
        p: part(real, digits, f"kernels/{number}/{p}")["text"].split("\n")
        for p in ("loops", "llvm", "asm")
    }
    links = part(real, digits, f"kernels/{number}/links")
    assert len(links["llvm"]) == len(texts["llvm"])
    assert len(links["asm"]) == len(texts["asm"])
    products = [i for i, line in enumerate(texts["llvm"]) if "llvm.fma" in line]
    assert products
    assert all("mul(" in texts["loops"][links["llvm"][i]] for i in products)
    in_assembly = [i for i, line in enumerate(texts["asm"]) if "fmadd" in line or "fmla" in line]
    # If two branches end alike, LLVM may merge both ends, and the merged end has no line.
    lead_to = {links["asm"][i] for i in in_assembly} - {-1}
    assert lead_to
    assert lead_to <= set(products)


def test_every_edge_of_the_model_has_an_answer(digits, real):
    edges = part(real, digits, "neighbours")["edges"]
    first = part(real, digits, "stages/0/graph")
    kinds = {n["id"]: n for n in first["nodes"] if n["kind"] == "node"}
    between = {
        (kinds[a]["origins"][0], kinds[b]["origins"][0])
        for a, b, *_ in first["edges"]
        if a in kinds and b in kinds
    }
    assert {(e["maker"], e["reader"]) for e in edges} == between
    assert {"together", "apart"} <= {e["verdict"] for e in edges}
    names = [s["name"] for s in digits["stages"]]
    for edge in edges:
        for chapter in edge["chapters"]:
            assert names[chapter["stage"]] == chapter["pass_name"]
    apart = next(e for e in edges if e["verdict"] == "apart")
    assert any(c["because"] in apart["because"] for c in apart["chapters"])


def test_all_parts_have_the_described_shape(digits, real):
    description = real.get("/api/v1/openapi.json").get_json()
    schemas = description["components"]["schemas"]
    check(digits, schemas["Result"], description)
    check(part(real, digits, "provenance"), schemas["Provenance"], description)
    check(part(real, digits, "kernels/0/llvm"), schemas["KernelText"], description)
    for row in digits["stages"]:
        graph = part(real, digits, f"stages/{row['stage']}/graph")
        check(graph, schemas["StageGraph"], description)
        if row["changed"]:
            delta = part(real, digits, f"stages/{row['stage']}/delta")
            check(delta, schemas["StageDelta"], description)
        steps = part(real, digits, f"stages/{row['stage']}/steps")
        check(steps, schemas["Steps"], description)


def test_final_answers_are_compressed_and_cached_for_ever(digits, real):
    url = f"/api/v1/jobs/{digits['job']}/stages/0/delta"
    packed = real.get(url, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "immutable" in packed.headers["Cache-Control"]
    plain = real.get(url, headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    assert json.loads(gzip.decompress(packed.data)) == plain.get_json()
    tag = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]}
    assert real.get(url, headers=tag).status_code == 304


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("stages/99/graph", 404),
        ("stages/99/steps", 404),
        ("kernels/99/llvm", 404),
        ("kernels/0/secrets", 404),
        ("download/secrets", 404),
        ("stages/-1/graph", 404),
        ("stages/99/delta", 404),
        ("stages/1/diff?against=99", 404),
        ("stages/1/diff?against=x", 400),
        ("stages/1/diff?context=-1", 400),
        ("stages/1/steps?limit=0", 400),
        ("stages/1/steps?outcome=some", 400),
        ("union?limit=1000000", 400),
    ],
)
def test_parts_that_cannot_be_are_refused(digits, real, path, status):
    assert real.get(f"/api/v1/jobs/{digits['job']}/{path}").status_code == status


def test_inspecting_reads_the_model_and_stops(real):
    answer = real.post("/api/v1/jobs", json={"kind": "inspect", "model": {"sample": "digits_mlp"}})
    job = wait(real, answer.get_json()["id"])
    result = real.get(f"/api/v1/jobs/{job['id']}/result").get_json()
    assert (job["state"], job["n_stages"]) == ("succeeded", 1)
    assert result["inputs"]
    assert result["shapes"]
    assert result["kernels"] == []


def test_open_sizes_are_assumed_unless_they_are_given(real):
    nodes = [helper.make_node("Relu", ["x"], ["y"], "r")]
    model = uploaded(real, model_of(nodes, [f32("x", ["N", 3, "H", "W"])], [f32("y", None)]))
    assumed = compiled(real, model)["shapes"]["x"]
    assert assumed["assumed"] is True
    assert all(isinstance(d, int) for d in assumed["dims"])
    given = compiled(real, model, shapes={"x": [2, 3, 5, 7]})
    assert given["shapes"]["x"] == {"dims": [2, 3, 5, 7], "assumed": False}
    assert given["run"]["median_s"] > 0
    assert [s["name"] for s in given["stages"]][:2] == ["imported", "specialise"]
    assert [s["pass_number"] for s in given["stages"]][:3] == [None, None, 1]
    assert "so it has no number" in given["stages"][1]["words"]
    assert "--shape x=2,3,5,7" in given["reproduce"]


def test_other_sizes_are_assumed_where_the_usual_ones_do_not_fit(real):
    """The model reads lines of text from images, whose height must be 48."""
    strip = numpy_helper.from_array(np.array([1, 3, 48, -1]), "strip")
    nodes = [helper.make_node("Reshape", ["x", "strip"], ["y"], "r")]
    inputs = [f32("x", ["N", 3, "H", "W"])]
    model = uploaded(real, model_of(nodes, inputs, [f32("y", None)], [strip]))
    assert compiled(real, model)["shapes"]["x"] == {"dims": [1, 3, 48, 192], "assumed": True}


def test_sizes_that_cannot_be_guessed_are_asked_for(real):
    odd = numpy_helper.from_array(np.array([1, 3, 17, 19]), "odd")
    nodes = [helper.make_node("Reshape", ["x", "odd"], ["y"], "r")]
    inputs = [f32("x", ["N", 3, "H", "W"])]
    model = uploaded(real, model_of(nodes, inputs, [f32("y", None)], [odd]))
    error = compiled(real, model, "failed")["error"]
    assert "x=1,3,224,224" in error["notes"][-1]
    assert "give the shapes" in error["hint"]
    given = compiled(real, model, shapes={"x": [1, 3, 17, 19]})
    assert given["complete"]


def test_a_wrong_shape_is_the_users_error_and_the_graph_is_shown(real):
    result = compiled(real, {"sample": "digits_mlp"}, "failed", shapes={"image": [1, 2, 3]})
    assert result["error"]["code"] == "E-INPUT-SHAPE"
    assert len(result["stages"]) == 1


def test_another_target_gives_texts_and_no_times(real):
    options = {"target": "aarch64"}
    result = compiled(real, {"sample": "digits_mlp"}, options=options)
    assert (result["run"], result["check"], result["accuracy"]) == (None, None, None)
    assert all(k["median_s"] is None for k in result["kernels"])
    assert "fmla" in part(real, result, "kernels/0/asm")["text"] or result["kernels"]
    assert "--target aarch64" in result["reproduce"]


def test_a_pipeline_without_passes_has_the_imported_stage_only(real):
    result = compiled(real, {"sample": "digits_mlp"}, pipeline="none", options={"check": False})
    assert {s["name"] for s in result["stages"]} <= {"imported", "specialise"}
    assert result["check"] is None
    assert result["kernels"]


def test_hostile_names_stay_text_everywhere(real):
    weights = numpy_helper.from_array(np.ones((3, 4), np.float32), f"w{HOSTILE}")
    nodes = [
        helper.make_node("MatMul", [f"x{HOSTILE}", f"w{HOSTILE}"], [f"h{HOSTILE}"], f"m{HOSTILE}"),
        helper.make_node("Relu", [f"h{HOSTILE}"], [f"→{HOSTILE}"], f"r{HOSTILE}"),
    ]
    inputs, outputs = [f32(f"x{HOSTILE}", [2, 3])], [f32(f"→{HOSTILE}", [2, 4])]
    model = model_of(nodes, inputs, outputs, [weights], f"g{HOSTILE}")
    result = compiled(real, uploaded(real, model))
    assert result["inputs"][0]["name"] == f"x{HOSTILE}"
    assert result["result_prefix"] == "→→"
    for row in result["stages"]:
        answer = real.get(f"/api/v1/jobs/{result['job']}/stages/{row['stage']}/graph")
        assert answer.mimetype == "application/json"
        names = {n["id"] for n in answer.get_json()["nodes"]}
        assert f"x{HOSTILE}" in names
        text = part(real, result, f"stages/{row['stage']}/text")
        assert len(text["text"].split("\n")) == text["n_lines"]
    assert "script" not in part(real, result, "union")["dot"]
    assert {f"m{HOSTILE}", f"r{HOSTILE}"} <= {
        o["name"] for o in part(real, result, "provenance")["onnx"]
    }


def test_a_fallback_is_shown_with_its_reason(real):
    nodes = [
        helper.make_node("Cast", ["x"], ["s"], "n", to=TensorProto.STRING),
        helper.make_node("Cast", ["s"], ["y"], "m", to=TensorProto.FLOAT),
    ]
    model = model_of(nodes, [f32("x", [2, 3])], [f32("y", [2, 3])])
    result = compiled(real, uploaded(real, model))
    kernel, _ = result["kernels"]
    assert kernel["native"] is False
    assert kernel["words"]
    assert (kernel["function"], kernel["parts"]) == ("", [])
    assert result["check"]["outputs"][0]["relative_error"] == 0.0


def test_random_inputs_that_a_model_refuses_leave_the_rest_standing(real):
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], "r")]
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [1])
    model = model_of(nodes, [f32("x", [2, 3]), shape], [f32("y", None)])
    result = compiled(real, uploaded(real, model))
    assert "refused" in result["run"]["skipped"]
    assert "refused" in result["check"]["skipped"]
    assert result["stages"]


def test_numbers_that_are_not_finite_are_null(real):
    nodes = [
        helper.make_node("Log", ["x"], ["l"], "l"),
        helper.make_node("Sqrt", ["l"], ["y"], "s"),
    ]
    result = compiled(real, uploaded(real, model_of(nodes, [f32("x", [64])], [f32("y", [64])])))
    assert result["check"]["outputs"][0]["max_abs_error"] is not None
    raw = real.get(f"/api/v1/jobs/{result['job']}/result").get_data(as_text=True)
    assert not re.search(r"\b(NaN|Infinity)\b", raw)


def test_a_trace_of_many_nodes_and_passes_is_small(real):
    """For 300 nodes and 20 passes, all data of the stages take less than a megabyte."""
    rng = np.random.default_rng(0)
    nodes, constants, last = [], [], "x"
    for i in range(100):
        constants.append(numpy_helper.from_array(rng.normal(size=(8, 8)).astype("f"), f"w{i}"))
        constants.append(numpy_helper.from_array(rng.normal(size=(8,)).astype("f"), f"b{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], f"matmul_{i}"))
        nodes.append(helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], f"add_{i}"))
        nodes.append(helper.make_node("Relu", [f"a{i}"], [f"r{i}"], f"relu_{i}"))
        last = f"r{i}"
    model = uploaded(real, model_of(nodes, [f32("x", [4, 8])], [f32(last, [4, 8])], constants))
    passes = "default,debug"
    result = compiled(real, model, pipeline=passes, options={"measure": False, "check": False})
    assert len(result["stages"]) > 20
    paths = ["result", "union", "provenance"]
    for row in result["stages"]:
        if row["changed"]:
            paths += [f"stages/{row['stage']}/graph", f"stages/{row['stage']}/text"]
        paths.append(f"stages/{row['stage']}/steps")
    n_bytes = 0
    for path in paths:
        url = f"/api/v1/jobs/{result['job']}/{path}"
        n_bytes += len(real.get(url, headers={"Accept-Encoding": "gzip"}).data)
    assert n_bytes < 1_000_000
