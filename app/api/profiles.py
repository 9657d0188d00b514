"""Profiles: measured times of whole runs and kernels, repeated measurements, and traces."""

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
    """Return the measurements of a compilation, or of a job that repeated the measurements."""
    return Kept(job_id).packed("profile")


@ROUTES.starts(_OF_JOB, ProfileRequest)
def new_profile(job_id: str) -> Response:
    """Start a job that times a compiled model again."""
    compiled = _compilation(Kept(job_id))
    wanted = ProfileRequest.from_json(compiled.job.id, body())
    compiled.require("profile", "run to time again")
    return queued_after(compiled, wanted, again=True)


@ROUTES.route("GET", f"{_OF_JOB}/trace", "application/json", fails=(404, 409))
def profile_trace(job_id: str) -> Response:
    """Return the compilation and one run as a file of Chrome trace events."""
    kept = Kept(job_id)
    measured = kept.payload("profile", Profile)
    text = json.dumps(wire.trace(_compilation(kept).result(), measured))
    return file_answer(text, "application/json", f"{kept.job.id}.trace.json")


def _compilation(kept: Kept) -> Kept:
    """Return the compilation whose program this job measures. Errors: E-REQUEST-UNKNOWN if the
    compilation was evicted."""
    request = kept.job.request
    return Kept(request["job"]) if request["kind"] in ("profile", "run") else kept
