"""Runs of compiled models on given inputs, and their outputs."""

from __future__ import annotations

import re

from flask import Response

from app.api.answers import binary_answer, body, uploads
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.run import RunRequest, output_name
from app.wire.shapes.runs import RunResult
from compiler.errors import CompileError

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/run"


@ROUTES.starts(_OF_JOB, RunRequest)
def new_run(job_id: str) -> Response:
    """Start a job that runs a compiled model on given inputs, or return an equal earlier job."""
    compiled = Kept(job_id)
    wanted = RunRequest.from_json(compiled.job.id, body())
    compiled.require("provenance", "program to run")
    store = uploads()
    names = {name: store.use(each).name for name, each in wanted.inputs.items()}
    return queued_after(compiled, wanted, names=names)


@ROUTES.route("GET", _OF_JOB, RunResult, fails=(404, 409))
def finished_run(job_id: str) -> Response:
    """Return the summary of the outputs of a run, and its times."""
    return Kept(job_id).packed("run")


@ROUTES.route(
    "GET", f"{_OF_JOB}/outputs/<int:output>", "application/octet-stream", fails=(404, 409)
)
def run_output(job_id: str, output: int) -> Response:
    """Return an output of a run as a .npy file."""
    kept = Kept(job_id)
    rows = kept.payload("run", RunResult)["outputs"]
    if output >= len(rows) or not rows[output]["is_stored"]:
        raise CompileError("E-REQUEST-UNKNOWN", f"the run has stored no output {output}")
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", rows[output]["name"]).strip("-.")
    return binary_answer(kept.file(output_name(output)), f"{plain[:80] or 'output'}.npy")
