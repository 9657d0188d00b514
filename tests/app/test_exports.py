"""Tests of export jobs: a stage becomes an ONNX file, which onnx can read."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from flask.testing import FlaskClient
from onnx.reference import ReferenceEvaluator

import compiler
from app.jobs.export import FILE, with_way_out
from app.jobs.models import compilation_of
from app.jobs.parts import Parts
from app.jobs.stages import stages_up_to
from app.samples import find_sample
from compiler.errors import CompileError
from tests.app.conftest import compiled_job, jobs_of, started
from tests.app.direct import LIMITS, replace_part, run_directly, task_of
from tests.app.schema import check_shape

NOT_IN_ONNX = """graph g(x: f32[2,3]) {
  h: f32[2,3] = relu(x)
  y: f8e8m0[2,3] = cast(h, to=f8e8m0)
  return y
}
"""


def export(client: FlaskClient, job: str, stage: int, **options: Any) -> dict[str, Any]:
    return started(client, f"/jobs/{job}/stages/{stage}/onnx", **options)


def own_stages(client: FlaskClient, job: str) -> list[dict[str, Any]]:
    rows = client.get(f"/api/v1/jobs/{job}/result").get_json()["stages"]
    return [row for row in rows if row["graph_stage"] == row["stage"]]


def numbers(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    return list(ReferenceEvaluator(model).run(None, feeds))


def written(
    client: FlaskClient, job: str, stage: int, folder: Path, fused: bool = False
) -> onnx.ModelProto:
    """Return the exported model of a stage, by calling the job's function directly."""
    folder.mkdir(exist_ok=True)
    run_directly(task_of(client, kind="export", job=job, stage=stage, fused=fused), folder)
    assert Parts(folder).read("exported")["objection"] == ""
    model = onnx.load(folder / FILE)
    onnx.checker.check_model(model, full_check=True)
    return model


@pytest.mark.parametrize("fused", [False, True])
def test_every_stage_is_a_model_with_the_numbers_of_the_first(real, compiled, tmp_path, fused):
    rows = own_stages(real, compiled)
    assert len(rows) > 3
    feeds = {"image": np.random.default_rng(7).random((1, 1, 8, 8), dtype=np.float32)}
    expected = numbers(onnx.load(find_sample("digits_cnn").path), feeds)
    model = onnx.ModelProto()
    for row in rows:
        model = written(real, compiled, row["stage"], tmp_path / str(row["stage"]), fused)
        for got, wanted in zip(numbers(model, feeds), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    assert (len(model.functions) > 0) == fused


def test_the_file_is_had_over_the_wire(real, compiled):
    row = own_stages(real, compiled)[-1]
    done = export(real, compiled, row["stage"], fused=True)
    assert (done["kind"], done["state"]) == ("export", "succeeded"), done["error"]
    facts = real.get(f"/api/v1/jobs/{done['id']}/onnx").get_json()
    check_shape(facts, "ExportedModel", "facts")
    answer = real.get(f"/api/v1/jobs/{done['id']}/onnx/file")
    assert (
        f"digits_cnn-{row['pass_number']}-{row['name']}.onnx"
        in answer.headers["Content-Disposition"]
    )
    model = onnx.load_model_from_string(answer.data)
    answer.close()
    assert (facts["bytes"], facts["n_nodes"]) == (model.ByteSize(), len(model.graph.node))
    assert facts["n_functions"] == len(model.functions) > 0
    assert export(real, compiled, row["stage"], fused=True)["id"] == done["id"]


def test_a_stage_that_changed_nothing_is_that_of_the_stage_before(real, compiled):
    rows = real.get(f"/api/v1/jobs/{compiled}/result").get_json()["stages"]
    idle = next(row for row in rows if not row["changed"])
    sent = real.post(f"/api/v1/jobs/{compiled}/stages/{idle['stage']}/onnx", json={}).get_json()
    assert sent["request"]["stage"] == idle["graph_stage"]
    real.delete(f"/api/v1/jobs/{sent['id']}")


def test_a_result_of_other_passes_is_not_written(real, compiled, tmp_path):
    text = "stage-0-text"
    folder = tmp_path / "compiled"
    shutil.copytree(jobs_of(real).find(compiled).folder, folder)
    kept = Parts(folder)
    replace_part(folder, text, {**kept.read(text), "text": "graph of another compiler"})
    task = task_of(real, kind="export", job=compiled, stage=0, fused=False)
    with pytest.raises(CompileError) as caught:
        stages_up_to(compilation_of(task), kept, 0)
    assert caught.value.code == "E-RESULT-ABSENT"


def test_what_onnx_cannot_say_is_told_with_the_node(real):
    sent = real.post("/api/v1/uploads?name=model.ir", data=NOT_IN_ONNX.encode())
    upload = sent.get_json()["id"]
    job = compiled_job(real, model={"upload": upload})
    done = export(real, job, 0)
    assert done["state"] == "failed"
    assert done["error"]["code"] == "E-EXPORT-OPERATOR"
    assert done["error"]["where"]["node"] == "y"
    answer = real.get(f"/api/v1/jobs/{done['id']}/onnx/file")
    assert answer.status_code == 409


def test_the_nearest_stage_that_can_be_written_is_named():
    good = compiler.parse("graph g(x: f32[2]) {\n  y: f32[2] = relu(x)\n  return y\n}")
    bad = compiler.parse(NOT_IN_ONNX)
    with pytest.raises(CompileError) as caught:
        compiler.to_onnx(bad)
    rows = [
        {"stage": 0, "name": "imported", "graph_stage": 0},
        {"stage": 1, "name": "simplify", "graph_stage": 0},
        {"stage": 2, "name": "narrow", "graph_stage": 2},
    ]
    told = with_way_out(caught.value, [good, good, bad], rows, False)
    assert told.hint == "stage 0 (imported) can be exported: select and save that stage"
    assert told.where.node == "y"
    told = with_way_out(caught.value, [bad], rows, False)
    assert told.hint == "the imported model has this problem too: no earlier stage can be exported"


def test_a_model_beyond_the_limit_is_refused_with_the_numbers(real, compiled, tmp_path):
    for limit, size in (
        (20_000, "25,132 bytes of weights alone"),
        (25_200, r"2[5-9],\d{3} bytes,"),
    ):
        limits = replace(LIMITS, output_bytes=limit)
        task = task_of(real, limits, kind="export", job=compiled, stage=0, fused=False)
        with pytest.raises(CompileError, match=f"{size}.*limit of a job is {limit:,}") as caught:
            run_directly(task, tmp_path)
        assert caught.value.code == "E-LIMIT-OUTPUT"


@pytest.mark.parametrize("body", [{"fused": 1}, {"fused": None}, {"x": 1}, []])
def test_a_wrong_request_is_told_what_was_needed(real: FlaskClient, compiled: str, body: Any):
    answer = real.post(f"/api/v1/jobs/{compiled}/stages/0/onnx", json=body)
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "E-REQUEST-BODY"


def test_what_is_not_there_is_told(real, compiled):
    posted = real.post(f"/api/v1/jobs/{compiled}/stages/99/onnx", json={})
    assert posted.status_code == 404
    assert "there is no stage 99" in posted.get_json()["error"]["message"]
    assert real.get(f"/api/v1/jobs/{compiled}/onnx").status_code == 409
