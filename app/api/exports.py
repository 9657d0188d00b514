"""Export of the graph at any stage of a compilation as an ONNX file."""

from __future__ import annotations

import re

from flask import Response

from app.api.answers import binary_answer, body
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.export import FILE, ExportRequest
from app.wire.shapes.exports import ExportedModel
from app.wire.shapes.jobs import Stage

ROUTES = Table()
_JOB = "/jobs/<job_id>"


@ROUTES.starts(f"{_JOB}/stages/<int:stage>/onnx", ExportRequest)
def new_export(job_id: str, stage: int) -> Response:
    """Start a job that writes a stage's graph as an ONNX file, or return an equal earlier job."""
    compiled = Kept(job_id)
    own = compiled.graph_stage(stage)
    wanted = ExportRequest.from_json(compiled.job.id, body(), {"stage": own})
    file = _file_name(compiled.job.model_name, compiled.stages()[own])
    return queued_after(compiled, wanted, file=file)


def _file_name(model: str, stage: Stage) -> str:
    """Return a portable file name for an exported stage, with the number of its pass if any."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", model.removesuffix(".onnx")).strip("-.")
    number = stage["pass_number"]
    title = stage["name"] if number is None else f"{number}-{stage['name']}"
    return f"{plain[:80] or 'model'}-{title}.onnx"


@ROUTES.route("GET", f"{_JOB}/onnx", ExportedModel, fails=(404, 409))
def exported_model(job_id: str) -> Response:
    """Return the facts about the ONNX file of an export job."""
    return Kept(job_id).packed("exported")


@ROUTES.route("GET", f"{_JOB}/onnx/file", "application/octet-stream", fails=(404, 409))
def exported_file(job_id: str) -> Response:
    """Return the ONNX file of a stage."""
    kept = Kept(job_id)
    name = kept.payload("exported", ExportedModel)["file"]
    return binary_answer(kept.file(FILE), name)
