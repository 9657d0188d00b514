"""Tuning: a search for faster schedules of a compiled model, whose finds are its own."""

from __future__ import annotations

import json

from flask import Response

from app.api.answers import body, queue, settings
from app.api.queued import accepted
from app.api.results import Kept
from app.api.table import Table
from app.jobs.tune import SCHEDULES, STOP, schedules_name
from app.wire import shapes
from app.wire.requests import TuneRequest
from compiler.errors import CompileError

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/tuning"
_LEFT_FOR_THE_REST_S = 15.0
"""Of a job's time, what reading, compiling and the last measurements may take."""


@ROUTES.route(
    "POST", _OF_JOB, shapes.Job, status=202, body=shapes.TuneOptions, fails=(400, 404, 409, 503)
)
def new_tuning(job_id: str) -> Response:
    """Look for faster schedules: a job of its own."""
    compiled = Kept(job_id)
    most = max(settings().job_limit_s - _LEFT_FOR_THE_REST_S, 1.0)
    wanted = TuneRequest.from_json(compiled.job.id, body(), most)
    if compiled.job.state != "succeeded" or compiled.job.request["kind"] != "compile":
        raise compiled.absent("kernels to tune")
    rows = compiled.read("result")["kernels"]
    if wanted.kernel is not None and wanted.kernel >= len(rows):
        raise CompileError("E-REQUEST-UNKNOWN", f"there is no kernel {wanted.kernel}")
    made = json.loads((compiled.job.folder / "request.json").read_text(encoding="utf-8"))
    private = {"compiled": made, "kernels": [row["name"] for row in rows]}
    return accepted(queue().submit(wanted.to_json(), compiled.job.model_name, private))


@ROUTES.route("GET", _OF_JOB, shapes.Tuning, fails=(404, 409))
def tuning(job_id: str) -> Response:
    """All candidates that a tuning job has tried so far, and what came of them."""
    return Kept(job_id).packed("tuning")


@ROUTES.route("GET", f"{_OF_JOB}/schedules", "application/vnd.sqlite3", fails=(404, 409))
def tuned_schedules(job_id: str) -> Response:
    """What a finished search found, for `--database`; of use on the machine that measured it."""
    kept = Kept(job_id)
    file = kept.job.folder / SCHEDULES
    if kept.job.state != "succeeded" or not file.is_file():
        raise kept.absent("schedules")
    response = Response(file.read_bytes(), mimetype="application/vnd.sqlite3")
    name = schedules_name(kept.job.id)
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


@ROUTES.route("POST", f"{_OF_JOB}/stop", shapes.Job, status=202, fails=(404, 409))
def stop_tuning(job_id: str) -> Response:
    """End a search after its next candidates: what was found is checked and kept."""
    kept = Kept(job_id)
    if kept.job.request["kind"] != "tune":
        raise kept.absent("search to stop")
    (kept.job.folder / STOP).touch()
    return accepted(kept.job)
