"""Routes that create, query, follow and cancel jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from time import monotonic

from flask import Response, request

from app.api.answers import answer, body, queue, settings, uploads
from app.api.queued import accepted, sender
from app.api.table import Query, Table
from app.config import Settings
from app.jobs.payloads import job_payload
from app.jobs.queue import JobQueue
from app.samples import find_sample
from app.store.jobs.record import Event, Job
from app.wire import VERSION
from app.wire.fields import whole_number
from app.wire.requests import JobRequest
from app.wire.shapes import jobs as shapes
from compiler.errors import CompileError
from compiler.passes import parse_pipeline

ROUTES = Table()
_MAX_NUMBER = 10**9


@ROUTES.route(
    "POST",
    "/jobs",
    shapes.Job,
    status=202,
    body=shapes.JobRequest,
    query=[Query("reuse", "1: return an earlier job with the same request and a stored result")],
    fails=(400, 404, 413, 503, 507),
    creates="jobs",
)
def new_job() -> Response:
    """Queue a job and return its id; equal requests share a queued or running job."""
    wanted = JobRequest.from_json(body())
    parse_pipeline(wanted.pipeline)
    if "sample" in wanted.model:
        name = find_sample(wanted.model["sample"]).id
    else:
        name = uploads().use(wanted.model["upload"]).name
    reuse = whole_number(request.args.get("reuse"), "reuse", 0, 0, 1)
    if wanted.tuned:
        queue().runner.maker.places.schedules(wanted.tuned)  # refuses a job without schedules
    return accepted(queue().obtain(wanted.to_json(), name, done=bool(reuse), **sender()))


@ROUTES.route("GET", "/jobs/<job_id>", shapes.Job, fails=(404,))
def job_state(job_id: str) -> Response:
    """Return the state of a job."""
    return answer(job_payload(queue().find(job_id)))


@ROUTES.route("DELETE", "/jobs/<job_id>", shapes.Job, fails=(404,))
def cancel_job(job_id: str) -> Response:
    """Cancel a queued or running job, unless another client has requested the same job."""
    return answer(job_payload(queue().release(job_id)))


@ROUTES.route(
    "GET",
    "/jobs/<job_id>/events",
    "text/event-stream",
    query=[Query("after", "the number of the last event received")],
    fails=(404, 503),
)
def job_events(job_id: str) -> Response:
    """Stream all past and future events of a job as server-sent events."""
    jobs = queue()
    job = jobs.find(job_id)
    known = request.headers.get("Last-Event-ID") or request.args.get("after")
    after = whole_number(known, "the last event's number", 0, 0, _MAX_NUMBER)
    if jobs.has_ended(job, after):
        return Response(status=204)  # tells the browser not to reconnect
    if not jobs.follow(job_id, again=after > 0):
        raise CompileError(
            "E-LIMIT-QUEUE",
            f"event streams open: {settings().n_streams}, which is the limit of this server",
        )
    response = Response(_stream(jobs, job, after, settings()), mimetype="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(lambda: jobs.unfollow(job_id))
    return response


def _stream(jobs: JobQueue, job: Job, after: int, limits: Settings) -> Iterator[bytes]:
    """Yield events until the job ends or the time limit is reached, and comments during silence."""
    end_s = monotonic() + limits.stream_limit_s
    yield b"retry: 1000\n\n"
    while (left_s := end_s - monotonic()) > 0:
        events, are_last = jobs.events_after(job, after, min(limits.heartbeat_s, left_s))
        for event in events:
            yield _event_bytes(event)
        after += len(events)
        if are_last:
            return
        if not events:
            yield b": still here\n\n"


def _event_bytes(event: Event) -> bytes:
    data = json.dumps({"version": VERSION, **event.data}, separators=(",", ":"))
    return f"id: {event.number}\nevent: {event.name}\ndata: {data}\n\n".encode()
