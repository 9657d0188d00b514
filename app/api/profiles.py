"""Profiles: whole runs and kernels as they were measured, measured again, and as a trace."""

from __future__ import annotations

import json

from flask import Response

from app.api.answers import body
from app.api.queued import queued_after
from app.api.results import Kept
from app.api.table import Table
from app.wire import profiles as wire
from app.wire import shapes
from app.wire.requests import ProfileRequest

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/profile"


@ROUTES.route("GET", _OF_JOB, shapes.Profile, fails=(404, 409))
def profile(job_id: str) -> Response:
    """What a compilation, or a job that timed it again, has measured."""
    return Kept(job_id).packed("profile")


@ROUTES.route(
    "POST", _OF_JOB, shapes.Job, status=202, body=shapes.ProfileOptions, fails=(400, 404, 409, 503)
)
def new_profile(job_id: str) -> Response:
    """Time a compiled model again: a job of its own."""
    compiled = _compilation(Kept(job_id))
    wanted = ProfileRequest.from_json(compiled.job.id, body())
    if not compiled.parts.has("profile"):
        raise compiled.absent("run to time again")
    return queued_after(compiled, wanted.to_json(), again=True)


@ROUTES.route("GET", f"{_OF_JOB}/trace", "application/json", fails=(404, 409))
def profile_trace(job_id: str) -> Response:
    """The compilation and one run as Chrome trace events, as a file."""
    kept = Kept(job_id)
    measured = kept.read("profile")
    text = json.dumps(wire.trace(_compilation(kept).read("result"), measured))
    response = Response(text, mimetype="application/json")
    name = f"{kept.job.id}.trace.json"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


def _compilation(kept: Kept) -> Kept:
    """The job that made what a job times. Errors: E-REQUEST-UNKNOWN when it is forgotten."""
    request = kept.job.request
    return Kept(request["job"]) if request["kind"] == "profile" else kept
