"""Numerics: the numerical errors of a compiled model's passes, values and program."""

from __future__ import annotations

from flask import Response

from app.api.answers import body
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.check import CheckRequest
from app.wire import numerics as wire
from app.wire.shapes.numerics import CheckedValues, Numerics

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/numerics"


@ROUTES.starts(_OF_JOB, CheckRequest)
def new_check(job_id: str) -> Response:
    """Start a job that checks a compiled model, or return an equal earlier job."""
    compiled = Kept(job_id)
    seed = compiled.options.get("seed", 0)
    wanted = CheckRequest.from_json(compiled.job.id, body(), {"seed": seed})
    compiled.require("tasks", "program to check")  # written after all passes, with the code
    return queued_after(compiled, wanted)


@ROUTES.route("GET", _OF_JOB, Numerics, fails=(404, 409))
def numerics(job_id: str) -> Response:
    """Return a check's findings so far about stages, the program and rewrites."""
    return Kept(job_id).packed("numerics")


@ROUTES.route("GET", f"{_OF_JOB}/<int:stage>", CheckedValues, fails=(404, 409))
def stage_values(job_id: str, stage: int) -> Response:
    """Return the errors of a stage's values, by name."""
    return Kept(job_id).packed(wire.part_of(stage), f"values of stage {stage}")
