"""Profiles: whole runs and kernels as they were measured, measured again, and as a trace."""

from __future__ import annotations

import json

from flask import Response

from app.api.answers import body, file_answer
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.profile import ProfileRequest
from app.wire import profiles as wire
from app.wire.shapes.profiles import Profile

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/profile"


@ROUTES.route("GET", _OF_JOB, Profile, fails=(404, 409))
def profile(job_id: str) -> Response:
    """What a compilation, or a job that timed it again, has measured."""
    return Kept(job_id).packed("profile")


@ROUTES.starts(_OF_JOB, ProfileRequest)
def new_profile(job_id: str) -> Response:
    """Time a compiled model again: a job of its own."""
    compiled = _compilation(Kept(job_id))
    wanted = ProfileRequest.from_json(compiled.job.id, body())
    compiled.require("profile", "run to time again")
    return queued_after(compiled, wanted, again=True)


@ROUTES.route("GET", f"{_OF_JOB}/trace", "application/json", fails=(404, 409))
def profile_trace(job_id: str) -> Response:
    """The compilation and one run as Chrome trace events, as a file."""
    kept = Kept(job_id)
    measured = kept.payload("profile", Profile)
    text = json.dumps(wire.trace(_compilation(kept).result(), measured))
    return file_answer(text, "application/json", f"{kept.job.id}.trace.json")


def _compilation(kept: Kept) -> Kept:
    """The job that made what a job times. Errors: E-REQUEST-UNKNOWN when it is forgotten."""
    request = kept.job.request
    return Kept(request["job"]) if request["kind"] == "profile" else kept
