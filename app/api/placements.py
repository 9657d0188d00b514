"""Placements: simulated runs of a compiled model's kernels on platforms with several devices."""

from __future__ import annotations

from functools import cache

from flask import Response

from app.api.answers import answer, body
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.place import PlaceRequest
from app.wire import placements as wire
from app.wire.shapes.placements import Placement, Placements, Platforms
from compiler.errors import CompileError
from compiler.place.place import SCHEDULERS

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/placements"


@ROUTES.route("GET", "/platforms", Platforms)
def platforms() -> Response:
    """Return the platforms that ship with the program, and the schedulers."""
    return answer(_platforms())


@cache
def _platforms() -> Platforms:
    return wire.platforms()


@ROUTES.starts(_OF_JOB, PlaceRequest)
def new_placement(job_id: str) -> Response:
    """Start a job that places the kernels of a compiled model, or return an equal earlier job."""
    compiled = Kept(job_id)
    wanted = PlaceRequest.from_json(compiled.job.id, body())
    compiled.require("tasks", "kernels to place")
    return queued_after(compiled, wanted)


@ROUTES.route("GET", _OF_JOB, Placements, fails=(404, 409))
def all_placements(job_id: str) -> Response:
    """Return the results of all schedulers of a placement job so far."""
    return Kept(job_id).packed("placements")


@ROUTES.route("GET", f"{_OF_JOB}/<scheduler>", Placement, fails=(404, 409))
def placement(job_id: str, scheduler: str) -> Response:
    """Return the complete schedule that one scheduler found."""
    kept = Kept(job_id)
    if scheduler not in SCHEDULERS:
        raise CompileError("E-REQUEST-UNKNOWN", f"there is no scheduler {scheduler!r:.60}")
    return kept.packed(wire.part_of(scheduler), f"placement by {scheduler}")
