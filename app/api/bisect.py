"""Bisection: which rewrites of a compilation move its numbers, and a small model that shows it."""

from __future__ import annotations

from flask import Response

from app.api.answers import body, onnx_answer
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.bisect import FILE, BisectRequest
from app.wire.shapes.bisect import Bisection

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/bisect"


@ROUTES.starts(_OF_JOB, BisectRequest)
def new_bisection(job_id: str) -> Response:
    """Find the rewrites that move the numbers: a job of its own, or the one that has done it."""
    compiled = Kept(job_id)
    seed = compiled.options.get("seed", 0)
    wanted = BisectRequest.from_json(compiled.job.id, body(), {"seed": seed})
    compiled.require("result", "pipeline to look into")
    return queued_after(compiled, wanted)


@ROUTES.route("GET", _OF_JOB, Bisection, fails=(404, 409))
def bisection(job_id: str) -> Response:
    """What a bisecting job has found so far."""
    return Kept(job_id).packed("bisect")


@ROUTES.route("GET", f"{_OF_JOB}/file", "application/octet-stream", fails=(404, 409))
def reduced_model(job_id: str) -> Response:
    """The reduced model as an ONNX file."""
    kept = Kept(job_id)
    path = kept.job.folder / FILE
    if not path.is_file():
        raise kept.absent("reduced model in ONNX")
    return onnx_answer(path, "reduced.onnx")
