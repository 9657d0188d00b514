"""Answers to requests that queue a job."""

from __future__ import annotations

import re
from typing import Any, TypedDict

from flask import Response, request

from app.api.answers import answer, queue
from app.api.kept import Kept
from app.clients import client
from app.jobs.payloads import job_payload
from app.store.jobs.record import Job
from app.wire.asked import Asked


def accepted(job: Job) -> Response:
    """Answer with the state of the job and the URL of its events."""
    response = answer(job_payload(job), 202)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return response


def queued_after(compiled: Kept, asked: Asked, *, again: bool = False, **private: Any) -> Response:
    """Queue a job about another job's result, or answer with an equal earlier job.

    With `again`, a finished job is not used; an equal queued or running job is shared in any case.
    Only the child process that runs the job receives `private`. Errors: E-LIMIT-QUEUE.
    """
    name = compiled.job.model_name
    return accepted(queue().obtain(asked.to_json(), name, private, done=not again, **sender()))


class Sender(TypedDict):
    """The client of a request, and the pane whose queued job the request replaces."""

    client: str
    pane: str


def sender() -> Sender:
    """Return the sender of the current request."""
    pane = request.headers.get("Compilarium-Pane", "")
    return {"client": client().key, "pane": pane if _NAME.fullmatch(pane) else ""}


_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
