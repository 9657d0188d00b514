"""Numerics: how far each pass, each value and the program of a compiled model are off."""

from __future__ import annotations

from flask import Response

from app.api.answers import body
from app.api.queued import queued_after
from app.api.results import Kept
from app.api.table import Table
from app.wire import numerics as wire
from app.wire import shapes
from app.wire.requests import CheckRequest

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/numerics"


@ROUTES.route(
    "POST", _OF_JOB, shapes.Job, status=202, body=shapes.CheckOptions, fails=(400, 404, 409, 503)
)
def new_check(job_id: str) -> Response:
    """Check a compiled model: a job of its own, or the one that has done it."""
    compiled = Kept(job_id)
    seed = compiled.job.request.get("options", {}).get("seed", 0)
    request = CheckRequest.from_json(compiled.job.id, seed, body()).to_json()
    if not compiled.parts.has("tasks"):  # written when all passes have run and code was made
        raise compiled.absent("program to check")
    return queued_after(compiled, request)


@ROUTES.route("GET", _OF_JOB, shapes.Numerics, fails=(404, 409))
def numerics(job_id: str) -> Response:
    """What a checking job has found so far: stages, the program, rewrites."""
    return Kept(job_id).packed("numerics")


@ROUTES.route("GET", f"{_OF_JOB}/<int:stage>", shapes.CheckedValues, fails=(404, 409))
def stage_values(job_id: str, stage: int) -> Response:
    """The errors of the values of a stage, by name."""
    kept = Kept(job_id)
    if not kept.parts.has(wire.part_of(stage)):
        raise kept.absent(f"values of stage {stage}")
    return kept.packed(wire.part_of(stage))
