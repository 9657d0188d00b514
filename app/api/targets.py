"""Targets: the code of a kernel of a compiled model for other machines."""

from __future__ import annotations

from flask import Response

from app.api.answers import body
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.targets import TargetsRequest
from app.wire import targets as wire
from app.wire.shapes.targets import TargetCode, Targets
from compiler.errors import CompileError
from compiler.targets.target import names

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/targets"


@ROUTES.starts(_OF_JOB, TargetsRequest)
def new_targets(job_id: str) -> Response:
    """Start a job that compiles a kernel for all targets, or return an equal earlier job."""
    compiled = Kept(job_id)
    wanted = TargetsRequest.from_json(compiled.job.id, body())
    first = compiled.computed_kernel(wanted.kernel)
    return queued_after(compiled, wanted, text_kernel=first)


@ROUTES.route("GET", _OF_JOB, Targets, fails=(404, 409))
def all_targets(job_id: str) -> Response:
    """Return the instruction counts of a kernel for all targets compiled so far."""
    return Kept(job_id).packed("targets")


@ROUTES.route("GET", f"{_OF_JOB}/<target>", TargetCode, fails=(404, 409))
def target_code(job_id: str, target: str) -> Response:
    """Return the code of the kernel for one target, at each level."""
    kept = Kept(job_id)
    if target not in names():
        raise CompileError("E-REQUEST-UNKNOWN", f"there is no target {target!r:.60}")
    return kept.packed(wire.part_of(target), f"code for {target}")
