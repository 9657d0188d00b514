"""Jobs that are queued: the answer to whoever asked for one."""

from __future__ import annotations

from typing import Any

from flask import Response

from app.api.answers import answer, queue
from app.api.kept import Kept
from app.jobs.records import Job
from app.wire.asked import Asked
from app.wire.jobs import job_payload


def accepted(job: Job) -> Response:
    """The answer that says where the job stands, and under which address it is followed."""
    response = answer(job_payload(job), 202)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return response


def queued_after(compiled: Kept, asked: Asked, *, again: bool = False, **private: Any) -> Response:
    """Queue a job over what another one made, or answer with the one that has done just this.

    `again` asks for a new one in any case. `private` is for the child alone. Errors: E-LIMIT-QUEUE.
    """
    request = asked.to_json()
    found = None if again else queue().find_done(request)
    private = {"compiled": compiled.folder, **private}
    return accepted(found or queue().submit(request, compiled.job.model_name, private))
