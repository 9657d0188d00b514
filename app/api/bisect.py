"""Bisection: the rewrites that change a model's numerical results, and a reduced model."""

from __future__ import annotations

from flask import Response

from app.api.answers import binary_answer, body
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.bisect import FILE, BisectRequest
from app.wire.shapes.bisect import Bisection

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/bisect"


@ROUTES.starts(_OF_JOB, BisectRequest)
def new_bisection(job_id: str) -> Response:
    """Start a search for the rewrites that change numerical results, or return an equal earlier
    job."""
    compiled = Kept(job_id)
    seed = compiled.options.get("seed", 0)
    wanted = BisectRequest.from_json(compiled.job.id, body(), {"seed": seed})
    compiled.require("result", "pipeline to bisect")
    return queued_after(compiled, wanted)


@ROUTES.route("GET", _OF_JOB, Bisection, fails=(404, 409))
def bisection(job_id: str) -> Response:
    """Return the findings of a bisection job so far."""
    return Kept(job_id).packed("bisect")


@ROUTES.route("GET", f"{_OF_JOB}/file", "application/octet-stream", fails=(404, 409))
def reduced_model(job_id: str) -> Response:
    """Return the reduced model as an ONNX file."""
    kept = Kept(job_id)
    if not kept.final:
        raise kept.absent("reduced model in ONNX")
    return binary_answer(kept.file(FILE), "reduced.onnx")
