"""Routes that check edited schedules as the user types, and compare them with the original."""

from __future__ import annotations

from functools import cache
from typing import cast

from flask import Response, current_app

from app.api.answers import answer, body, count_request
from app.api.kept import Kept
from app.api.queued import queued_after
from app.api.table import Table
from app.jobs.schedule import ScheduleRequest
from app.wire import schedules as wire
from app.wire.shapes.schedules import CheckedSchedule, EditedKernel, Moves, ScheduleToCheck
from app.written import TextReader

ROUTES = Table()
_OF_JOB = "/jobs/<job_id>/schedules"


@ROUTES.route("GET", "/moves", Moves)
def moves() -> Response:
    """Return the moves available in schedules."""
    return answer(_moves())


@cache
def _moves() -> Moves:
    return wire.moves()


@ROUTES.route(
    "POST",
    "/jobs/<job_id>/kernels/<int:kernel>/schedule/check",
    CheckedSchedule,
    body=ScheduleToCheck,
    fails=(400, 404, 408, 409, 429, 503),
)
def check_schedule(job_id: str, kernel: int) -> Response:
    """Check a schedule of a kernel: return its errors with positions, or its loops line by line."""
    count_request("texts")
    text, compiled = wire.schedule_text(body()), Kept(job_id)
    first = compiled.computed_kernel(kernel)
    kept = compiled.parts.read("computations")
    asked = {
        "language": "schedule",
        "text": text,
        "computation": kept["kernels"][str(first)],
        "precision": kept["precision"],
        "target": _target(compiled),
    }
    reader = cast(TextReader, current_app.extensions["texts"])
    return answer(cast(CheckedSchedule, reader.ask(asked)))


@ROUTES.starts(_OF_JOB, ScheduleRequest)
def new_schedule(job_id: str) -> Response:
    """Start a job that compares a kernel's edited schedule with the original by running both."""
    compiled = Kept(job_id)
    wanted = ScheduleRequest.from_json(compiled.job.id, body())
    first = compiled.computed_kernel(wanted.kernel)
    target = _target(compiled)
    return queued_after(compiled, wanted, again=True, text_kernel=first, target=target)


@ROUTES.route("GET", _OF_JOB, EditedKernel, fails=(404, 409))
def edited_kernel(job_id: str) -> Response:
    """Return the kernel at each level under the original and edited schedule, and the comparison so
    far."""
    return Kept(job_id).packed("edited")


def _target(compiled: Kept) -> str:
    return compiled.options.get("target", "host")
