"""Comparisons of two compilations of one model, timed together."""

from __future__ import annotations

from flask import Response

from app.api.answers import body
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.comparison import ComparisonRequest
from app.wire.shapes.comparisons import Comparison
from compiler.errors import CompileError

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/comparison"
_SAME = ("model", "shapes")
_SAME_OPTIONS = ("target", "threads", "seed")


@ROUTES.starts(_OF_JOB, ComparisonRequest)
def new_comparison(job_id: str) -> Response:
    """Start a job that times two compilations of one model together, or return an equal earlier
    job."""
    a = Kept(job_id)
    wanted = ComparisonRequest.from_json(a.job.id, body())
    b = Kept(wanted.other)
    for each in (a, b):
        each.require("profile", "run to compare")
    _check_comparable(a, b)
    return queued_after(a, wanted, again=wanted.again)


@ROUTES.route("GET", _OF_JOB, Comparison, fails=(404, 409))
def comparison(job_id: str) -> Response:
    """Return the verdict on two compilations, with the times of both."""
    return Kept(job_id).packed("comparison")


def _check_comparable(a: Kept, b: Kept) -> None:
    """Check that both compilations have the same model and run options. Errors: E-REQUEST-BODY."""
    for name in _SAME:
        if a.job.request.get(name) != b.job.request.get(name):
            raise _different(name)
    for name in _SAME_OPTIONS:
        if a.options.get(name) != b.options.get(name):
            raise _different(name)


def _different(name: str) -> CompileError:
    return CompileError(
        "E-REQUEST-BODY",
        f"the compilations differ in their {name}, so their times are not comparable",
    )
