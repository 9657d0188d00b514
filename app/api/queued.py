"""Answers to requests that queue a job."""

from __future__ import annotations

import re
from typing import Any

from flask import Response, request

from app.api.answers import answer, queue
from app.api.kept import Kept
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


def sender() -> dict[str, str]:
    """Return the client of the current request, and the pane whose queued job it replaces."""
    own = request.headers.get("Compilarium-Client", "")
    pane = request.headers.get("Compilarium-Pane", "")
    client = f"{(request.remote_addr or '')[:80]}/{own if _NAME.fullmatch(own) else ''}"
    return {"client": client, "pane": pane if _NAME.fullmatch(pane) else ""}


_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
