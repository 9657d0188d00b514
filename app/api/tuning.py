"""Tuning: a search for faster schedules of a compiled model; the results stay in the job."""

from __future__ import annotations

from flask import Response

from app.api.answers import body, file_answer, queue, settings
from app.api.kept import Kept
from app.api.queued import accepted, queued_after
from app.api.table import Table
from app.jobs.tune import BUDGET_S, SCHEDULES, TuneRequest, schedules_name
from app.wire.fields import number
from app.wire.shapes.jobs import Job
from app.wire.shapes.tuning import Tuning

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/tuning"
_LEFT_FOR_THE_REST_S = 15.0
"""The part of a job's time limit reserved for reading, compiling and the last measurements."""


@ROUTES.starts(_OF_JOB, TuneRequest)
def new_tuning(job_id: str) -> Response:
    """Start a job that searches for faster schedules."""
    compiled = Kept(job_id)
    most = max(settings().job_limit_s - _LEFT_FOR_THE_REST_S, 1.0)
    budget = {"budget_seconds": min(BUDGET_S, most)}
    in_time = number(1, most)
    wanted = TuneRequest.from_json(compiled.job.id, body(), budget, budget_seconds=in_time)
    if compiled.job.state != "succeeded" or compiled.job.request["kind"] != "compile":
        raise compiled.absent("kernels to tune")
    if wanted.kernel is not None:
        compiled.kernel(wanted.kernel)
    names = [row["name"] for row in compiled.result()["kernels"]]
    return queued_after(compiled, wanted, again=True, kernels=names)


@ROUTES.route("GET", _OF_JOB, Tuning, fails=(404, 409))
def tuning(job_id: str) -> Response:
    """Return all candidates of a tuning job so far, with their outcomes."""
    return Kept(job_id).packed("tuning")


@ROUTES.route("GET", f"{_OF_JOB}/schedules", "application/vnd.sqlite3", fails=(404, 409))
def tuned_schedules(job_id: str) -> Response:
    """Return the schedules of a finished search, for `--database` on the same machine."""
    kept = Kept(job_id)
    if kept.job.state != "succeeded":
        raise kept.absent("schedules")
    content = kept.file(SCHEDULES).read_bytes()
    return file_answer(content, "application/vnd.sqlite3", schedules_name(kept.job.id))


@ROUTES.route("POST", f"{_OF_JOB}/stop", Job, status=202, fails=(404, 409, 507))
def stop_tuning(job_id: str) -> Response:
    """Stop a search after the current batch of candidates, and store the best schedules."""
    kept = Kept(job_id)
    if kept.job.request["kind"] != "tune":
        raise kept.absent("search to stop")
    queue().ask_to_stop(kept.job.id)
    return accepted(kept.job)
