"""Bisection: which rewrites of a compilation move its numbers, and a small model that shows it."""

from __future__ import annotations

from flask import Response, send_file

from app.api.answers import body
from app.api.queued import queued_after
from app.api.results import Kept
from app.api.table import Table
from app.jobs.bisect import FILE
from app.wire import shapes
from app.wire.requests import BisectRequest

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/bisect"


@ROUTES.route(
    "POST", _OF_JOB, shapes.Job, status=202, body=shapes.BisectOptions, fails=(400, 404, 409, 503)
)
def new_bisection(job_id: str) -> Response:
    """Find the rewrites that move the numbers: a job of its own, or the one that has done it."""
    compiled = Kept(job_id)
    seed = compiled.job.request.get("options", {}).get("seed", 0)
    request = BisectRequest.from_json(compiled.job.id, seed, body()).to_json()
    if not compiled.parts.has("result"):
        raise compiled.absent("pipeline to look into")
    return queued_after(compiled, request)


@ROUTES.route("GET", _OF_JOB, shapes.Bisection, fails=(404, 409))
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
    name = "reduced.onnx"
    mimetype = "application/octet-stream"
    return send_file(path.resolve(), mimetype=mimetype, as_attachment=True, download_name=name)
